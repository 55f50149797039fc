"""Item 1: question and pass marks were recorded before the first run, and changes say when and why."""

from collections.abc import Sized

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.git import GitWitness, is_before, parse_moment
from pytest_mixgpu.marks.since import first_registered, last_change
from pytest_mixgpu.marks.witnessed import (
    CANNOT_SHOW,
    bringing_of,
    is_of_lock,
    stood_on_another_line,
    told_of_elsewhere,
)

_FREEZE = "pytest --passmark-freeze, then commit the lock before the first run"


def question_asked(evidence: Evidence) -> Finding:
    """The plan asks a question."""
    if evidence.plan is None or not evidence.plan.question.strip():
        return Finding(
            missing=("no question is recorded: the plan has none",), remedy="write `question` into benchmark.toml"
        )
    return Finding(stated=(f"question: {' '.join(evidence.plan.question.split())}",))


def marks_frozen(evidence: Evidence) -> Finding:
    """Every mark and claim of the suite stands in the lock as it stands in its test."""
    lock = evidence.lock
    if lock is None:
        return Finding(missing=("there is no lock: no pass mark was recorded before the first run",), remedy=_FREEZE)
    if not lock.marks:
        return Finding(missing=("the lock holds no pass mark",), remedy=_FREEZE)
    missing = tuple(str(one) for one in evidence.differences)
    unfrozen = all(one.is_unfrozen for one in evidence.differences)
    if missing:
        return Finding(missing=missing, word="FAIL" if unfrozen else "TAMPERED", remedy=_FREEZE if unfrozen else "")
    return Finding(
        stated=(
            f"{_counted(lock.marks, 'mark')} and {_counted(lock.claims, 'claim')} stand in the lock, the first frozen "
            f"at {lock.frozen_at}: "
            + ", ".join(f"{mark.id} {mark.comparator} {mark.bound:g} {mark.of or ''}".rstrip() for mark in lock.marks),
        )
    )


def _counted(found: Sized, what: str) -> str:
    return f"{len(found)} {what}{'' if len(found) == 1 else 's'}"


def frozen_before_first_run(evidence: Evidence) -> Finding:
    """By the host's own clock, each mark was as it is now before the first run that was registered under it."""
    lock = evidence.lock
    if lock is None:
        return Finding(missing=("there is no lock to compare with the first run",), remedy=_FREEZE)
    late: dict[tuple[str, str], list[str]] = {}
    stated: dict[tuple[str, str], list[str]] = {}
    for id_ in lock.ids:
        change, first = last_change(lock, id_), first_registered(evidence, lock, id_)
        if change is None or first is None:
            continue
        frozen, began = parse_moment(change.at), parse_moment(first.at)
        if frozen is None or began is None:
            text = f"dates cannot be compared: lock {change.at!r}, first run {first.at!r}"
            return Finding(missing=(text,), word="UNJUDGED")
        (late if frozen > began else stated).setdefault((change.at, first.at), []).append(id_)
    if late:
        return Finding(
            missing=tuple(
                f"{', '.join(ids)}: last changed in the lock at {frozen}, after the first run to be judged by it ({at})"
                for (frozen, at), ids in late.items()
            ),
            remedy=_too_late(evidence),
        )
    if not stated:
        return Finding(missing=("no run was registered under the marks as they are",), word="UNJUDGED")
    return Finding(
        stated=tuple(
            f"{', '.join(ids)}: last changed in the lock at {frozen}, the first run under it was registered at {at}"
            for (frozen, at), ids in stated.items()
        )
    )


def committed_before_first_run(evidence: Evidence) -> Finding:
    """The commit that brought each mark as it is now is in the history and older than the first run under it."""
    git, lock = evidence.git, evidence.lock
    if (
        git is None
        or lock is None
        or git.problem
        or not (git.ancestor and git.clean and is_of_lock(git, evidence.lock_digest))
    ):
        return _unwitnessed(evidence)
    late: dict[str, str] = {}
    open_: dict[str, str] = {}
    stated: dict[str, None] = {}
    for id_ in lock.ids:
        first, found = first_registered(evidence, lock, id_), bringing_of(git, id_)
        if first is None:
            continue
        if found.problem:
            open_[f"git cannot witness {id_}: {found.message}"] = found.remedy
            continue
        in_time = is_before(found, first.at)
        text = f"commit {found.commit[:12]} of {found.committer_date}"
        if in_time is None:
            open_["git gives no date to compare with the first run"] = ""
        elif in_time:
            stated[f"the lock came with {text}"] = None
            stated |= dict.fromkeys(f"{text}: {remark}" for remark in found.remarks)
        elif found.elsewhere is not None and stood_on_another_line(found, first.at):
            after = f"{text} came after the first run that was registered under it ({first.at})"
            open_[f"{after}; {told_of_elsewhere(found)}"] = (
                f"judge in a checkout of {found.elsewhere.commit[:12]}, or merge it without a squash"
            )
        else:
            reason = f"the lock's {text} is after the first run that was registered under it ({first.at})"
            late[reason + (f"; {told_of_elsewhere(found)}" if found.elsewhere else "")] = _too_late(evidence)
    if late or open_:
        remedy = next(remedy for remedy in (late or open_).values())
        return Finding(missing=(*late, *open_), word="FAIL" if late else "UNJUDGED", remedy=remedy)
    return Finding(stated=(*stated, CANNOT_SHOW))


def _unwitnessed(evidence: Evidence) -> Finding:
    """Say why git cannot witness the lock."""
    git = evidence.git
    if git is None:
        return Finding(missing=("git was not asked",), word="UNJUDGED", remedy="judge in a clone of the repository")
    if git.problem:
        text = f"git cannot witness the lock: {git.message}"
        return Finding(missing=(text,), word="UNJUDGED", remedy=_commit_remedy(evidence, git))
    if evidence.lock is None:
        return Finding(missing=("there is no lock to compare with the first run",), remedy=_FREEZE)
    if not is_of_lock(git, evidence.lock_digest):
        text = "the lock was changed on disk since this session read it"
        return Finding(missing=(text,), word="UNJUDGED", remedy="run again")
    return Finding(
        missing=("the lock on disk is not what the history of HEAD holds",), word="UNJUDGED", remedy="commit it"
    )


def _commit_remedy(evidence: Evidence, git: GitWitness) -> str:
    if git.problem not in {"untracked", "uncommitted", "not-in-history"}:
        return git.remedy
    if not evidence.registered:
        return f"{git.remedy}, before the first run"
    return f"{git.remedy}, then {evidence.remedy()}" if evidence.rehearsal else f"{git.remedy}; {_too_late(evidence)}"


def _too_late(evidence: Evidence) -> str:
    """Say what helps where runs came before what they are judged by: those runs cannot be made to count."""
    if evidence.rehearsal:
        return evidence.remedy()
    return (
        "these runs cannot be made to count; a new report folder (--mixgpu-report=DIR) starts anew, and this one is "
        "kept beside it"
    )


def amendments_explained(evidence: Evidence) -> Finding:
    """Each change of the lock has its date, its reason and what was there before."""
    if evidence.lock is None:
        return Finding(missing=("there is no lock whose changes could be read",), remedy=_FREEZE)
    amendments = [entry for entry in evidence.lock.chain if entry.event == "amend"]
    missing = tuple(
        f"the amendment of {', '.join(entry.ids)} at {entry.at!r} lacks its date, its reason or what was there before"
        for entry in amendments
        if parse_moment(entry.at) is None or not entry.why.strip() or not entry.was.strip()
    )
    stated = [f"{entry.at}: {', '.join(entry.ids)} amended: {entry.why}" for entry in amendments]
    sources = () if evidence.plan is None else evidence.plan.sources
    stated += [f"published source: {source.title} ({source.published})" for source in sources]
    return Finding(missing=missing, stated=tuple(stated) or ("the lock was never amended",))


CHECKS = (
    Check(name="question-asked", about="the plan asks a question", look=question_asked, reads_runs=False),
    Check(
        name="marks-frozen",
        about="the lock holds every mark and claim as the tests do",
        look=marks_frozen,
        reads_runs=False,
    ),
    Check(
        name="frozen-before-first-run",
        about="each mark is older than the first run under it",
        look=frozen_before_first_run,
    ),
    Check(name="committed-before-first-run", about="so is its commit", look=committed_before_first_run),
    Check(
        name="amendments-explained",
        about="changes say when, why and from what",
        look=amendments_explained,
        reads_runs=False,
    ),
)
