"""What git shows of a mark, and what it cannot: from evidence to sentences beside the verdict. Decides nothing."""

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.git import Bringing, GitWitness, is_before
from pytest_mixgpu.marks.model import Claim, PassMark
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
    if git is None:
        return ("git was not asked", CANNOT_SHOW)
    found = bringing_of(git, id_)
    if git.problem or found.problem:
        message, remedy = (git.message, git.remedy) if git.problem else (found.message, found.remedy)
        return (f"git cannot witness it: {message}" + (f" (to do: {remedy})" if remedy else ""), CANNOT_SHOW)
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


def late_sentences(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Say that a mark was committed after its first run; nothing where it was not, or where git cannot tell."""
    git = evidence.git
    if git is None or git.problem or not is_frozen(evidence, one) or _is_in_time(evidence, one.id) is not False:
        return ()
    return (f"git: {beside_first_run(evidence, one.id)}",)


def beside_first_run(evidence: Evidence, id_: str) -> str:
    """Say whether the commit that brought a mark or claim came before the first run that was registered under it."""
    first = None if evidence.lock is None else first_registered(evidence, evidence.lock, id_)
    if first is None:
        return "no run was registered under it yet"
    in_time = _is_in_time(evidence, id_)
    if in_time is None:
        return "whether that was before the first run is not known: a date is missing"
    relation = "before" if in_time else "after"
    return f"its present value was committed {relation} the first run that was registered under it ({first.at})"


def _is_in_time(evidence: Evidence, id_: str) -> bool | None:
    first = None if evidence.lock is None else first_registered(evidence, evidence.lock, id_)
    found = None if evidence.git is None else bringing_of(evidence.git, id_)
    return None if first is None or found is None or found.problem else is_before(found, first.at)


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
