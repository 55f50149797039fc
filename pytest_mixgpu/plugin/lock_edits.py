"""`--passmark-freeze` and `--passmark-amend`: from collected markers to a changed lock, instead of running tests."""

from __future__ import annotations

import textwrap
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.errors import AnchorError, LockError, MissingExtraError, MixgpuError, WorkloadError
from pytest_mixgpu.marks.lock import RunsThen, amend, freeze, lock_digest, write_lock
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.marks.registered import registrations
from pytest_mixgpu.plugin.anchoring import Anchoring
from pytest_mixgpu.plugin.suites import shown
from pytest_mixgpu.records.store import RunStore

WIDTH = 80
"""Columns of the terminal that everybody has."""

if TYPE_CHECKING:
    from pytest_mixgpu.marks.lock import Lock
    from pytest_mixgpu.plugin.session import MixgpuSession
    from pytest_mixgpu.plugin.suites import Suite


def edit_locks(session: MixgpuSession) -> None:
    """Freeze or amend the lock of each suite that has tests in this session.

    Raises:
        pytest.UsageError: the change was refused; nothing was written.
    """
    suites = session.suites()
    if not suites:
        raise pytest.UsageError("no collected test carries a passmark or claim: name the folder of the suite")
    if session.options.amend and len(suites) > 1:
        names = ", ".join(str(suite.folder) for suite in suites)
        raise pytest.UsageError(
            f"--passmark-amend changes one lock, and tests of {names} were collected: name one folder"
        )
    reporter = session.config.pluginmanager.getplugin("terminalreporter")
    for suite in suites:
        try:
            before = suite.lock
            after = _edited(session, suite)
            if after != before:
                _write(session, suite, after)
        except MixgpuError as error:
            raise pytest.UsageError(str(error)) from error
        for line in _told(suite, before, after, session.config):
            reporter.write_line(line)


def _write(session: MixgpuSession, suite: Suite, lock: Lock) -> None:
    """Write a lock and keep outside that it was changed, if that was asked for."""
    anchoring = Anchoring(
        folder=suite.folder,
        suite=lock.suite,
        lock_digest=lock_digest(lock),
        session=session.id,
        options=session.options,
        say=session.config.pluginmanager.getplugin("terminalreporter").write_line,
    )
    store = RunStore(session.options.report)
    anchoring.check(store)
    write_lock(suite.lock_path, lock)
    try:
        # What binds an older lock is never its last change.
        anchoring.keep("freeze" if lock.chain[-1].event == "freeze" else "amend", store)
    except MixgpuError as error:
        raise AnchorError(f"{suite.lock_path} was written, and that is not kept outside: {error}") from error


def _edited(session: MixgpuSession, suite: Suite) -> Lock:
    found = session.marks_in(suite).values()
    marks = [mark for mark in found if isinstance(mark, PassMark)]
    claims = [mark for mark in found if isinstance(mark, Claim)]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    # Deselected tests still count as written: leaving one out of a session does not delete its mark.
    present = session.present_of(suite, data=_data_digests(suite, session))
    then = _runs_then(suite, session)
    lock = suite.lock
    if session.options.freeze:
        return freeze(
            lock,
            marks,
            claims,
            suite=suite.name,
            plan=suite.plan,
            bindings=present.bindings,
            now=now,
            contents=present.contents,
            covers=present.covers,
            then=then,
        )
    if lock is None:
        raise LockError(f"{suite.lock_path}: there is no lock to amend; write it with --passmark-freeze")
    for id_ in session.options.amend:
        lock = amend(
            lock,
            id_,
            session.options.why or "",
            now,
            marks=marks,
            claims=claims,
            plan=suite.plan,
            bindings=present.bindings,
            contents=present.contents,
            covers=present.covers,
            then=then,
        )
    return lock


def _runs_then(suite: Suite, session: MixgpuSession) -> RunsThen:
    """What the ledger of the session's report folder holds by now."""
    reading = RunStore(session.options.report).ledger.read()
    if reading.faults:
        raise LockError(
            f"{reading.faults[0]}. Which runs there are by now cannot be said: restore the ledger, or name another "
            "folder of reports (--mixgpu-report)"
        )
    registered = registrations(reading.entries, suite.name, rehearsal=False)
    return RunsThen(num_runs=len(registered), head=reading.head, count=reading.count)


def _data_digests(suite: Suite, session: MixgpuSession) -> dict[str, str]:
    """Digests of the workloads' data, as far as it is here; what is not is bound by the first run that opens it."""
    from pytest_mixgpu.jobs.workloads.build import open_workload
    from pytest_mixgpu.jobs.workloads.recipe import OwnRecipe, check_files

    digests = {}
    for recipe in suite.recipes.values():
        if isinstance(recipe, OwnRecipe):
            # Only the job that trains it can open its data: the first run binds it.
            continue
        try:
            check_files(recipe, session.options.data)
        except (WorkloadError, MissingExtraError):
            continue
        digests[recipe.name] = open_workload(recipe, data_root=session.options.data).digest
    return digests


def _told(suite: Suite, before: Lock | None, after: Lock, config: pytest.Config) -> list[str]:
    """What was done, in words, with what is left to do."""
    if after == before:
        return [f"{suite.lock_path}: nothing to freeze, every mark and claim is frozen already"]
    known = 0 if before is None else len(before.chain)
    lines = [f"{suite.lock_path}:"]
    for entry in after.chain[known:]:
        runs = f", {entry.runs_then}" if entry.runs_then else ""
        what = ", ".join(entry.ids) or "all that stood"
        lines += [f"  {entry.event} {what} at {entry.at}{runs}: {entry.why}"]
    if before is not None and not before.bindings.judge and after.bindings.judge:
        lines.append("  bound for the first time, as they are now: judge, tests")
    missing = [name for name in after.bindings.recipes if name not in after.bindings.data]
    if missing:
        lines.append(f"  not bound yet, since its data is not here: {', '.join(missing)}")
    lines += [f"  {text}" for text in _misspelt(after)]
    lines.append(f"Commit it before the first run: git add {shown(suite.lock_path, config)} && git commit")
    return [line for text in lines for line in _wrapped(text)]


def _misspelt(lock: Lock) -> list[str]:
    """Metrics that nobody computes from runs and that look like one that is: better said now than after the runs."""
    near = {mark: get_close_matches(mark.metric, METRICS, n=1, cutoff=0.8) for mark in lock.marks}
    return [
        f"{mark.id}: no metric of runs is called {mark.metric!r}; if {found[0]!r} is meant, correct the marker and "
        "amend it before the first run"
        for mark, found in near.items()
        if found and mark.metric not in METRICS
    ]


def _wrapped(text: str) -> list[str]:
    """Break a line that is wider than a terminal; what follows is indented."""
    return textwrap.wrap(text, WIDTH, subsequent_indent="      ", break_long_words=False, break_on_hyphens=False)
