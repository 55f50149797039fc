"""Anchors in git: from a statement's file to a commit of it alone, and from HEAD's history to all it ever held of them.

A date in git can be set by hand, and a history can be rewritten; only a push that others saw bounds either.
"""

import os
import re
from pathlib import Path
from typing import Final

import msgspec

from pytest_mixgpu.errors import AnchorError, MixgpuError, RepositoryError
from pytest_mixgpu.records.anchors.model import Kind, Proof
from pytest_mixgpu.records.anchors.statement import FOLDER, decode_statement, is_statement_name
from pytest_mixgpu.records.repository import Answer, Repository

_UNFINISHED: Final = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
}
_QUIET: Final = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
"""No tidying up in the background: it would go on beside the rounds that are measured next."""
_BUSY = re.compile(r"index\.lock|cannot lock ref|Unable to create '.*\.lock'")
_NUM_TRIES = 5
_PAUSE_S = 0.3


class GitVoucher:
    """Commits statements, each alone, whatever else is staged or changed. No hook of the repository is run."""

    kind: Kind = "git"

    def check(self, folder: Path) -> None:
        """See that a commit can be made here."""
        repository = _repository(folder)
        for name, what in _UNFINISHED.items():
            marker = Path(repository.run("rev-parse", "--git-path", name).text.strip())
            if (repository.top / marker).exists():
                raise AnchorError(
                    f"{repository.top}: a {what} is not finished, so no anchor can be committed; finish or abort it"
                )
        for who in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
            ident = repository.run(*_identity(), "var", who)
            if ident.code:
                raise AnchorError(
                    f"git does not know who commits the anchors ({_told(ident)}): git config user.name, user.email"
                )
        # A path that an ignore rule covers would be refused only later, when the first run is registered.
        place = f"{repository.prefix}{FOLDER}/000000.json"
        if repository.run("add", "--dry-run", "--ignore-missing", "--", place).code:
            raise AnchorError(f"{repository.top}: git ignores {repository.prefix}{FOLDER}/: take it out of .gitignore")

    def vouch(self, path: Path) -> None:
        """Commit this file, with the signature and the token beside it if there are any."""
        repository = _repository(path.parent)
        names = [f"{repository.prefix}{one.name}" for one in sorted(path.parent.glob(f"{path.name}*"))]
        statement = decode_statement(path.read_bytes())
        what = f"run {statement.run_id}" if statement.run_id else "the lock"
        verb = {"freeze": "frozen", "amend": "amended", "register": "registered", "close": "closed"}[statement.event]
        subject = f"Anchor of {statement.suite}: {what} {verb}"
        body = f"Ledger {statement.ledger or 'without a line'}\nentries {statement.count}, head {statement.head or '-'}"
        try:
            _patiently(repository, "add", "--", *names)
            _refuse_filtered(repository, f"{repository.prefix}{path.name}", path.read_bytes())
            _patiently(repository, "commit", "--quiet", "--only", "-m", subject, "-m", body, "--", *names)
        except MixgpuError:
            repository.run("rm", "--cached", "--quiet", "--force", "--ignore-unmatch", "--", *names)
            raise


class Committed(msgspec.Struct, frozen=True, kw_only=True):
    """A file of an anchor as the history of HEAD holds it."""

    name: str
    raw: bytes
    proof: Proof


class CommittedAnchors(msgspec.Struct, frozen=True, kw_only=True):
    """What the history of HEAD holds of a suite's anchors."""

    found: tuple[Committed, ...] = ()
    said: tuple[str, ...] = ()
    """Why it was not looked at, or not all of it."""


def committed_anchors(suite: Path) -> CommittedAnchors:
    """Find every statement that any commit in the history of HEAD brought, also those that were removed since.

    Args:
        suite: the suite's folder. What was committed while the suite lay in another folder counts from its move on.
    """
    try:
        repository = Repository.of(suite)
        if not repository.head():
            return CommittedAnchors()
        if repository.is_shallow:
            return CommittedAnchors(said=_unless_unused(suite, "this is a shallow clone: git fetch --unshallow"))
        return _in_history(repository)
    except RepositoryError as error:
        return CommittedAnchors(said=_unless_unused(suite, str(error)))


def _in_history(repository: Repository) -> CommittedAnchors:
    place = f"{repository.prefix}{FOLDER}"
    log = repository.run(
        "log", "--full-history", "--no-renames", "--diff-filter=AM", "--raw", "--no-abbrev", "--no-color",
        "--format=commit %H %cI", "HEAD", "--", place,
    )  # fmt: skip
    if log.code:
        raise repository.unreadable(log)
    brought: dict[tuple[str, str], Proof] = {}
    commit, at = "", ""
    for line in log.text.splitlines():
        if line.startswith("commit "):
            _, commit, at = line.split(" ")
        elif line.startswith(":"):
            facts, _, path = line.partition("\t")
            folder, _, name = path.strip('"').rpartition("/")
            if is_statement_name(name) and folder.endswith(FOLDER):
                # Newest first: what is left in the end is the commit that brought it first.
                brought[name, facts.split(" ")[3]] = Proof(kind="git", by=commit, at=at)
    objects = repository.objects([blob for _, blob in brought])
    found, said = [], []
    for (name, blob), proof in brought.items():
        stored = objects[blob]
        if stored is None:
            said.append(f"{FOLDER}/{name} was committed and is not in this clone: {repository.lacking(blob)}")
        else:
            found.append(Committed(name=name, raw=stored.raw, proof=proof))
    return CommittedAnchors(found=tuple(found), said=tuple(said))


def _unless_unused(suite: Path, why: str) -> tuple[str, ...]:
    """Say that commits vouch for nothing, where there is anything that they could vouch for."""
    return (f"commits were not looked at for anchors: {why}",) if (suite / FOLDER).is_dir() else ()


def _repository(folder: Path) -> Repository:
    try:
        return Repository.of(folder)
    except RepositoryError as error:
        raise AnchorError(f"no anchor can be committed: {error}") from error


def _patiently(repository: Repository, *words: str) -> None:
    """Change the repository; another git that is at it for a moment is waited for."""
    import time

    for number in range(1, _NUM_TRIES + 1):
        answer = repository.run(*_QUIET, *_identity(), *words)
        if answer.code == 0:
            return
        if number == _NUM_TRIES or not _BUSY.search(answer.error):
            raise AnchorError(f"git {words[0]} of the anchor {words[-1]} failed: {_told(answer)}")
        time.sleep(_PAUSE_S * number)


def _refuse_filtered(repository: Repository, name: str, raw: bytes) -> None:
    """See that what is staged is what was written: a filter may put something else into a commit."""
    if repository.run("cat-file", "blob", f":{name}").raw != raw:
        raise AnchorError(f"a filter of this repository changes {name} on its way into a commit: see .gitattributes")


def _identity() -> tuple[str, ...]:
    """Pass on who commits where the environment says it, as on a machine that builds; dates it may not set."""
    names = {
        "author.name": "GIT_AUTHOR_NAME",
        "author.email": "GIT_AUTHOR_EMAIL",
        "committer.name": "GIT_COMMITTER_NAME",
        "committer.email": "GIT_COMMITTER_EMAIL",
    }
    found = {key: os.environ[name] for key, name in names.items() if os.environ.get(name)}
    return tuple(part for key, value in found.items() for part in ("-c", f"{key}={value}"))


def _told(answer: Answer) -> str:
    return " ".join(answer.error.split()) or " ".join(answer.text.split()) or f"exit status {answer.code}"
