"""What git shows of a mark, and what it cannot: from evidence to notes and sentences beside the verdict.

Nothing here changes a word: a note says it, and an official session refuses the note.
"""

from collections.abc import Iterator

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.git import Bringing, GitWitness, is_before
from pytest_mixgpu.marks.model import Claim, Note, PassMark
from pytest_mixgpu.marks.seals import is_frozen
from pytest_mixgpu.marks.since import first_registered

CANNOT_SHOW = (
    "a date in git can be set by hand: only a push that others saw bounds it, and nothing shows that no secret run "
    "was made before"
)


def bringing_of(git: GitWitness, id_: str) -> Bringing:
    """Return the commit that brought the present value of a mark or claim; without one of its own, the lock's."""
    whole = Bringing(
        problem=git.problem,
        message=git.message,
        remedy=git.remedy,
        commit=git.commit,
        author_date=git.author_date,
        committer_date=git.committer_date,
    )
    return next((one for one in git.marks if one.id == id_), whole)


def git_sentences(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Say what git shows of the present value of a frozen mark or claim, and what it cannot show.

    Args:
        evidence: all that is known.
        one: none for what is not frozen.
    """
    if not is_frozen(evidence, one):
        return ()
    return told_by_git(evidence.git, one.id, beside_first_run(evidence, one.id))


def told_by_git(git: GitWitness | None, id_: str, first_run: str) -> tuple[str, ...]:
    """Say what git shows of a frozen mark or claim, and what it cannot show.

    Args:
        git: what it says of the lock; None: it was not asked.
        id_: of the mark or claim.
        first_run: a sentence on how that stands to the first run.
    """
    problem = _problem_of(git, id_)
    if git is None or problem:
        return (problem, CANNOT_SHOW)
    found = bringing_of(git, id_)
    state = "the lock is as HEAD holds it" if git.clean else "the lock on disk is not what HEAD holds"
    where = "in the history of HEAD" if git.ancestor else "not in the history of HEAD"
    dates = f"author's date {found.author_date or 'none'}, committer's date {found.committer_date or 'none'}"
    return (
        f"commit {found.commit[:12]} brought its present value: {dates}; it is {where} ({git.head[:12]}), and {state}",
        first_run,
        _pushed(found),
        *found.remarks,
        *git.remarks,
        CANNOT_SHOW,
    )


def time_notes(evidence: Evidence, one: PassMark | Claim) -> tuple[Note, ...]:
    """Return `committed-late` or `unwitnessed` where git does not date a mark or claim before its first run.

    What is not frozen has none: that it is `exploratory` says more.
    """
    return tuple(note for note, _ in _doubts(evidence, one))


def time_sentences(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Say why a mark or claim has such a note."""
    return tuple(f"{note}: {why}" for note, why in _doubts(evidence, one))


def why_unwitnessed(git: GitWitness | None, id_: str, lock_digest: str) -> str:
    """Say why git is no witness of the present value of a frozen mark or claim; empty if it is one.

    Args:
        git: what it says of the lock; None: it was not asked.
        id_: of the mark or claim.
        lock_digest: of the lock that is judged by.
    """
    problem = _problem_of(git, id_)
    if git is None or problem:
        return problem
    if not (git.ancestor and git.clean):
        return "the lock on disk is not what the history of HEAD holds"
    if not is_of_lock(git, lock_digest):
        return "the lock was changed on disk since this session read it"
    return ""


def is_of_lock(git: GitWitness, lock_digest: str) -> bool:
    """Whether what git was asked of is what is judged by: the file may have changed since it was read."""
    return git.lock_digest in {"", lock_digest}


def stood_on_another_line(found: Bringing, moment: str) -> bool:
    """Whether a commit that is not in the history of HEAD held this value before a moment, and this one did not."""
    other = found.elsewhere
    return other is not None and not other.ancestor and bool(is_before(other, moment))


def told_of_elsewhere(found: Bringing) -> str:
    """Say where the same value stood before; empty where it stood nowhere."""
    other = found.elsewhere
    if other is None:
        return ""
    where = (
        "which is in the history of HEAD, but the lock was changed and changed back since"
        if other.ancestor
        else "which is not in the history of HEAD, as a rebase or a squash leaves it"
    )
    return f"the same value stood in commit {other.commit[:12]} of {other.committer_date}, {where}"


def beside_first_run(evidence: Evidence, id_: str) -> str:
    """Say whether the commit that brought a mark or claim came before the first run that was registered under it."""
    first = None if evidence.lock is None else first_registered(evidence, evidence.lock, id_)
    if first is None:
        return "no run was registered under it yet"
    found = None if evidence.git is None else bringing_of(evidence.git, id_)
    in_time = None if found is None or found.problem else is_before(found, first.at)
    if in_time is None:
        return "whether that was before the first run is not known: a date is missing"
    relation = "before" if in_time else "after"
    return f"its present value was committed {relation} the first run that was registered under it ({first.at})"


def _doubts(evidence: Evidence, one: PassMark | Claim) -> Iterator[tuple[Note, str]]:
    """Yield the note that git gives a frozen mark or claim, and why; nothing where it stood before its first run."""
    if evidence.lock is None or not is_frozen(evidence, one):
        return
    why = why_unwitnessed(evidence.git, one.id, evidence.lock_digest)
    first = first_registered(evidence, evidence.lock, one.id)
    if why or evidence.git is None:
        yield "unwitnessed", why
    elif first is not None:
        found = bringing_of(evidence.git, one.id)
        in_time, said = is_before(found, first.at), beside_first_run(evidence, one.id)
        if in_time is None:
            yield "unwitnessed", said
        elif not in_time:
            other = told_of_elsewhere(found)
            note: Note = "unwitnessed" if stood_on_another_line(found, first.at) else "committed-late"
            yield note, f"{said}; {other}" if other else said


def _problem_of(git: GitWitness | None, id_: str) -> str:
    """Say why git could not look at a mark or claim, with what to do; empty if it could."""
    if git is None:
        return "git was not asked"
    one = git if git.problem else bringing_of(git, id_)
    if not one.problem:
        return ""
    return f"git cannot witness it: {one.message}" + (f" (to do: {one.remedy})" if one.remedy else "")


def _pushed(found: Bringing) -> str:
    if found.branches is None:
        return "whether it was pushed is not known: git took too long to say"
    if not found.branches:
        return "no remote-tracking branch of this clone contains that commit: it may never have been pushed"
    names = ", ".join(found.branches)
    return (
        f"by this clone's own account {names} contain{'s' if len(found.branches) == 1 else ''} that commit; when it "
        "was pushed, only the other side can say"
    )
