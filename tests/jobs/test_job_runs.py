"""Real runs on real data: what each job records, and that it is the same every time."""

import hashlib
import statistics
from pathlib import Path

import pytest

from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.timing.phases import attribute, phase_totals
from tests.jobs.made_jobs import core_pool, made_header, run_it


@pytest.fixture(scope="module")
def star_run(torch_launcher: LocalLauncher, tmp_path_factory: pytest.TempPathFactory) -> RunRecord:
    return run_it(made_header(), torch_launcher, tmp_path_factory.mktemp("star"))


def test_a_run_is_recorded_from_start_to_outcome(star_run: RunRecord) -> None:
    """Warm-ups first, all rounds kept, validation every n rounds, the test split once and last."""
    assert star_run.status == "completed"
    assert [True, False, False] == [line.warmup for line in star_run.rounds]
    assert [("validation", 1), ("test", 2)] == [(line.split, line.after_round) for line in star_run.evaluations]
    assert [256, 384] == [line.samples_seen for line in star_run.evaluations]
    assert star_run.outcome is not None
    spans = [span.name for span in star_run.outcome.spans]
    assert ["lease", "setup", "training", "training", "evaluation", "training", "evaluation", "teardown"] == spans
    assert {"logs/coordinator.log", "logs/participant-0.log", "logs/participant-1.log"} == set(star_run.outcome.files)


def test_an_orderly_end_leaves_empty_logs(star_run: RunRecord, torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """Workers do not end in the same instant; whoever sees another one go has nothing to complain of."""
    reference = run_it(made_header(exchange="ddp"), torch_launcher, tmp_path)

    for record in (star_run, reference):
        assert record.outcome is not None
        assert {hashlib.sha256(b"").hexdigest()} == set(record.outcome.files.values()), record.outcome.files


def test_workers_say_what_they_are(star_run: RunRecord) -> None:
    """Every worker is named with its device, its kernels and how long it took to start; every link is measured."""
    start = star_run.start
    assert start is not None

    assert ["participant-0", "participant-1", "coordinator"] == [facts.worker for facts in start.workers]
    assert [*(device.id for device in star_run.devices), None] == [facts.device_id for facts in start.workers]
    assert all((facts.first_step_s or 0) > (facts.spawned_s or 0) > 0 for facts in start.workers[:2])
    assert [0, 1] == [link.participant for link in start.links]
    assert all(link.up_bytes_per_s > 0 and link.down_bytes_per_s > 0 for link in start.links)
    assert 4 * start.num_parameters == start.update_bytes
    assert star_run.header.host.host == start.hosts[0].host


def test_phases_add_up_and_can_be_taken_again(star_run: RunRecord) -> None:
    """The segments of every participant end where its round ends, and follow from its stamps."""
    for line in star_run.rounds:
        last_ready_s = max(stamps.ready_s for stamps in line.coordinator)
        for own, seen, segments in zip(line.stamps, line.coordinator, line.segments, strict=True):
            again = attribute(
                own,
                seen,
                last_ready_s=last_ready_s,
                combine_start_s=line.combine_start_s,
                combine_end_s=line.combine_end_s,
            )
            assert again.segments == segments
            assert own.close_s == pytest.approx(sum(phase_totals(segments).values()))


def test_stamps_are_in_order(star_run: RunRecord) -> None:
    """On each clock, nothing happens before what it follows from."""
    for line in star_run.rounds:
        for own in line.stamps:
            assert own.prepare_end_s is not None
            assert own.send_end_s is not None
            assert own.return_first_s is not None
            assert own.return_last_s is not None
            assert own.hold_s is not None
            instants = [
                own.compute_end_s,
                own.prepare_end_s,
                own.send_end_s,
                own.return_first_s,
                own.return_last_s,
                own.hold_s,
                own.close_s,
            ]
            assert sorted(instants) == instants
        for seen in line.coordinator:
            assert seen.ready_s <= seen.first_in_s <= (line.combine_start_s or 0) <= seen.first_out_s
            assert seen.last_in_s <= (line.combine_end_s or 0) <= seen.last_out_s <= seen.held_s <= line.round_s
            assert seen.last_in_s <= seen.first_out_s


def test_one_machine_has_one_clock(star_run: RunRecord) -> None:
    """Between two processes of one machine the offset is 0, within the stated uncertainty."""
    for line in star_run.rounds:
        for offset_s, uncertainty_s in zip(line.clock_offset_s, line.clock_uncertainty_s, strict=True):
            assert offset_s is not None
            assert uncertainty_s is not None
            assert abs(offset_s) <= uncertainty_s


def test_equal_seeds_give_equal_bits(star_run: RunRecord, torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """The mean is taken in the order of participants, whoever came first: a repeat ends with the same weights."""
    again = run_it(made_header(), torch_launcher, tmp_path)

    assert again.test is not None
    assert star_run.test is not None
    assert star_run.test.weights_digest == again.test.weights_digest
    assert star_run.test.correct_bits == again.test.correct_bits


def test_what_was_validated_is_what_was_combined(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """After the last round, the first participant and the coordinator hold the same bits."""
    record = run_it(made_header(evaluate_every=1), torch_launcher, tmp_path)

    validation, test = record.evaluations[-2:]
    assert ("validation", "test", 2, 2) == (validation.split, test.split, validation.after_round, test.after_round)
    assert validation.weights_digest == test.weights_digest


def test_unequal_shares_weigh_by_samples(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """Each participant takes the steps of its share."""
    record = run_it(made_header(shares=(6, 2)), torch_launcher, tmp_path)

    assert record.status == "completed"
    assert [(96, 32)] * 3 == [line.samples for line in record.rounds]


def test_mixed_kinds_compute_with_other_kernels(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """A participant of the portable kind reports another instruction set, and starts from the same bits."""
    record = run_it(made_header(pool=core_pool("cpu", "cpu-portable")), torch_launcher, tmp_path)

    assert record.status == "completed"
    assert record.start is not None
    own, portable = record.start.workers[:2]
    assert portable.cpu_capability == "DEFAULT"
    assert dict(record.devices[1].environment).items() <= portable.environment.items()
    assert own.cpu_capability != portable.cpu_capability


def test_solo_measures_one_device_after_the_other(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """Each device has its own warm-up and its own schedule, draws the same batches, and nothing is exchanged."""
    record = run_it(made_header(exchange="none", to_finish=False, evaluate_every=0), torch_launcher, tmp_path)

    assert record.status == "completed"
    assert [(0,)] * 3 + [(1,)] * 3 == [line.participants for line in record.rounds]
    assert [True, False, False] * 2 == [line.warmup for line in record.rounds]
    losses = [line.train_loss for line in record.rounds]
    assert losses[:3] == losses[3:]
    assert record.start is not None
    assert (0, ()) == (record.start.update_bytes, record.start.links)


def test_the_baseline_with_an_exchange_is_the_same_training(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """One participant through a coordinator ends where the solo run ends, but for the rounding of its updates."""
    pool = core_pool("cpu")
    solo = run_it(made_header(exchange="none", pool=pool), torch_launcher, tmp_path)
    through = run_it(made_header(pool=pool), torch_launcher, tmp_path)

    for ours, theirs in zip(solo.rounds, through.rounds, strict=True):
        assert ours.train_loss[0] == pytest.approx(theirs.train_loss[0], rel=1e-3)
    assert {"compute"} == {segment.phase for line in solo.rounds for segment in line.segments[0]}


@pytest.mark.parametrize("shares", [(4, 4), (5, 3)], ids=["equal", "unequal"])
def test_the_reference_trains_in_one_group(
    torch_launcher: LocalLauncher, tmp_path: Path, shares: tuple[int, ...]
) -> None:
    """DistributedDataParallel on the same pool, with the same shares, scored by the same evaluator."""
    record = run_it(made_header(exchange="ddp", shares=shares), torch_launcher, tmp_path)

    assert record.status == "completed", record.outcome
    assert [tuple(16 * share for share in shares)] * 3 == [line.samples for line in record.rounds]
    assert record.test is not None
    assert record.test.num_total == 450
    assert all(len(line.segments) == 2 and not line.coordinator for line in record.rounds)


def test_two_participants_agree_on_the_reference(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """A repeat of the reference ends with the same weights."""
    first, second = (run_it(made_header(exchange="ddp"), torch_launcher, tmp_path) for _ in range(2))

    assert first.test is not None
    assert second.test is not None
    assert first.test.weights_digest == second.test.weights_digest


def test_training_learns(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """A few rounds more get most of the digits right: the averaging trains, it does not only move bytes."""
    record = run_it(made_header(shares=(40, 40), rounds=3, batch_size=32), torch_launcher, tmp_path)

    assert record.test is not None
    assert record.test.num_correct / record.test.num_total > 0.7
    assert statistics.mean(loss or 0 for loss in record.rounds[-1].train_loss) < 1
