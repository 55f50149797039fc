"""What in a record cannot have happened, found where the record was sealed again."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.compare import baseline_differences, control_differences, environment_differences
from pytest_mixgpu.marks.copies import copies
from pytest_mixgpu.marks.moments import overlaps
from pytest_mixgpu.marks.soundness import contradictions
from pytest_mixgpu.records.model import Fault, Span
from tests.sample_doctors import Doctor, with_header, with_outcome, with_settings, with_speed, with_start, with_workers
from tests.sample_timeline import MadeRun
from tests.samples import FIRST_MOMENT, as_record, make_run, make_runs


@pytest.mark.parametrize("rehearsal", [True, False])
def test_honest_records_do_not_contradict_themselves(rehearsal: bool) -> None:  # noqa: FBT001
    """Solo, star and reference rounds, with one host and with several."""
    records = [as_record(run) for run in make_runs(rehearsal=rehearsal, repeats=2)]

    assert [] == [text for record in records for text in contradictions(record)]
    assert () == copies(records)


def rounds(**changes: object) -> Doctor:
    return lambda run: run._replace(rounds=tuple(replace(line, **changes) for line in run.rounds))


def stamps(**changes: float) -> Doctor:
    """Change stamps of every participant in every round."""
    return lambda run: run._replace(
        rounds=tuple(replace(line, stamps=tuple(replace(own, **changes) for own in line.stamps)) for line in run.rounds)
    )


def seen(**changes: float) -> Doctor:
    """Change stamps of the coordinator in every round."""
    return lambda run: run._replace(
        rounds=tuple(
            replace(line, coordinator=tuple(replace(one, **changes) for one in line.coordinator)) for line in run.rounds
        )
    )


@pytest.mark.parametrize(
    ("doctor", "says"),
    [
        pytest.param(rounds(round_s=-1.0), "lasted -1.0 s", id="negative-round"),
        pytest.param(rounds(round_s=0.5), "not after 0.500000 s", id="shorter-round"),
        pytest.param(rounds(coordinator=()), "no stamps of the coordinator", id="no-coordinator"),
        pytest.param(rounds(combine_start_s=None), "no stamps of the coordinator", id="no-combine"),
        pytest.param(rounds(sent_bytes=(8, 8)), "exchanged 8 bytes", id="update-not-sent"),
        pytest.param(stamps(hold_s=0.1), "out of order", id="held-before-it-was-computed"),
        pytest.param(seen(ready_s=0.1), "out of order", id="ready-before-compute-ended"),
        pytest.param(seen(held_s=99.0), "not after", id="held-much-later"),
        pytest.param(lambda run: run._replace(rounds=run.rounds[:-1]), "5 measured rounds", id="round-missing"),
        pytest.param(lambda run: run._replace(start=None, rounds=(), evaluations=()), "without a start", id="no-start"),
        pytest.param(lambda run: with_outcome(run, leased_s=0.5), "after the lease", id="short-lease"),
        pytest.param(
            lambda run: with_outcome(run, finished_at="2020-01-01T00:00:00+00:00"), "finished at", id="ended-first"
        ),
    ],
)
def test_doctored_record_is_found_out(doctor: Doctor, says: str) -> None:
    """Each fault is named with its run."""
    record = as_record(doctor(make_run()))
    found = contradictions(record)

    assert any(says in text for text in found), found
    assert all(record.id in text for text in found)


def relabelled(run: MadeRun) -> MadeRun:
    """Call the slowest measured round the warm-up, and the warm-up measured."""
    slowest = max(run.rounds[1:], key=lambda line: line.round_s)
    return run._replace(rounds=tuple(replace(line, warmup=line is slowest) for line in run.rounds))


def one_round(place: int, **changes: object) -> Doctor:
    def doctor(run: MadeRun) -> MadeRun:
        rounds = [*run.rounds]
        rounds[place] = replace(rounds[place], **changes)
        return run._replace(rounds=tuple(rounds))

    return doctor


def scores(**changes: object) -> Doctor:
    return lambda run: run._replace(evaluations=tuple(replace(one, **changes) for one in run.evaluations))


def at_speed(factor: float) -> Doctor:
    """Take the rounds of a faster or slower run, and keep moments, spans and lease."""

    def doctor(run: MadeRun) -> MadeRun:
        rounds = zip(with_speed(run, factor).rounds, run.rounds, strict=True)
        return run._replace(rounds=tuple(replace(fast, started_at=old.started_at) for fast, old in rounds))

    return doctor


def stretched(factor: float) -> Doctor:
    """Make rounds longer, with all their stamps, and spans and lease with them; moments stay."""

    def doctor(run: MadeRun) -> MadeRun:
        slow = with_speed(run, factor)
        rounds = zip(slow.rounds, run.rounds, strict=True)
        assert run.outcome is not None
        assert slow.outcome is not None
        kept = tuple(replace(line, started_at=old.started_at) for line, old in rounds)
        return slow._replace(rounds=kept, outcome=replace(slow.outcome, finished_at=run.outcome.finished_at))

    return doctor


FAULT = Fault(
    at="2026-11-29T12:00:05.000+00:00",
    worker="participant-1",
    device="d",
    host="h",
    phase="compute",
    round_index=3,
    message="replaced",
)


@pytest.mark.parametrize(
    ("doctor", "says"),
    [
        pytest.param(at_speed(1.3), "training lasted", id="shorter-rounds-in-the-same-training"),
        pytest.param(stretched(0.8), "which is said to have lasted", id="longer-rounds-from-the-same-moments"),
        pytest.param(stretched(0.8), "passed from its registration to its finish", id="longer-lease-than-there-was"),
        pytest.param(relabelled, "a warm-up after a measured round", id="warm-up-called-measured"),
        pytest.param(
            lambda run: with_header(run, registered_at="2026-11-29T11:59:00.000+00:00"),
            "passed from its registration to its finish",
            id="registered-earlier",
        ),
        pytest.param(
            lambda run: with_outcome(run, finished_at="2027-11-29T12:00:00.000+00:00"),
            "passed from its registration to its finish",
            id="finished-a-year-later",
        ),
        pytest.param(one_round(0, started_at="1999-01-01T00:00:00+00:00"), "rounds went on from 1999", id="in-1999"),
        pytest.param(rounds(started_at="1999-01-01T00:00:00+00:00"), "s after round 0", id="all-at-once"),
        pytest.param(one_round(2, started_at="noon"), "no moment", id="no-moment"),
        pytest.param(
            lambda run: with_outcome(run, spans=(Span("training", 0.0, 9.5),)), "spans add up to", id="lease-unspent"
        ),
        pytest.param(lambda run: with_workers(run, pid=7), "were one process, 7 on laptop", id="one-process"),
        pytest.param(
            lambda run: with_speed(with_settings(run, shares=(238, 2)), 1.0), "call that equal", id="unequal-shares"
        ),
        pytest.param(scores(duration_s=-1.0), "lasted -1.0 s", id="scored-in-negative-time"),
        pytest.param(scores(weights_digest=""), "digest of the weights", id="no-weights"),
        pytest.param(lambda run: with_outcome(run, moved_bytes=-1), "moved -1 bytes", id="negative-bytes"),
        pytest.param(rounds(foreign_share=(-5.0, 0.0)), "taken -5.0 of a core", id="negative-share"),
        pytest.param(lambda run: with_start(run, update_bytes=4), "136074 parameters in float32", id="small-update"),
        pytest.param(lambda run: run._replace(faults=(FAULT,)), "holds a fault of participant-1", id="fault"),
        pytest.param(rounds(train_loss=(None, None)), "no round has a finite training loss", id="no-loss"),
    ],
)
def test_record_that_contradicts_itself_is_found_out(doctor: Doctor, says: str) -> None:
    """What was changed and made to fit elsewhere still does not fit everywhere."""
    found = contradictions(as_record(doctor(make_run())))

    assert any(says in text for text in found), found


def told_late(share: float) -> Doctor:
    """Let the participants of one round hear GO 0.2 s late, on cores of which others took a share."""

    def doctor(run: MadeRun) -> MadeRun:
        rounds = [*run.rounds]
        line = rounds[-1]
        assert line.combine_start_s is not None
        assert line.combine_end_s is not None
        seen = tuple(
            type(one)(**{field: getattr(one, field) + 0.2 for field in one.__struct_fields__})
            for one in line.coordinator
        )
        rounds[-1] = replace(
            line,
            coordinator=seen,
            combine_start_s=line.combine_start_s + 0.2,
            combine_end_s=line.combine_end_s + 0.2,
            round_s=line.round_s + 0.2,
            foreign_share=(share,) * len(line.participants),
        )
        return run._replace(rounds=tuple(rounds))

    return doctor


def test_who_is_woken_late_on_a_busy_core_is_no_forger() -> None:
    """Such a round is disturbed, and its record is honest; on an idle core nobody is woken that late."""
    found = [contradictions(as_record(told_late(share)(make_run()))) for share in (0.7, 0.05)]

    assert [0, 2] == [sum("is said to have lasted" in text for text in texts) for texts in found]


def test_solo_rounds_are_counted_device_by_device() -> None:
    """Who gives one device's round to another has one too many there."""
    run = make_run(role="baseline")
    found = contradictions(as_record(one_round(len(run.rounds) - 1, participants=(0,))(run)))

    assert any("participant 1 has 1 measured rounds" in text for text in found), found


def test_a_lease_may_begin_before_the_run_is_registered() -> None:
    """Processes are preloaded under the lease of a group's first run, which pays for that."""
    run = make_run()
    assert run.outcome is not None
    spans = [Span("lease", 0.0, 3.02)]
    spans += [Span(span.name, span.start_s + 3, span.duration_s) for span in run.outcome.spans[1:]]

    assert () == contradictions(as_record(with_outcome(run, spans=tuple(spans), leased_s=run.outcome.leased_s + 3)))


def test_one_device_does_not_carry_two_runs_of_a_session_at_once() -> None:
    """A session makes its runs one after the other; other sessions may have other machines of one name."""
    fleet, mixed = as_record(make_run()), as_record(make_run(role="mixed", at=FIRST_MOMENT + timedelta(seconds=2)))
    elsewhere = replace(mixed, header=replace(mixed.header, session="another"))

    (found,) = {text[: text.index(" of one session")] for text in overlaps([fleet, mixed])}

    assert f"runs {fleet.id} and {mixed.id}" == found
    assert () == overlaps([fleet, elsewhere])


@pytest.mark.parametrize(
    ("bits", "says"),
    [
        pytest.param("zz", "is not hexadecimal", id="no-hexadecimal"),
        pytest.param("ff", "450 samples need 57", id="too-short"),
        pytest.param("ff" * 57, "ones beyond its 450 samples", id="a-one-beyond-the-end"),
        pytest.param("", "450 samples need 57", id="empty"),
        pytest.param("00" * 57, "its bits per image say 0", id="another-count"),
    ],
)
def test_score_whose_bits_do_not_give_its_count_is_found_out(bits: str, says: str) -> None:
    """The count is taken from one bit an image; a row of another length says nothing."""
    (test,) = (one for one in make_run().evaluations if one.split == "test")
    run = make_run()._replace(evaluations=(replace(test, correct_bits=bits),))

    assert any(says in text for text in contradictions(as_record(run))), contradictions(as_record(run))


@pytest.mark.parametrize("what", ["nonce", "raw timings", "processes"])
def test_copies_are_told_by_more_than_their_name(what: str) -> None:
    """One run under two ids, in each of the three ways in which it shows."""
    first, second = as_record(make_run()), as_record(make_run(repeat=1))
    if what == "nonce":
        second = replace(second, header=replace(second.header, nonce=first.header.nonce))
    elif what == "raw timings":
        second = replace(second, rounds=first.rounds)
    else:
        second = replace(second, start=first.start)

    (found,) = copies([first, replace(second, header=replace(second.header, run_id="other"))])

    assert f"have the same {what}" in found


def test_baseline_and_fleet_differ_in_the_pool_only() -> None:
    """What a baseline does not have (shares, an exchange, a finish) is no difference; what is numeric is."""
    fleet, baseline = as_record(make_run()), as_record(make_run(role="baseline"))
    other = replace(
        baseline, header=replace(baseline.header, settings=replace(baseline.header.settings, batch_size=64))
    )

    assert () == baseline_differences(baseline, fleet)
    assert ["batch_size: 64, not 32"] == [text.split(" in ")[1] for text in baseline_differences(other, fleet)]


@pytest.mark.parametrize(
    ("doctor", "field"),
    [
        pytest.param(lambda run: with_header(run, seed=1), "seed", id="seed"),
        pytest.param(lambda run: with_workers(run, num_threads=2), "threads", id="threads"),
        pytest.param(lambda run: with_workers(run, environment={"MKL_CBWR": "AVX2"}), "kernels of cpu", id="variables"),
    ],
)
def test_control_that_differs_beyond_its_kind_is_told(doctor: Doctor, field: str) -> None:
    """Names of both runs, the field and both values."""
    mixed = as_record(make_run(role="mixed"))
    control = as_record(doctor(make_run(role="control", name="control-a")))

    assert () == control_differences(as_record(make_run(role="control", name="control-a")), mixed)
    assert any(f"differs from mixed in {field}:" in text for text in control_differences(control, mixed))


def test_variables_that_only_choose_a_device_are_no_difference() -> None:
    """Two participants on two cards see other cards; they compute alike."""

    def sees(run: MadeRun, card: str) -> MadeRun:
        return with_workers(run, environment={"CUDA_VISIBLE_DEVICES": card})

    mixed = as_record(sees(make_run(role="mixed"), "0"))
    control = as_record(sees(make_run(role="control", name="control-a"), "1"))

    assert () == control_differences(control, mixed)


def test_environments_are_compared_by_name() -> None:
    """Equal ones differ in nothing; a driver that changed is named with both versions."""
    first, second = as_record(make_run(rehearsal=False)), as_record(make_run(rehearsal=False, repeat=1))
    host = replace(second.header.host, driver="nvidia 999")

    assert () == environment_differences([first, second])
    changed = replace(second, header=replace(second.header, host=host), start=None)
    assert ["driver: nvidia 580.65.06, nvidia 999"] == list(environment_differences([first, changed]))


def test_control_on_a_kind_that_the_mixture_lacks_has_its_variables() -> None:
    """No twin in the mixed run computes on that kind; what was set for the control alone is still told."""
    mixed = as_record(with_workers(make_run(role="mixed"), environment={"OMP_NUM_THREADS": "1"}))
    run = make_run(role="control", name="control-a")
    pool = replace(run.header.pool, devices=tuple(replace(one, kind="other") for one in run.header.pool.devices))
    alike = with_workers(with_header(run, pool=pool), environment={"OMP_NUM_THREADS": "1"})
    other = with_workers(alike, environment={"OMP_NUM_THREADS": "1", "DNNL_DEFAULT_FPMATH_MODE": "BF16"})

    assert () == control_differences(as_record(alike), mixed)
    (found,) = control_differences(as_record(other), mixed)
    assert "differs from mixed in variables of other: DNNL_DEFAULT_FPMATH_MODE=BF16, OMP_NUM_THREADS=1" in found


def test_repeats_on_other_kernels_are_told() -> None:
    """A variable that was set for the second repeat alone is a difference between environments, kind by kind."""
    first = as_record(make_run())
    second = as_record(with_workers(make_run(repeat=1), environment={"OMP_DYNAMIC": "true"}))

    (found,) = environment_differences([first, second])

    assert found.startswith("kernels of cpu in fleet: ")
    assert "OMP_DYNAMIC=true" in found
