"""The git witness: from a lock's path to what its repository says of it, as a value. Guesses nothing, writes nothing.

A date in git can be set by hand; that is said where the date is shown. Only a push that others saw bounds it.
"""

from datetime import UTC, datetime
from pathlib import Path
from typing import Literal, cast

import msgspec

from pytest_mixgpu.errors import LockError, RepositoryError
from pytest_mixgpu.marks.lock_file import lock_digest, parse_lock
from pytest_mixgpu.marks.lock_history import WHOLE, Commit, LockHistory, Version
from pytest_mixgpu.records.repository import PATIENCE_S, Repository

Problem = Literal[
    "", "no-git", "no-repository", "no-lock", "link", "untracked", "uncommitted", "not-in-history", "shallow",
    "partial", "slow", "unreadable",
]  # fmt: skip

_MOST_BRANCHES = 3
_SHORT = 12


class Bringing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The commit since which a mark or claim, or the whole lock, is as it is now. With a problem, the rest is empty."""

    id: str = ""
    """Of the mark or claim; empty for the lock as a whole."""
    problem: Problem = ""
    message: str = ""
    remedy: str = ""
    commit: str = ""
    author_date: str = ""
    committer_date: str = ""
    """ISO 8601; when the commit was made, or last rewritten."""
    branches: tuple[str, ...] | None = ()
    """Remote-tracking branches of this clone that contain it, the first few; None: git took too long to say."""
    remarks: tuple[str, ...] = ()
    """What else is to be known: it was moved since, its dates contradict each other, it is a merge."""
    ancestor: bool = True
    """Whether it is in the history of HEAD."""
    elsewhere: "Bringing | None" = None
    """Where this commit came after the first run: the first one of all that held the same value, which did not last
    till HEAD. It is on another branch, as a rebase or a squash leaves it, or the value was taken back in between."""


class GitWitness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What git says of the lock's present content. With a problem, the rest is empty."""

    problem: Problem = ""
    message: str = ""
    """One sentence on the problem."""
    remedy: str = ""
    """What to do about it."""
    repository: str = ""
    """Name of the folder that holds the repository."""
    lock_digest: str = ""
    """Of the lock that HEAD holds."""
    commit: str = ""
    """The commit that brought the lock's present content."""
    author_date: str = ""
    committer_date: str = ""
    """ISO 8601; when the commit was made, or last rewritten."""
    head: str = ""
    ancestor: bool = False
    """Whether that commit is in the history of HEAD."""
    clean: bool = False
    """Whether the file on disk is what HEAD holds."""
    first_run_at: str = ""
    marks: tuple[Bringing, ...] = ()
    """For each mark and claim the commit that brought its present value, which the lock's may only have followed."""
    remarks: tuple[str, ...] = ()
    """What else is to be known of the repository: it is a submodule, and what the one around it holds of it."""
    before_first_run: bool | None = None
    """Whether author's and committer's date both lie before the first run; None: there was no run, or no date."""


def witness(
    lock_path: Path, first_run_at: str | None, *, now: datetime | None = None, patience_s: float = PATIENCE_S
) -> GitWitness:
    """Ask git which commits brought the lock's present values, and whether its content was before the first run.

    Args:
        lock_path: the lock; it need not exist.
        first_run_at: when the first run was registered, ISO 8601; None or empty if there was none.
        now: a later date lies in the future; the host's clock if not said.
        patience_s: how long one answer of git may take.
    """
    try:
        found = _ask(lock_path, first_run_at or "", now or datetime.now(UTC), patience_s)
    except RepositoryError as error:
        return _problem(cast("Problem", error.problem), str(error), error.remedy)
    if found.problem or not first_run_at:
        return found
    return msgspec.structs.replace(found, first_run_at=first_run_at, before_first_run=is_before(found, first_run_at))


def parse_moment(text: str) -> datetime | None:
    """Read an ISO 8601 moment with its offset; None where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def is_before(found: GitWitness | Bringing, moment: str) -> bool | None:
    """Say whether author's and committer's date both lie before a moment; None where one of them is no date."""
    dates = [parse_moment(text) for text in (found.author_date, found.committer_date, moment)]
    author, committer, limit = dates
    if author is None or committer is None or limit is None:
        return None
    return max(author, committer) <= limit


def _ask(lock_path: Path, first_run_at: str, now: datetime, patience_s: float) -> GitWitness:
    repository = Repository.of(lock_path.parent, patience_s=patience_s)
    name = lock_path.name
    path = repository.prefix + name
    if lock_path.is_symlink():
        message = f"{name} is a symbolic link, of which git holds only where it points to"
        return _problem("link", message, "put the file itself there")
    head = repository.head()
    held = repository.blob(head, path) if head else None
    if not lock_path.is_file():
        if held is None:
            return _problem("no-lock", f"there is no {name}", "pytest --passmark-freeze, then commit the lock")
        return _problem("no-lock", f"there is no {name} on disk, but HEAD holds one", f"git checkout HEAD -- {name}")
    if held is None:
        return _not_committed(repository, head, path)
    # Not `git status`: it takes the index's word (assume-unchanged, skip-worktree) and sees through filters.
    # Ends of lines may be another system's.
    if held.replace(b"\r\n", b"\n") != lock_path.read_bytes().replace(b"\r\n", b"\n"):
        filters = repository.run("check-attr", "-z", "filter", "--", path).text.split("\0")
        through = f" (git passes it through the filter {filters[2]})" if _is_set(filters) else ""
        remedy = f"take {name} out of that filter in .gitattributes" if through else f"git commit {name}"
        return _problem("uncommitted", f"{name} differs from what is committed{through}", remedy)
    return _Asked(repository, head, path, first_run_at, now).answer(held)


def _is_set(attribute: list[str]) -> bool:
    return len(attribute) > 2 and attribute[2] not in {"unspecified", "unset", ""}


def _not_committed(repository: Repository, head: str, path: str) -> GitWitness:
    name = path.rpartition("/")[2]
    if repository.run("ls-files", "-z", "--", path).text:
        return _problem("uncommitted", f"{name} was added and never committed", f"git commit {name}")
    siblings = repository.run("ls-tree", "-z", "--name-only", f"{head or 'HEAD'}:{repository.prefix}").text
    twin = next((other for other in siblings.split("\0") if other.lower() == name.lower()), "")
    if twin:
        message = f"HEAD holds {twin}, which is spelled otherwise than {name}"
        return _problem("untracked", message, f"git mv {twin} {name} && git commit")
    is_ignored = repository.run("check-ignore", "--quiet", "--", path).code == 0
    ignored = ", and .gitignore keeps it out" if is_ignored else ""
    force = "-f " if is_ignored else ""
    return _problem(
        "untracked", f"{name} is not under version control{ignored}", f"git add {force}{name} && git commit"
    )


class _Asked:
    """One lock that is as HEAD holds it, and what its history says."""

    def __init__(self, repository: Repository, head: str, path: str, first_run_at: str, now: datetime) -> None:
        self._repository = repository
        self._history = LockHistory(repository)
        self._head, self._path, self._first_run_at, self._now = head, path, first_run_at, now
        self._branches: dict[str, tuple[str, ...] | None] = {}
        self._silence = ""

    def answer(self, held: bytes) -> GitWitness:
        whole = self._bringing(WHOLE)
        if whole.problem:
            return _problem(whole.problem, whole.message, whole.remedy)
        try:
            lock = parse_lock(held.decode(), where=self._path)
        except (LockError, UnicodeDecodeError):
            lock = None
        return GitWitness(
            repository=self._repository.top.name,
            lock_digest=lock_digest(lock),
            commit=whole.commit,
            author_date=whole.author_date,
            committer_date=whole.committer_date,
            head=self._head,
            # It was found by going back from HEAD.
            ancestor=True,
            clean=True,
            marks=() if lock is None else tuple(self._bringing(id_) for id_ in lock.ids),
            remarks=_of_superproject(self._repository, self._head),
        )

    def _bringing(self, id_: str) -> Bringing:
        try:
            versions = self._history.bringing(self._head, self._path, id_)
            if not versions:
                message = f"no commit in the history of HEAD brought {id_ or 'the lock'} as it is now, sealed"
                return Bringing(id=id_, problem="not-in-history", message=message, remedy="restore the lock from git")
            found = self._told(id_, versions)
            if self._first_run_at and id_ != WHOLE and is_before(found, self._first_run_at) is False:
                return self._with_elsewhere(found)
        except RepositoryError as error:
            return Bringing(id=id_, problem=cast("Problem", error.problem), message=str(error), remedy=error.remedy)
        return found

    def _told(self, id_: str, versions: tuple[Version, ...]) -> Bringing:
        """Tell of the earliest of several: on its line the value stands without a break since then."""
        first, *others = sorted(versions, key=lambda one: _committed(self._history.commit(one.commit)))
        commit = self._history.commit(first.commit)
        remarks = list(_contradictions(self._history, first.commit, self._now))
        if first.path != self._path:
            remarks.append(f"the lock lay at {first.path} then, and was moved since")
        if others:
            also = ", ".join(one.commit[:_SHORT] for one in others)
            remarks.append(f"it came on {len(versions)} lines that were merged: also by {also}")
        return Bringing(
            id=id_,
            commit=commit.id,
            author_date=commit.author_date,
            committer_date=commit.committer_date,
            branches=self._containing(commit.id),
            remarks=tuple(remarks),
        )

    def _with_elsewhere(self, found: Bringing) -> Bringing:
        if not self._silence:
            try:
                return msgspec.structs.replace(found, elsewhere=self._elsewhere(found))
            except RepositoryError as error:
                # Asked once: what took too long for one mark would for the next one.
                self._silence = f"whether another branch held the value before is not known: {error}"
        return msgspec.structs.replace(found, remarks=(*found.remarks, self._silence))

    def _elsewhere(self, found: Bringing) -> Bringing | None:
        """Return the first commit of all that held the value; from there it did not stand till now."""
        commits = map(self._history.commit, self._history.holders(self._head, self._path, found.id))
        told = [
            Bringing(id=found.id, commit=one.id, author_date=one.author_date, committer_date=one.committer_date)
            for one in commits
        ]
        early = [one for one in told if is_before(one, found.committer_date)]
        first = min((one for one in early if one.commit != found.commit), key=_committed, default=None)
        if first is None:
            return None
        code = self._repository.run("merge-base", "--is-ancestor", first.commit, self._head).code
        return msgspec.structs.replace(first, ancestor=code == 0)

    def _containing(self, commit: str) -> tuple[str, ...] | None:
        if commit not in self._branches:
            try:
                listed = self._repository.run(
                    "for-each-ref", f"--contains={commit}", "--format=%(refname)", "refs/remotes"
                )
            except RepositoryError:
                # That it took too long is said in place of the branches.
                self._branches[commit] = None
            else:
                names = [line.removeprefix("refs/remotes/") for line in listed.text.splitlines()]
                branches = [name for name in names if not name.endswith("/HEAD")]
                self._branches[commit] = None if listed.code else tuple(branches[:_MOST_BRANCHES])
        return self._branches[commit]


def _committed(one: Commit | Bringing) -> datetime:
    return parse_moment(one.committer_date) or datetime.max.replace(tzinfo=UTC)


def _contradictions(history: LockHistory, id_: str, now: datetime) -> list[str]:
    """Say where dates of a commit cannot all be true."""
    commit = history.commit(id_)
    author, committer = parse_moment(commit.author_date), parse_moment(commit.committer_date)
    if author is None or committer is None:
        return ["its dates cannot be read"]
    found = []
    if author > committer:
        found.append("its author's date is later than its committer's, which no clock gives: one was set by hand")
    if max(author, committer) > now:
        found.append(f"its date lies in the future of this host's clock ({now.isoformat(timespec='seconds')})")
    for parent in map(history.commit, commit.parents):
        before = parse_moment(parent.committer_date)
        if before is not None and before > committer:
            found.append(
                f"its parent {parent.id[:_SHORT]} is dated {parent.committer_date}, later than itself: a date was set "
                "by hand, or a clock was wrong"
            )
    if len(commit.parents) > 1:
        found.append("it is a merge, and none of what it joined held this value")
    return found


def _of_superproject(repository: Repository, head: str) -> tuple[str, ...]:
    """Say which commit of a submodule the repository around it holds."""
    around = repository.superproject
    if around is None:
        return ()
    where = repository.top.relative_to(around).as_posix()
    try:
        outer = Repository.of(around, patience_s=repository.patience_s)
        pinned = outer.run("ls-tree", "-z", "--full-tree", "HEAD", "--", where).text.partition("\t")[0].split(" ")[-1]
    except RepositoryError as error:
        return (f"the repository is a submodule of {around.name}, which says nothing: {error}",)
    if not pinned:
        return (f"the repository is a submodule ({where}) of {around.name}, whose HEAD holds none there",)
    same = "that is the commit judged here" if pinned == head else f"judged here is {head[:_SHORT]}"
    holds = f"whose HEAD holds it at {pinned[:_SHORT]}: {same}"
    return (f"the commits are those of {where}, a submodule of {around.name}, {holds}",)


def _problem(problem: Problem, message: str, remedy: str) -> GitWitness:
    return GitWitness(problem=problem, message=message, remedy=remedy)
