"""Each kind of disturbance of a device is found for what it is, and a quiet device is not disturbed."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.devices.model import DeviceSeen, Sampling
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.plan import Disturbance
from tests.judging import e1_marks, make_evidence
from tests.negative.cases_of_devices import CAPPED, DISTURBANCES, IMPOSSIBLE, QUIET, experiment, refuses, seen
from tests.sample_doctors import Doctor, only, with_outcome
from tests.sample_timeline import MadeRun

SPEEDUP = e1_marks().mark("e1-speedup")


def judged(shown: DeviceSeen, *, limits: Disturbance | None = None, pressure: float = 0.01) -> Verdict:
    return judge_mark(SPEEDUP, experiment(shown, limits=limits, pressure=pressure)())


def test_a_quiet_device_is_not_disturbed() -> None:
    """Nothing is noted, nothing unknown, and a mark that refuses disturbances is met."""
    verdict = judged(QUIET)
    strict = judge_mark(refuses(SPEEDUP), experiment(QUIET, change=refuses)())

    assert ("PASS", "PASS") == (verdict.word, strict.word)
    assert "disturbed" not in verdict.notes
    assert not [text for text in verdict.details if "disturbed" in text or "power cap" in text]
    assert any("where a run was disturbed, the mark is UNJUDGED" in text for text in strict.details)


@pytest.mark.parametrize("what", DISTURBANCES)
def test_the_note_names_device_host_round_and_how_much(what: str) -> None:
    """The sentence says where to look."""
    shown, says = DISTURBANCES[what]
    verdict = judged(shown)

    assert "disturbed" in verdict.notes
    sentence = next(text for text in (verdict.reason, *verdict.details) if says in text)
    assert "in round " in sentence
    assert "of fleet (run " in sentence
    assert "device " in sentence
    assert ", host " in sentence


@pytest.mark.parametrize("what", DISTURBANCES)
def test_a_rehearsal_notes_it_and_takes_its_value(what: str) -> None:
    """It is no evidence: the rule is told and not applied."""
    shown, says = DISTURBANCES[what]
    verdict = judge_mark(refuses(SPEEDUP), experiment(shown, change=refuses, rehearsal=True)())

    assert ("PASS", True) == (verdict.word, "disturbed" in verdict.notes)
    assert any(says in text for text in verdict.details)


def test_refused_is_said_to_be_refused() -> None:
    """The rule stands in the reason."""
    shown, _ = DISTURBANCES["thermal"]
    verdict = judge_mark(refuses(SPEEDUP), experiment(shown, change=refuses)())

    assert verdict.reason.endswith("the mark was frozen with disturbed='refuse'")


def test_a_card_at_its_own_cap_is_noted_and_not_disturbed() -> None:
    """It is the steady state of many, unless the plan says otherwise."""
    at_cap = replace(QUIET, throttle_reasons=CAPPED)
    strict = Disturbance(power_cap_disturbs=True)

    plain = judged(at_cap)

    assert ("PASS", False) == (plain.word, "disturbed" in plain.notes)
    assert any(text.startswith("at the power cap, as under steady load") for text in plain.details)
    assert "which the plan does not put up with" in judged(at_cap, limits=strict).reason


def test_limits_are_the_plans() -> None:
    """What a plan puts up with disturbs nothing; what it leaves out has the default."""
    slow, faulty = replace(QUIET, lowest_clock_mhz=600.0), replace(QUIET, new_link_errors=12)

    assert "PASS" == judged(slow, limits=Disturbance(clock_share=0.3)).word
    assert "PASS" == judged(faulty, limits=Disturbance(link_errors=12)).word
    assert "UNJUDGED" == judged(faulty, limits=Disturbance(link_errors=11)).word
    assert "UNJUDGED" == judged(replace(QUIET, lowest_clock_mhz=1500.0), limits=Disturbance(clock_share=0.9)).word


def test_pressure_is_stated_and_disturbs_nothing() -> None:
    """Our own processes wait as well."""
    verdict = judged(QUIET, pressure=0.5)

    assert ("PASS", False) == (verdict.word, "disturbed" in verdict.notes)
    assert any("some process waited for a core for 50 % of round" in text for text in verdict.details)


def test_what_nobody_saw_is_unknown() -> None:
    """Neither a device that nobody looked at nor processes that nobody can match are taken for quiet."""
    unseen = judge_mark(SPEEDUP, make_evidence(rehearsal=False))
    unmatched = judge_mark(
        SPEEDUP,
        make_evidence(rehearsal=False, doctor=lambda run: all_seen(run, replace(QUIET, foreign_pids=None))),
    )

    assert any(text.startswith("disturbed: unknown; what became of device ") for text in unseen.details)
    assert any(text.startswith("disturbed: unknown; whose processes were on ") for text in unmatched.details)


def all_seen(run: MadeRun, shown: DeviceSeen) -> MadeRun:
    return run._replace(
        rounds=tuple(replace(line, device_seen=(shown,) * len(line.participants)) for line in run.rounds)
    )


def test_a_sampler_that_failed_is_told() -> None:
    """With what it said."""
    sampling = Sampling(rate_hz=2.0, num_samples=3, cpu_s=0.01, watched_s=9.0, failure="no answer within 0.2 s")
    evidence = make_evidence(rehearsal=False, doctor=only(lambda run: with_outcome(run, sampling=sampling)))

    assert any("no answer within 0.2 s" in text for text in judge_mark(SPEEDUP, evidence).details)


@pytest.mark.parametrize("what", IMPOSSIBLE)
def test_what_cannot_have_been_seen_is_void(what: str) -> None:
    """Whoever wrote it did not measure it."""
    shown, says = IMPOSSIBLE[what]
    verdict = judged(shown)

    assert "VOID" == verdict.word
    assert says in " ".join((verdict.reason, *verdict.details))


def without_time(run: MadeRun) -> MadeRun:
    return with_outcome(run, sampling=Sampling(rate_hz=2.0, num_samples=-1, cpu_s=-1.0, watched_s=-1.0))


def after_the_end(run: MadeRun) -> MadeRun:
    return with_outcome(run, device_seen=(replace(QUIET, highest_temperature_c=1e30),) * len(run.header.pool))


def one_too_many(run: MadeRun) -> MadeRun:
    return with_outcome(run, device_seen=(QUIET,) * (len(run.header.pool) + 1))


@pytest.mark.parametrize(
    ("doctor", "says"),
    [
        (without_time, "cpu_s of its sampling is said to be -1.0"),
        (after_the_end, "highest_temperature_c of device 0 is said to be 1e+30 °C, after the last round"),
        (one_too_many, "17 devices were seen after the last round, the pool has 16"),
        (seen(QUIET, pressure=1.5), "waited for a core for 1.5 of the round"),
        (seen(QUIET, pressure=-0.1), "waited for a core for -0.1 of the round"),
    ],
    ids=["cost", "afterwards", "one-too-many", "all-too-much-pressure", "negative-pressure"],
)
def test_what_watching_cannot_have_seen_or_cost_is_void(doctor: Doctor, says: str) -> None:
    """Before, in and after the rounds alike."""
    verdict = judge_mark(SPEEDUP, make_evidence(rehearsal=False, doctor=only(doctor, name="fleet")))

    assert "VOID" == verdict.word
    assert says in " ".join((verdict.reason, *verdict.details))
