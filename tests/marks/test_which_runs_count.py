"""Which runs are one experiment: joined where conditions agree, else listed with the field that differs."""

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.checks import CHECKS
from pytest_mixgpu.marks.evidence import Evidence, LedgerState, gather
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import lock_digest
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.plan_file import plan_digest
from tests.judging import e1_marks, freeze_e1, make_evidence, with_runs
from tests.sample_doctors import (
    Doctor,
    as_aborted,
    as_failed,
    only,
    with_digests,
    with_header,
    with_settings,
    with_speed,
    with_start,
)
from tests.sample_parts import hex_of
from tests.sample_timeline import MadeRun
from tests.samples import FIRST_MOMENT, as_record, e1_digests, e1_plan, make_runs

if TYPE_CHECKING:
    from pytest_mixgpu.records.model import RunRecord

SPEED = ("baseline", "fleet", "reference")
CONTROLS = ("control-a", "control-b")


class Sessions:
    """Several sessions of the experiment itself, one after the other, under one lock."""

    def __init__(self, *, runs: int = 1) -> None:
        self.plan = with_runs(e1_plan(), runs)
        self.lock = freeze_e1(self.plan)
        self.digests = e1_digests(self.plan, lock=lock_digest(self.lock))
        self.records: list[RunRecord] = []
        self._at: datetime = FIRST_MOMENT

    def add(
        self, *, names: tuple[str, ...] = (), doctor: Doctor | None = None, first_repeat: int = 0, repeats: int = 1
    ) -> None:
        """Make one more session."""
        number = 1 + len({run.header.session for run in self.records})
        made = make_runs(
            plan=self.plan,
            digests=self.digests,
            rehearsal=False,
            session=f"session-{number}",
            names=names,
            # No two sessions take the same time to the last digit: that would be a copy.
            doctor=lambda run: (doctor or (lambda same: same))(with_speed(run, 1 + number / 1000)),
            first_repeat=first_repeat,
            repeats=repeats,
            at=self._at,
        )
        self._at += timedelta(days=1)
        self.records += [as_record(run) for run in made]

    def evidence(self, ledger: LedgerState | None = None) -> Evidence:
        """Gather all of them, from the view of another session."""
        return gather(
            self.plan,
            self.lock,
            self.records,
            session="a later one",
            rehearsal=False,
            plan_digest=plan_digest(self.plan),
            code_digest=self.digests.code,
            evaluator_digest=self.digests.evaluator,
            marks=e1_marks().marks,
            claims=e1_marks().claims,
            ledger=ledger,
        )

    def judge(self, id_: str) -> Verdict:
        """Judge one mark."""
        return judge_mark(e1_marks().mark(id_), self.evidence())


def slow(run: MadeRun) -> MadeRun:
    """Let a run's devices crawl."""
    return with_speed(run, 0.4)


def test_roles_of_an_experiment_may_come_from_several_sessions() -> None:
    """As in E1: the fleet one day, a control the next, the mixed pool on a third; one verdict, without a qualifier."""
    sessions = Sessions()
    for names in (SPEED, ("control-a",), ("control-b",), ("mixed",)):
        sessions.add(names=names)

    speedup, parity = sessions.judge("e1-speedup"), sessions.judge("e1-parity")

    assert ("PASS", (), "a40:16", 11.2) == (speedup.word, speedup.qualifiers, speedup.pool, speedup.bound)
    assert ("PASS", (), "a40:1,mi300x:1,rtx4090:1") == (parity.word, parity.qualifiers, parity.pool)
    assert "0.7 of the ideal 16" == speedup.bound_origin


@pytest.mark.parametrize(
    ("field", "doctor"),
    [
        pytest.param("plan", lambda run: with_digests(run, plan=hex_of("other plan")), id="plan"),
        pytest.param("lock", lambda run: with_digests(run, lock=hex_of("other lock")), id="lock"),
        pytest.param("code", lambda run: with_digests(run, code=hex_of("other code")), id="code"),
        pytest.param("evaluator", lambda run: with_digests(run, evaluator=hex_of("other")), id="evaluator"),
        pytest.param("seed", lambda run: with_header(run, seed=1), id="seed"),
        pytest.param("settings.batch_size", lambda run: with_settings(run, batch_size=64), id="batch-size"),
        pytest.param("settings.round_steps", lambda run: with_settings(run, round_steps=640), id="round-steps"),
        pytest.param("recipe", lambda run: with_settings(run, recipe={"name": "pets-vit-b16"}), id="recipe"),
        pytest.param("settings.workload", lambda run: with_settings(run, workload="digits-vit"), id="workload"),
        pytest.param("settings.number_format", lambda run: with_settings(run, number_format="tf32"), id="format"),
        pytest.param("settings.num_threads", lambda run: with_settings(run, num_threads=2), id="threads"),
        pytest.param("settings.split", lambda run: with_settings(run, split="speed"), id="split"),
        pytest.param("settings.exchange", lambda run: with_settings(run, exchange="ring"), id="exchange"),
        pytest.param("settings.payload", lambda run: with_settings(run, payload="bf16"), id="payload"),
    ],
)
def test_a_run_under_other_conditions_does_not_count_and_says_why(field: str, doctor: Doctor) -> None:
    """It is listed with the field, what was found and what was expected; the mark is not judged on less."""
    sessions = Sessions()
    sessions.add(doctor=only(doctor, name="fleet"))
    evidence = sessions.evidence()
    verdict = sessions.judge("e1-speedup")

    assert [field] == [one.field for one in evidence.superseded]
    assert "UNJUDGED" == verdict.word
    assert any(f"does not count: {field} is" in text for text in (verdict.reason, *verdict.details))


def test_every_field_in_which_a_run_departs_is_named() -> None:
    """Not the first alone: who mends one should not find the next only then."""
    sessions = Sessions()
    sessions.add(doctor=only(lambda run: with_settings(run, num_threads=9, split="speed"), name="fleet"))
    codes = Sessions()
    codes.add(doctor=only(lambda run: with_digests(run, code="c", evaluator="e"), name="fleet"))

    assert ["settings.num_threads", "settings.split"] == [one.field for one in sessions.evidence().superseded]
    assert ["code", "evaluator"] == [one.field for one in codes.evidence().superseded]


def test_another_pool_than_the_plans_does_not_count() -> None:
    """Fifteen devices are not sixteen."""
    sessions = Sessions()
    smaller = replace(
        sessions.plan,
        roles=tuple(replace(one, pool="a40:15") if one.role == "fleet" else one for one in sessions.plan.roles),
    )
    made = make_runs(plan=smaller, digests=sessions.digests, rehearsal=False, names=("fleet",))
    sessions.records += [as_record(run) for run in made]

    (dropped,) = sessions.evidence().superseded

    assert ("pool", "a40:15", "a40:16") == (dropped.field, dropped.found, dropped.expected)


def test_rehearsals_are_no_evidence_for_the_experiment() -> None:
    """A rehearsal and the experiment in one ledger do not meet."""
    rehearsed = [as_record(run) for run in make_runs()]
    sessions = Sessions()
    sessions.records += rehearsed

    assert () == sessions.evidence().attempts
    assert "UNJUDGED" == sessions.judge("e1-speedup").word
    assert "--gpus=a40:1 and --gpus=a40:16" in sessions.judge("e1-speedup").remedy


def test_a_rehearsal_is_judged_on_its_own_session_only() -> None:
    """An earlier session's better run does not help; without a session named, the newest counts."""
    plan = e1_plan()
    digests = e1_digests(plan)
    early = make_runs(session="early")
    late = make_runs(session="late", doctor=only(slow, name="fleet"), at=FIRST_MOMENT + timedelta(hours=1))
    records = [as_record(run) for run in (*early, *late)]

    for named, expected in (("early", {"early"}), ("late", {"late"}), ("", {"late"})):
        evidence = gather(plan, None, records, session=named, rehearsal=True, plan_digest=digests.plan)
        assert expected == {run.header.session for run in evidence.attempts}


def test_first_completed_run_of_a_repeat_counts_and_no_later_one() -> None:
    """Measuring again does not replace a value: neither a worse by a better nor the other way round."""
    sessions = Sessions()
    sessions.add(doctor=only(slow, name="fleet"))
    sessions.add()

    verdict = sessions.judge("e1-speedup")

    assert ("FAIL", 1) == (verdict.word, verdict.n)
    assert all(run_id in {run.id for run in sessions.records[:8]} for run_id in verdict.run_ids)


@pytest.mark.parametrize("failed_first", [True, False])
@pytest.mark.parametrize("same_session", [True, False])
def test_a_failed_fleet_is_not_undone_by_a_good_one(failed_first: bool, same_session: bool) -> None:  # noqa: FBT001
    """Before or after the whole bracket, in its session or in another: it was seen, and counts as the worst value."""
    failing = only(lambda run: as_failed(run, after_rounds=3), name="fleet")
    sessions = Sessions()
    sessions.add(names=SPEED, doctor=failing if failed_first else None)
    sessions.add(names=SPEED, doctor=None if failed_first else failing)
    if same_session:
        sessions.records = [
            replace(run, header=replace(run.header, session="session-1"))
            for run in sessions.records
            if run.header.name == "fleet" or (run.header.registered_at < "2026-11-30") is not failed_first
        ]
    verdict = sessions.judge("e1-speedup")

    assert ("UNJUDGED", 1) == (verdict.word, verdict.n), verdict
    assert "1 attempt that counts as the worst value would change the verdict: fleet failed" in verdict.reason
    assert "no further runs are planned: a new report folder (--mixgpu-report=DIR)" in verdict.remedy


def test_the_worst_value_decides_where_it_is_one_of_two() -> None:
    """Half of a good speed-up would pass a low bound: an attempt that failed is no speed-up of zero."""
    low = replace(e1_marks().mark("e1-speedup"), id="low", bound=0.3)
    sessions = Sessions()
    sessions.add(names=SPEED, doctor=only(lambda run: as_failed(run, after_rounds=3), name="fleet"))
    sessions.add(names=SPEED)

    assert "UNJUDGED" == judge_mark(low, sessions.evidence()).word


def test_a_run_that_is_still_written_counts_as_still_open() -> None:
    """It was registered and has something to show; whether somebody holds it open makes no difference."""
    sessions = Sessions()
    sessions.add(names=SPEED)
    sessions.add(names=("fleet",), doctor=lambda run: as_aborted(run, after_rounds=3))
    open_run = sessions.records[-1].id
    evidence = sessions.evidence(LedgerState(running=(open_run,)))
    verdict = judge_mark(e1_marks().mark("e1-speedup"), evidence)

    assert "UNJUDGED" == verdict.word
    assert f"fleet (run {open_run}) is still open: a living process is writing it" in verdict.reason
    assert any("1 still open" in text for text in CHECKS["attempts-counted"].look(evidence).stated)


def test_runs_beyond_the_lock_are_counted_and_told() -> None:
    """Three were made, one is planned: the verdict says how many do not count, and why."""
    sessions = Sessions(runs=1)
    sessions.add(names=SPEED, repeats=3)
    verdict = sessions.judge("e1-speedup")

    assert "PASS" == verdict.word
    assert "10 runs do not count of the 15 that were registered, for these reasons" in verdict.details
    assert any("repeat is 2, expected 0, the only one that is planned" in text for text in verdict.details)


def test_repeats_beyond_those_that_the_lock_names_do_not_count() -> None:
    """One run is planned: a second is listed and not averaged in."""
    sessions = Sessions(runs=1)
    sessions.add(repeats=2)
    verdict = sessions.judge("e1-speedup")

    assert 1 == verdict.n
    assert {"repeat"} == {one.field for one in sessions.evidence().superseded}


def test_too_few_runs_leave_a_mark_unjudged() -> None:
    """Two of three planned runs were made: nobody stops when he likes what he sees."""
    sessions = Sessions(runs=3)
    sessions.add(repeats=2)
    verdict = sessions.judge("e1-speedup")

    assert ("UNJUDGED", "2 of 3 planned runs were made") == (verdict.word, verdict.reason)

    sessions.add(first_repeat=2)

    assert ("PASS", 3) == (sessions.judge("e1-speedup").word, sessions.judge("e1-speedup").n)


@pytest.mark.parametrize(
    ("after_rounds", "word"),
    [
        pytest.param(2, "UNJUDGED", id="after-its-first-measured-round"),
        pytest.param(1, "UNJUDGED", id="after-the-baselines-measured-rounds"),
    ],
)
def test_an_attempt_that_failed_late_counts_as_the_worst_value(after_rounds: int, word: str) -> None:
    """A bracket that was broken off after anything was measured is not forgotten because the next one went well."""
    sessions = Sessions()
    sessions.add(names=SPEED, doctor=only(lambda run: as_failed(run, after_rounds=after_rounds), name="fleet"))
    sessions.add(names=SPEED)
    verdict = sessions.judge("e1-speedup")

    assert word == verdict.word
    assert "1 attempt that counts as the worst value would change the verdict" in verdict.reason
    assert "participant-15" in verdict.reason


def test_an_attempt_that_failed_before_it_showed_anything_is_listed_only() -> None:
    """A mixed run that died in its warm-up has nothing that anybody could dislike."""
    sessions = Sessions()
    sessions.add(names=(*CONTROLS, "mixed"), doctor=only(lambda run: as_failed(run, after_rounds=0), name="mixed"))
    sessions.add(names=("mixed",))
    verdict = sessions.judge("e1-parity")

    assert "PASS" == verdict.word
    assert any("ended before it had anything to show" in text for text in verdict.details)


def test_one_lost_attempt_of_many_runs_does_not_flip_a_clear_verdict() -> None:
    """With five runs the median stands against one worst value; the attempt is named beside it."""
    sessions = Sessions(runs=5)
    sessions.add(names=SPEED, doctor=only(lambda run: as_failed(run, after_rounds=3), name="fleet"))
    sessions.add(names=SPEED, repeats=5)
    verdict = sessions.judge("e1-speedup")

    assert ("PASS", 5) == (verdict.word, verdict.n)
    assert any("counted as the worst value" in text for text in verdict.details)


def test_editing_the_code_does_not_drop_a_run_that_was_made_with_the_frozen_code() -> None:
    """The lock's code decides: a failed verdict is not washed away by a new line of code."""
    sessions = Sessions()
    sessions.add(names=SPEED, doctor=only(slow, name="fleet"))
    sessions.add(names=SPEED, doctor=lambda run: with_digests(run, code=hex_of("new code")))
    verdict = sessions.judge("e1-speedup")

    assert "FAIL" == verdict.word
    assert "code-changed" not in verdict.notes
    assert {"code"} == {one.field for one in sessions.evidence().superseded}


def test_runs_of_changed_code_are_judged_and_noted() -> None:
    """Where no run has the code that the lock names, the newest code is judged, and every verdict says so."""
    sessions = Sessions()
    sessions.add(doctor=lambda run: with_digests(run, code=hex_of("new code")))

    for id_ in ("e1-speedup", "e1-parity"):
        assert ("PASS", True) == (sessions.judge(id_).word, "code-changed" in sessions.judge(id_).notes)


def test_a_rehearsal_that_departs_from_its_plan_says_so() -> None:
    """Flags that change settings make a rehearsal exploratory too, whatever it shows."""
    evidence = make_evidence(doctor=lambda run: with_speed(with_settings(run, batch_size=16), 1.0))
    verdict = judge_mark(e1_marks().mark("e1-speedup"), evidence)

    assert ("PASS", ("rehearsal", "exploratory")) == (verdict.word, verdict.qualifiers)
    assert any("departs from the plan: settings.batch_size is 16, the plan says 32" in text for text in verdict.details)


def test_a_rehearsal_of_another_recipe_than_was_frozen_departs_from_its_lock() -> None:
    """Optimizer, augmentation and input are frozen with the recipe: who changes them rehearses something else."""
    evidence = make_evidence(doctor=lambda run: with_settings(run, recipe={"name": "digits-vit", "model": "larger"}))
    verdict = judge_mark(e1_marks().mark("e1-speedup"), evidence)

    assert ("PASS", ("rehearsal", "exploratory")) == (verdict.word, verdict.qualifiers)
    assert any("recipe is" in text and "the lock says" in text for text in evidence.departures)


@pytest.mark.parametrize(
    ("doctor", "field"),
    [
        pytest.param(lambda run: with_settings(run, evaluate_every=7), "settings.evaluate_every", id="looks"),
        pytest.param(lambda run: with_header(run, coordinator="elsewhere"), "coordinator", id="coordinator"),
        pytest.param(lambda run: with_start(run, num_parameters=85_827_110), "parameters", id="another-model"),
        pytest.param(lambda run: with_start(run, data_counts={"test": 3669}), "samples of each split", id="splits"),
        pytest.param(
            lambda run: with_speed(with_settings(run, shares=(26, *(21,) * 14, 20)), 1.0),
            "settings.shares",
            id="shares",
        ),
    ],
)
def test_a_repeat_that_departs_from_the_first_where_the_plan_is_open_does_not_count(doctor: Doctor, field: str) -> None:
    """What the plan leaves open the first run settles: a repeat with another model, split or site is none."""
    sessions = Sessions(runs=2)
    sessions.add()
    sessions.add(first_repeat=1, doctor=only(doctor, name="fleet"))
    found = [one for one in sessions.evidence().superseded if one.field == field]

    assert ["fleet"] == sorted({run.header.name for run in sessions.records if run.id in {one.run_id for one in found}})
    assert "as in run" in found[0].expected
    assert "UNJUDGED" == sessions.judge("e1-speedup").word


def test_every_verdict_says_how_often_it_was_tried() -> None:
    """Sessions until green are counted: how many, how many runs, and what became of them."""
    sessions = Sessions()
    parity = (*CONTROLS, "mixed")
    sessions.add(names=parity, doctor=only(lambda run: as_failed(run, after_rounds=0), name="mixed"))
    sessions.add(names=("mixed",), doctor=lambda run: as_aborted(run, after_rounds=0))
    sessions.add(names=("mixed",))
    said = "3 sessions, 5 runs registered: 3 completed, 1 aborted, 1 failed"

    assert said in sessions.judge("e1-parity").details
    assert said in sessions.judge("e1-speedup").details
