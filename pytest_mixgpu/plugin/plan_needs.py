"""`--passmark-plan`: from collected markers, lock and plan to what the marks need, printed instead of running tests."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import msgspec
import pytest

from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.marks.evidence import gather, seeds_in_force
from pytest_mixgpu.marks.lock import broken_seals, compare
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.planning import PlanNeeds, mark_need, role_needs, sessions_for
from pytest_mixgpu.marks.seen import seen_of
from pytest_mixgpu.plugin.measure import digests_in_force
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.plugin.suites import shown
from pytest_mixgpu.report.needs import need_lines

if TYPE_CHECKING:
    from pytest_mixgpu.marks.evidence import Evidence
    from pytest_mixgpu.marks.seen import Seen
    from pytest_mixgpu.plugin.session import MixgpuSession
    from pytest_mixgpu.plugin.suites import Suite
    from pytest_mixgpu.records.plan import Plan


def print_needs(session: MixgpuSession) -> None:
    """Print what the marks of each collected suite need.

    Raises:
        pytest.UsageError: nothing is marked, or plan, lock or report folder cannot be read.
    """
    suites = session.suites()
    if not suites:
        raise pytest.UsageError("no collected test carries a passmark or claim: name the folder of the suite")
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    for suite in suites:
        try:
            needs, doubts = needs_of(suite, session), _doubts(suite, session)
        except MixgpuError as error:
            raise pytest.UsageError(str(error)) from error
        reporter.write_line("")
        for text in doubts:
            reporter.write_line(f"TAMPERED: {text}", red=True)
        command = f"pytest {shown(suite.folder, session.config)}"
        width = reporter._tw.fullwidth  # noqa: SLF001  (the only public way to a terminal's width is its writer)
        for line in need_lines(needs, command=command, width=width):
            reporter.write_line(line)


def needs_of(suite: Suite, session: MixgpuSession) -> PlanNeeds:
    """What a suite needs: a frozen mark counts as the lock holds it, any other as it is written."""
    lock, plan, written = suite.lock, suite.plan, session.marks_in(suite)
    frozen = {} if lock is None else {mark.id: mark for mark in lock.marks}
    marks = {id_: mark for id_, mark in written.items() if isinstance(mark, PassMark)} | frozen
    claims = {id_ for id_ in written if id_ not in marks} | {claim.id for claim in (lock.claims if lock else ())}
    seeds = None if plan is None else seeds_in_force(plan, lock, rehearsal=False)
    known = [] if plan is None else _known(suite, plan, session)
    num_repeats = 1 if seeds is None else seeds.runs
    needs = PlanNeeds(
        suite=suite.name,
        num_repeats=None if seeds is None else seeds.runs,
        first_seed=None if seeds is None else seeds.base,
        marks=tuple(
            mark_need(mark, plan, is_frozen=id_ in frozen, num_repeats=num_repeats, seen=_seen(mark, known))
            for id_, mark in sorted(marks.items())
        ),
        num_claims=len(claims),
    )
    if plan is None:
        return needs
    made = Counter(run.name for evidence, _ in known if not evidence.rehearsal for run in evidence.registered)
    return msgspec.structs.replace(
        needs,
        roles=role_needs(plan, num_repeats, made),
        sessions=sessions_for(plan.roles),
        rehearsal_pool="" if plan.rehearsal is None else plan.rehearsal.pool,
    )


def _doubts(suite: Suite, session: MixgpuSession) -> list[str]:
    """What of the lock does not match: then what it says of marks is not what was frozen."""
    lock = suite.lock
    if lock is None:
        return []
    marks = [mark for mark in session.marks_in(suite).values() if isinstance(mark, PassMark)]
    differences = [str(one) for mark in marks if lock.mark(mark.id) is not None for one in compare(lock, mark=mark)]
    return [*broken_seals(lock), *differences]


def _seen(mark: PassMark, known: list[tuple[Evidence, str]]) -> tuple[Seen, ...]:
    """The experiment's own runs; only where they say nothing, those of a rehearsal, which is another experiment."""
    found = (seen_of(mark, evidence, where) for evidence, where in known)
    first = next((one for one in found if one is not None), None)
    return () if first is None else (first,)


def _known(suite: Suite, plan: Plan, session: MixgpuSession) -> list[tuple[Evidence, str]]:
    """What report folders hold of the experiment and of its newest rehearsal."""
    options = session.options
    folders = [one for one in options.records or (options.report,) if (one / "ledger.jsonl").is_file()]
    if not folders:
        return []
    stored = read_runs(folders, suite.name)
    digests = digests_in_force(suite)
    return [
        (
            gather(
                plan,
                suite.lock,
                stored.records,
                session="",
                rehearsal=rehearsal,
                plan_digest=digests.plan,
                code_digest=digests.code,
                evaluator_digest=digests.evaluator,
                ledger=stored.ledger,
                lost=stored.lost,
                seals=stored.seals,
            ),
            where,
        )
        for rehearsal, where in ((False, "seen"), (True, "seen in a rehearsal, which is another experiment"))
        if not rehearsal or plan.rehearsal is not None
    ]
