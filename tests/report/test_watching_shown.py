"""What was seen of devices and what seeing cost is shown; what is not known is not made up."""

from msgspec.structs import replace

from pytest_mixgpu.devices.model import DeviceSeen, Sampling
from pytest_mixgpu.report.sections.environment import environment_section
from pytest_mixgpu.report.sections.phases import phase_table
from tests.sample_doctors import with_outcome
from tests.samples import as_record, make_run

SAMPLING = Sampling(rate_hz=2.0, num_samples=120, cpu_s=0.03, watched_s=60.0, failure="no answer within 0.2 s")


def test_the_cost_of_watching_is_shown_with_its_rate_and_failures() -> None:
    """One line for all runs."""
    section = environment_section([as_record(with_outcome(make_run(), sampling=SAMPLING))])

    (text,) = (pair.text for pair in section.pairs if pair.name == "devices watched")
    assert (
        text
        == "2 looks a second and at the ends of rounds, 120 in all; 0.05 % of a core's time; no answer within 0.2 s"
    )


def test_a_record_that_says_nothing_of_it_shows_nothing() -> None:
    """Records of older versions."""
    assert not [pair for pair in environment_section([as_record(make_run())]).pairs if pair.name == "devices watched"]


def test_foreign_processes_of_a_gpu_are_counted() -> None:
    """None, one, and what nobody can tell."""
    run = make_run(rehearsal=False)
    seen = [(), (4242,), None]
    shown = tuple(DeviceSeen(num_samples=1, foreign_pids=pids) for pids in seen)
    rounds = tuple(
        replace(line, device_seen=(*shown, *(None,) * (len(line.participants) - 3)), foreign_share=())
        for line in run.rounds
    )

    table = phase_table(as_record(run._replace(rounds=rounds)))

    assert table is not None
    assert ["0 processes", "1 process", "unknown", "unknown"] == [row.foreign for row in table.rows[:4]]
