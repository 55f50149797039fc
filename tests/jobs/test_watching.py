"""What was seen of devices stands in the record of a run: before, in and after its rounds, with what seeing it cost."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from pytest_mixgpu.devices.glance import Eye, Glance
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.devices.watch import Watch
from pytest_mixgpu.jobs.conduct import conduct
from pytest_mixgpu.jobs.watching import Watcher
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import RunStore
from tests.fakes import FakeInterference, FakeJob, NoLauncher, fake_core
from tests.jobs.made_jobs import digits, made_header


class Warm:
    """Shows a device of 60 degrees."""

    def look(self) -> Glance:
        """Look once."""
        return Glance(temperature_c=60.0)


@contextmanager
def warm_first(devices: Sequence[Device]) -> Iterator[Mapping[str, Eye]]:
    """See the first device, and none of the others."""
    yield {devices[0].id: Warm()}


@contextmanager
def broken(_devices: Sequence[Device]) -> Iterator[Mapping[str, Eye]]:
    """See nothing: the driver cannot be opened."""
    open_driver()
    yield {}


def open_driver() -> None:
    raise OSError("no driver")


def conducted(folder: Path, watch: Watch | None) -> RunRecord:
    header = made_header(rounds=3, warmup_rounds=1)
    return conduct(
        header,
        digits(),
        launcher=NoLauncher(),
        writer=RunStore(folder).register(header),
        watch=watch,
        interference=FakeInterference({0: 0.0, 1: 0.0}),
        make_job=lambda _: FakeJob(num_rounds=4),
    )


def test_devices_are_seen_before_in_and_after_the_rounds(tmp_path: Path) -> None:
    """What nobody looked at is None at its place."""
    devices = made_header(rounds=3).pool.devices
    record = conducted(tmp_path, Watch(devices, open_eyes=warm_first, patience_s=30))

    assert record.start is not None
    assert record.outcome is not None
    stretches = [record.start.device_seen, *(line.device_seen for line in record.rounds), record.outcome.device_seen]
    for seen in stretches:
        assert len(seen) == len(devices)
        assert seen[0] is not None
        assert (60.0, True, None) == (seen[0].highest_temperature_c, seen[0].num_samples > 0, seen[1])
    sampling = record.outcome.sampling
    assert sampling is not None
    assert sampling.num_samples >= len(record.rounds)
    assert not sampling.failure


def test_a_driver_that_does_not_open_leaves_the_run_whole(tmp_path: Path) -> None:
    """The run completes, its devices are unknown, and the record says why."""
    record = conducted(tmp_path, Watch(made_header(rounds=3).pool.devices, open_eyes=broken, patience_s=30))

    assert "completed" == record.status
    assert record.outcome is not None
    assert record.outcome.sampling is not None
    assert "OSError: no driver" in record.outcome.sampling.failure
    assert {None} == {seen for line in record.rounds for seen in line.device_seen}


def test_without_a_watch_nothing_is_said(tmp_path: Path) -> None:
    """Absent is not quiet."""
    record = conducted(tmp_path, None)

    assert record.outcome is not None
    assert (None, ()) == (record.outcome.sampling, record.outcome.device_seen)
    assert {()} == {line.device_seen for line in record.rounds}


def test_pressure_of_other_hosts_is_unknown() -> None:
    """The counter is this host's."""
    pool = Pool(devices=(fake_core(0, host="here"), fake_core(1, host="there")))
    counter = iter(range(100))
    with Watch(pool.devices, open_eyes=warm_first, patience_s=30, pressure_s=lambda: float(next(counter))) as watch:
        watcher = Watcher(pool, host="here", meter=None, watch=watch)
        watcher.begin()
        line = watcher.seen_in(FakeJob(num_rounds=1).run_round(0))

    assert (1.0, None) == line.cpu_pressure
