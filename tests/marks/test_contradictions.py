"""What in a record cannot have happened, found where the record was sealed again."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.compare import baseline_differences, control_differences, environment_differences
from pytest_mixgpu.marks.soundness import contradictions, copies
from tests.sample_timeline import MadeRun
from tests.samples import Doctor, as_record, make_run, make_runs, with_header, with_outcome, with_workers


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
