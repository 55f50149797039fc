"""Item 1: question and pass marks were recorded before the first run, and changes say when and why."""

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.git import is_before, parse_moment

_FREEZE = "pytest --passmark-freeze, then commit the lock before the first run"
_CANNOT_SHOW = (
    "a date in git can be set by hand: only a push that others saw bounds it, and no record shows secret earlier runs"
)


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
    unfrozen = all("." not in one.field and one.field != "plan" for one in evidence.differences)
    if missing:
        return Finding(missing=missing, word="FAIL" if unfrozen else "TAMPERED", remedy=_FREEZE if unfrozen else "")
    return Finding(
        stated=(
            f"{len(lock.marks)} marks and {len(lock.claims)} claims were frozen at {lock.frozen_at}: "
            + ", ".join(f"{mark.id} {mark.comparator} {mark.bound:g} {mark.of or ''}".rstrip() for mark in lock.marks),
        )
    )


def frozen_before_first_run(evidence: Evidence) -> Finding:
    """By the host's own clock, the lock was last changed before the first run that counts."""
    lock, first = evidence.lock, first_run_at(evidence)
    if lock is None:
        return Finding(missing=("there is no lock to compare with the first run",), remedy=_FREEZE)
    frozen = parse_moment(lock.chain[-1].at) if lock.chain else None
    began = None if first is None else parse_moment(first)
    if frozen is None or began is None:
        return Finding(
            missing=(f"dates cannot be compared: lock {lock.frozen_at!r}, first run {first!r}",), word="UNJUDGED"
        )
    if frozen > began:
        text = f"the lock was changed at {lock.chain[-1].at}, after the first run that it is to judge ({first})"
        return Finding(missing=(text,), remedy="runs count only from the freeze on: run again")
    return Finding(
        stated=(
            f"the first run that counts was registered at {first}, the lock was last changed at {lock.chain[-1].at}",
        )
    )


def committed_before_first_run(evidence: Evidence) -> Finding:
    """The commit that brought the lock's content is in the history and older than the first run."""
    git = evidence.git
    if git is None:
        return Finding(missing=("git was not asked",), word="UNJUDGED", remedy="judge in a clone of the repository")
    if git.problem:
        return Finding(missing=(f"git cannot witness the lock: {git.message}",), word="UNJUDGED", remedy=git.remedy)
    if not git.ancestor or not git.clean:
        return Finding(
            missing=("the lock on disk is not what the history of HEAD holds",), word="UNJUDGED", remedy="commit it"
        )
    # Not `before_first_run`: the witness was asked about every registered run, the claim is about those that count.
    first = first_run_at(evidence)
    in_time = is_before(git, first or "")
    if in_time is None:
        return Finding(missing=("git gives no date to compare with the first run",), word="UNJUDGED")
    if not in_time:
        text = (
            f"the lock's commit {git.commit[:12]} is of {git.committer_date}, after the first run that counts ({first})"
        )
        return Finding(missing=(text,), remedy="runs count only from the commit on: run again")
    return Finding(stated=(f"the lock came with commit {git.commit[:12]} of {git.committer_date}", _CANNOT_SHOW))


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


def first_run_at(evidence: Evidence) -> str | None:
    """Return when the first run that counts was registered; None if there was none."""
    return min((run.header.registered_at for run in evidence.runs), default=None)


CHECKS = (
    Check(name="question-asked", about="the plan asks a question", look=question_asked, needs_runs=False),
    Check(
        name="marks-frozen",
        about="the lock holds every mark and claim as the tests do",
        look=marks_frozen,
        needs_runs=False,
    ),
    Check(
        name="frozen-before-first-run",
        about="the lock is older than the first run that counts",
        look=frozen_before_first_run,
    ),
    Check(name="committed-before-first-run", about="so is its commit", look=committed_before_first_run),
    Check(
        name="amendments-explained",
        about="changes say when, why and from what",
        look=amendments_explained,
        needs_runs=False,
    ),
)
