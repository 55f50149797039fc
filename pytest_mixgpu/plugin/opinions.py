"""The `passmark` and `claim` fixtures: hand evidence to the judge, keep the verdict, fail the test with its words."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

import msgspec
import pytest

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import Claim, PassMark, Verdict
from pytest_mixgpu.marks.official import official_refusal
from pytest_mixgpu.marks.stated import judge_samples, judge_value
from pytest_mixgpu.plugin.keys import OPINIONS
from pytest_mixgpu.plugin.runs import Runs
from pytest_mixgpu.plugin.witnessing import with_witness
from pytest_mixgpu.report.junit import properties
from pytest_mixgpu.report.sanitise import clean_for_log
from pytest_mixgpu.report.terminal import verdict_text
from pytest_mixgpu.report.verdict_rows import gravest_word
from pytest_mixgpu.timing.model import Samples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_mixgpu.plugin.session import MixgpuSession


Mark = TypeVar("Mark", PassMark, Claim)


class _Judge(Generic[Mark]):
    """What both fixtures share: find the mark of this test, judge it once, keep the verdict."""

    marker: ClassVar[str]
    kind: type[Mark]

    def __init__(self, session: MixgpuSession, item: pytest.Item) -> None:
        self._session = session
        self._item = item

    def _choose(self, mark_id: str | None) -> Mark:
        if self._item.nodeid in self._session.unreadable:
            pytest.fail(self._session.unreadable[self._item.nodeid], pytrace=False)
        found = [mark for mark in self._session.marks_of(self._item) if isinstance(mark, self.kind)]
        chosen = [mark for mark in found if mark_id in {None, mark.id}]
        if len(chosen) != 1:
            ids = ", ".join(mark.id for mark in found) or "none"
            pytest.fail(
                f"{self._item.nodeid}: {self.marker}.judge needs exactly one @pytest.mark.{self.marker} of this test, "
                f"found {ids}" + (f" and was asked for {mark_id}" if mark_id else "; name one with id=…"),
                pytrace=False,
            )
        return chosen[0]

    def _settle(self, mark: Mark, what: Runs | Samples | float, judge: Callable[[], Verdict]) -> Verdict:
        __tracebackhide__ = True
        try:
            verdict = judge()
        except MixgpuError as error:
            verdict = unjudged(mark, str(error))
        # An official session looks at what git says of it, too.
        verdict = with_witness(verdict, self._session.suite_of(self._item))
        keep(self._session, self._item, verdict)
        failure = failure_text(verdict, official=self._session.options.official)
        if failure:
            pytest.fail("\n\n".join([failure, *self._also_judged(what)]), pytrace=False)
        return verdict

    def _also_judged(self, what: Runs | Samples | float) -> list[str]:
        """Judge what this test would have judged next on the same runs, since a failure ends its body here."""
        if not isinstance(what, Runs):
            return []
        verdicts = [judge_runs(mark, what) for mark in still_open(self._session, self._item)]
        for verdict in verdicts:
            keep(self._session, self._item, verdict)
        official = self._session.options.official
        return [failure_text(verdict, official=official) or verdict_text(verdict) for verdict in verdicts]


class PassmarkJudge(_Judge[PassMark]):
    """Judges the pass mark of the test that asked for it."""

    marker = "passmark"
    kind = PassMark

    def judge(
        self,
        what: Runs | Samples | float,
        *,
        id: str | None = None,  # noqa: A002  (the marker's own word)
        devices: str = "",
    ) -> Verdict:
        """Judge run records, samples of a stopwatch, or a bare number (noted `value-stated`).

        Args:
            what: the evidence.
            id: which mark, where the test has several.
            devices: of a bare number: what it was measured on, `a40:1` (noted `devices-stated`).

        Returns:
            The verdict, if it is PASS.

        Raises:
            pytest.fail.Exception: it is any other word, or, in an official session, a PASS with a qualifier.
        """
        __tracebackhide__ = True
        mark = self._choose(id)
        return self._settle(mark, what, lambda: self._verdict(mark, what, devices))

    def _verdict(self, mark: PassMark, what: Runs | Samples | float, devices: str) -> Verdict:
        if isinstance(what, Runs):
            return judge_runs(mark, what)
        suite = self._session.suite_of(self._item)
        lock, changes = suite.lock, self._session.code_changes(suite, mark)
        stands_in, place = self._session.stands_in(self._item, mark), self._item.nodeid
        if isinstance(what, Samples):
            return judge_samples(mark, what, lock=lock, stands_in=stands_in, changes=changes, place=place)
        kinds = _kinds(devices)
        # A number is of the devices that the test names, whatever this session's are; one that names none is of none.
        stands_in = stands_in and bool(kinds) and CPU_KINDS.keys() >= set(kinds)
        return judge_value(mark, what, lock=lock, stands_in=stands_in, devices=kinds, changes=changes, place=place)


class ClaimJudge(_Judge[Claim]):
    """Judges the claim of the test that asked for it."""

    marker = "claim"
    kind = Claim

    def judge(self, what: Runs, *, id: str | None = None) -> Verdict:  # noqa: A002  (the marker's own word)
        """Judge run records by the checks that the marker names.

        Raises:
            pytest.fail.Exception: the record does not support the claim; the message says what is missing.
        """
        __tracebackhide__ = True
        mark = self._choose(id)
        return self._settle(mark, what, lambda: judge_runs(mark, what))


def _kinds(devices: str) -> tuple[str, ...]:
    if not devices:
        return ()
    return tuple(term.name for term in PoolSpec.parse(devices).terms for _ in range(term.count or 1))


def judge_runs(mark: PassMark | Claim, what: Runs) -> Verdict:
    """Judge one mark or claim on runs; what keeps runs from being made, read or computed leaves it UNJUDGED."""
    try:
        evidence = what.evidence()
        return judge_claim(mark, evidence) if isinstance(mark, Claim) else judge_mark(mark, evidence)
    except MixgpuError as error:
        return unjudged(mark, str(error))
    except ArithmeticError as error:
        # A stranger's record: a crash would leave the files of an earlier session where the reader looks.
        return unjudged(mark, f"the records hold numbers that cannot be computed with: {error}")


def keep(session: MixgpuSession, item: pytest.Item, verdict: Verdict) -> None:
    """Keep a verdict on its test, where its report finds it, and in the session, should no report come."""
    verdict = with_witness(verdict, session.suite_of(item))
    item.stash.setdefault(OPINIONS, []).append(verdict)
    session.spoken[item.nodeid] = _rows(session, item)


def settled(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """One verdict a mark: of one that was judged several times the gravest stands, and says how often and as what."""
    found: list[Verdict] = []
    for id_ in dict.fromkeys(verdict.id for verdict in verdicts):
        mine = [verdict for verdict in verdicts if verdict.id == id_]
        word = gravest_word(mine)
        gravest = next(verdict for verdict in mine if verdict.word == word)
        if len(mine) > 1:
            words = ", ".join(_short(verdict) for verdict in mine)
            text = f"its test judged it {len(mine)} times: {words}; the gravest stands, the first of several"
            gravest = msgspec.structs.replace(gravest, details=(*gravest.details, text))
        found.append(gravest)
    return found


def _short(verdict: Verdict) -> str:
    return verdict.word if verdict.value is None else f"{verdict.word} at {verdict.value:g} {verdict.unit}".strip()


def _rows(session: MixgpuSession, item: pytest.Item) -> list[dict[str, object]]:
    """The verdicts of a test as plain values that xdist can carry."""
    return [
        {
            "verdict": msgspec.to_builtins(verdict),
            "test": item.nodeid,
            "title": title_of(item),
            "folder": str(session.suite_of(item).folder),
        }
        for verdict in settled(opinions_of(item))
    ]


def opinions_of(item: pytest.Item) -> list[Verdict]:
    """The verdicts of a test so far."""
    return list(item.stash.get(OPINIONS, ()) or ())


def still_open(session: MixgpuSession, item: pytest.Item) -> list[PassMark | Claim]:
    """The marks and claims of a test of which no verdict was given yet."""
    judged = {verdict.id for verdict in opinions_of(item)}
    return [mark for mark in session.marks_of(item) if mark.id not in judged]


def unjudged(mark: PassMark | Claim, reason: str) -> Verdict:
    """The verdict on a mark of which nothing is known."""
    if isinstance(mark, Claim):
        return Verdict(id=mark.id, is_claim=True, word="UNJUDGED", reason=reason)
    return Verdict(
        id=mark.id,
        is_claim=False,
        word="UNJUDGED",
        reason=reason,
        metric=mark.metric,
        comparator=mark.comparator,
        unit=mark.unit,
        pool=mark.pool,
    )


def failure_text(verdict: Verdict, *, official: bool) -> str:
    """Why this verdict fails its test; empty where it does not."""
    refusal = official_refusal(verdict) if official and verdict.passed else ""
    if verdict.passed and not refusal:
        return ""
    text = verdict_text(verdict)
    # On top: a reader of JUnit XML sees the first line, and what follows says that the mark is met.
    return f"{clean_for_log(f'REFUSED {verdict.id} by --mixgpu-official: {refusal}')}\n{text}" if refusal else text


def refuse_unjudged(session: MixgpuSession, item: pytest.Item) -> None:
    """Fail a test that passed its body without judging what it is marked with."""
    __tracebackhide__ = True
    if item.nodeid in session.unreadable:
        pytest.fail(session.unreadable[item.nodeid], pytrace=False)
    missing = still_open(session, item)
    for mark in missing:
        word = "claim" if isinstance(mark, Claim) else "passmark"
        keep(session, item, unjudged(mark, f"the test ended without {word}.judge(…): nothing was judged"))
    if missing:
        texts = [verdict_text(verdict) for verdict in item.stash[OPINIONS] if verdict.word == "UNJUDGED"]
        pytest.fail("\n".join(texts), pytrace=False)


def attach(session: MixgpuSession, item: pytest.Item, report: pytest.TestReport) -> None:
    """Put the verdicts of a test on the report of its call, as plain values that xdist can carry.

    A test that ended before its judge spoke (set-up failed, skipped, xfailed) leaves its marks UNJUDGED, by name.
    """
    if report.when == "teardown" or (report.when == "setup" and report.passed):
        return
    for mark in still_open(session, item):
        keep(session, item, unjudged(mark, f"the test was {_ending(report)} before it was judged"))
    verdicts = settled(opinions_of(item))
    if not verdicts:
        return
    failing = [verdict for verdict in verdicts if not verdict.passed]
    if report.when == "call" and report.passed and failing:
        # The body caught the judge's word, was run again, or is of a kind that has no call phase of pytest's own.
        report.outcome = "failed"
        report.longrepr = "\n\n".join(verdict_text(verdict) for verdict in failing)
    # JUnit takes them from the report of the teardown, which copies them from the item; a rerun replaces them.
    others = [(name, value) for name, value in item.user_properties if not name.startswith("mixgpu.")]
    item.user_properties[:] = [*others, *properties(verdicts, title=title_of(item))]
    report.user_properties = list(item.user_properties)
    # pytest carries further attributes of a report.
    report.mixgpu_verdicts = _rows(session, item)  # type: ignore[attr-defined]


def title_of(item: pytest.Item) -> str:
    """The claim in words: the first line of the test's docstring, else its name."""
    doc = getattr(getattr(item, "obj", None), "__doc__", None) or ""
    return doc.strip().split("\n", 1)[0] or item.name.removeprefix("test_").replace("_", " ")


def _ending(report: pytest.TestReport) -> str:
    if hasattr(report, "wasxfail"):
        return "marked xfail and ended"
    return {"skipped": "skipped", "failed": "failed"}.get(report.outcome, "ended")
