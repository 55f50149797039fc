"""What a git repository says: from a folder to objects and answers as they are stored there. Writes and judges nothing.

Whatever the repository's own settings, looking at it runs none of its code and fetches nothing: no hook, filter, alias,
textconv, signature program or file watcher, and no object that a partial clone left out. Variables of the caller that
would point elsewhere (`GIT_DIR`) are not passed on; replaced objects, grafts and the commit-graph file, which can show
another history than the commits themselves, are not looked at.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from hashlib import sha1, sha256
from pathlib import Path

import msgspec

from pytest_mixgpu.errors import RepositoryError

PATIENCE_S = 20.0
"""How long one answer may take."""
_SAFE_VARIABLES = ("PATH", "HOME", "USER", "LANG", "XDG_CONFIG_HOME", "SYSTEMROOT", "TMPDIR")
_DEAF = {
    "LC_ALL": "C",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_TERMINAL_PROMPT": "0",
    # Known to newer versions only; without any protocol the older ones cannot fetch either.
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_ALLOW_PROTOCOL": "none",
}
_SETTINGS = (
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    "core.commitGraph=false",
    "safe.bareRepository=explicit",
    "log.showSignature=false",
    "advice.graftFileDeprecated=false",
)
_CLONE = "judge in a clone of the repository, with its whole history"


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What git said."""

    code: int
    raw: bytes
    error: str

    @property
    def text(self) -> str:
        """What it wrote, whatever the code."""
        return self.raw.decode(errors="replace")


class StoredObject(msgspec.Struct, frozen=True, kw_only=True):
    """An object of the repository."""

    id: str
    kind: str
    """`blob`, `commit`, `tree` or `tag`."""
    raw: bytes


class Repository(msgspec.Struct, frozen=True, kw_only=True):
    """A repository with its files checked out. Paths in it are relative to `top`, with `/` between."""

    top: Path
    """Where its files are: of a submodule its own, of a further worktree that one's."""
    prefix: str
    """From `top` to the folder that was asked for, with `/` at its end; empty for `top` itself."""
    is_shallow: bool
    superproject: Path | None = None
    """The repository that holds this one as a submodule."""
    patience_s: float = PATIENCE_S

    @classmethod
    def of(cls, folder: Path, *, patience_s: float = PATIENCE_S) -> "Repository":
        """Find the repository that a folder lies in.

        Args:
            folder: that may lie anywhere below its top.
            patience_s: how long one answer of git may take.

        Raises:
            RepositoryError: there is none, git is not installed, or it refuses to read it.
        """
        folder = folder.resolve()
        if not folder.is_dir():
            raise RepositoryError(f"there is no folder {folder}", problem="no-repository", remedy=_CLONE)
        inside = ask(folder, "rev-parse", "--is-inside-work-tree", patience_s=patience_s)
        if inside.code or inside.text.strip() != "true":
            raise _without_repository(folder, inside.error)
        # The last one prints no line where there is none.
        facts = ask(
            folder,
            "rev-parse",
            "--show-toplevel",
            "--show-prefix",
            "--is-shallow-repository",
            "--show-superproject-working-tree",
            patience_s=patience_s,
        )
        lines = facts.text.split("\n")[:-1]
        if facts.code or len(lines) not in {3, 4} or lines[2] not in {"true", "false"}:
            raise RepositoryError(f"git says nothing of {folder} that can be read: {facts.error.strip()}")
        superproject = Path(lines[3]) if len(lines) == 4 else None
        return cls(
            top=Path(lines[0]),
            prefix=lines[1],
            is_shallow=lines[2] == "true",
            superproject=superproject,
            patience_s=patience_s,
        )

    def run(self, *arguments: str, stdin: bytes = b"") -> Answer:
        """Ask git in `top`.

        Raises:
            RepositoryError: git is not installed, or took too long.
        """
        return ask(self.top, *arguments, stdin=stdin, patience_s=self.patience_s)

    def head(self) -> str:
        """Return the id of the commit that HEAD names; empty before the first one."""
        return self.run("rev-parse", "--verify", "--quiet", "HEAD").text.strip()

    def blob(self, revision: str, path: str) -> bytes | None:
        """Return the bytes of a file in a commit, without any filter; None where that commit does not hold it.

        Args:
            revision: a commit, or a name of one.
            path: relative to `top`.

        Raises:
            RepositoryError: it is not in this clone.
        """
        id_ = self.entry(revision, path)
        if not id_:
            return None
        found = self.objects([id_])[id_]
        if found is None:
            raise self.lacking(id_)
        return found.raw

    def entry(self, revision: str, path: str) -> str:
        """Return the id of a file in a commit; empty where that commit holds no such file, or a link by that name.

        Raises:
            RepositoryError: what the commit holds is not in this clone.
        """
        answer = self.run("ls-tree", "-z", "--full-tree", revision, "--", path)
        if answer.code:
            raise self.unreadable(answer)
        mode, _, kind_and_id = answer.text.partition("\t")[0].partition(" ")
        kind, _, id_ = kind_and_id.partition(" ")
        return id_ if kind == "blob" and mode.startswith("100") else ""

    def objects(self, ids: Sequence[str]) -> dict[str, StoredObject | None]:
        """Read objects by their whole ids, all at once; None for what is not in this clone.

        Raises:
            RepositoryError: one is not what its id says, which git itself sees in `git fsck` alone.
        """
        wanted = list(dict.fromkeys(ids))
        if not wanted:
            return {}
        found = self.run("cat-file", "--batch", "--buffer", stdin="".join(f"{id_}\n" for id_ in wanted).encode())
        if found.code and len(wanted) > 1 and self.is_partial():
            # An older git ends at the first object that it may not fetch.
            return {id_: stored for one in wanted for id_, stored in self.objects([one]).items()}
        return {**dict.fromkeys(wanted), **{one.id: one for one in _objects_in(found.raw)}}

    def is_partial(self) -> bool:
        """Whether objects were left out when this was cloned (`--filter`)."""
        pattern = r"^(extensions\.partialclone|remote\..*\.(promisor|partialclonefilter))$"
        return bool(self.run("config", "--local", "--get-regexp", pattern).text.strip())

    def lacking(self, id_: str) -> RepositoryError:
        """Say that an object is not in this clone, and why it may be so."""
        if self.is_partial():
            return RepositoryError(
                f"this is a partial clone, and object {id_[:12]} was left out of it",
                problem="partial",
                remedy="git fetch --refetch --no-filter (in CI: a checkout without a filter)",
            )
        if self.is_shallow:
            return RepositoryError(
                "this is a shallow clone, and the history that is asked for is cut off",
                problem="shallow",
                remedy="git fetch --unshallow (in CI: a checkout with its whole history)",
            )
        return RepositoryError(
            f"the repository lacks object {id_[:12]}, which its history names", problem="unreadable", remedy="git fsck"
        )

    def unreadable(self, answer: Answer) -> RepositoryError:
        """Say why git gave no answer."""
        if self.is_partial():
            return self.lacking("of a folder")
        return RepositoryError(
            f"git did not answer: {answer.error.strip() or f'exit status {answer.code}'}", remedy="git fsck"
        )


def ask(folder: Path, *arguments: str, stdin: bytes = b"", patience_s: float = PATIENCE_S) -> Answer:
    """Ask git in a folder, deaf to whatever would point it elsewhere, rewrite history or run code.

    Raises:
        RepositoryError: git is not installed, or took too long.
    """
    environment = {name: os.environ[name] for name in _SAFE_VARIABLES if name in os.environ} | _DEAF
    # A path is a name and no pattern; the one command that refuses to be told so takes names alone.
    environment["GIT_LITERAL_PATHSPECS"] = "0" if "check-ignore" in arguments else "1"
    settings = (part for setting in _SETTINGS for part in ("-c", setting))
    try:
        done = subprocess.run(
            ["git", "--no-pager", *settings, *arguments],
            cwd=folder,
            env=environment,
            input=stdin,
            capture_output=True,
            timeout=patience_s,
            check=False,
        )
    except FileNotFoundError as error:
        raise RepositoryError("git is not installed", problem="no-git", remedy=f"install git and {_CLONE}") from error
    except subprocess.TimeoutExpired as error:
        raise RepositoryError(
            f"git {arguments[0]} gave no answer within {patience_s:g} s",
            problem="slow",
            remedy=f"see how long `git {arguments[0]}` takes here; git gc helps a large history",
        ) from error
    except OSError as error:
        raise RepositoryError(f"git did not answer: {error}", remedy="see that `git status` works here") from error
    return Answer(code=done.returncode, raw=done.stdout, error=done.stderr.decode(errors="replace"))


def _objects_in(raw: bytes) -> Iterator[StoredObject]:
    """Read what `cat-file --batch` writes: a header, that many bytes, an end of line."""
    at = 0
    while (end := raw.find(b"\n", at)) >= 0:
        words = raw[at:end].decode(errors="replace").split(" ")
        at = end + 1
        if len(words) == 3 and words[2].isdigit():
            size = int(words[2])
            found = StoredObject(id=words[0], kind=words[1], raw=raw[at : at + size])
            if _id_of(found) != found.id:
                raise RepositoryError(
                    f"object {found.id[:12]} of the repository is not what its name says: it was damaged or forged",
                    remedy="git fsck, and judge in a fresh clone",
                )
            yield found
            at += size + 1


def _id_of(found: StoredObject) -> str:
    content = f"{found.kind} {len(found.raw)}\0".encode() + found.raw
    return (sha256(content) if len(found.id) == 64 else sha1(content, usedforsecurity=False)).hexdigest()


def _without_repository(folder: Path, error: str) -> RepositoryError:
    if "dubious ownership" in error:
        return RepositoryError(
            "git refuses to read this repository, which belongs to another user",
            remedy=f"git config --global --add safe.directory {folder}, if you trust it",
        )
    if not error:
        return RepositoryError(
            f"{folder} is none of the folders that the repository around it keeps files in",
            problem="no-repository",
            remedy=_CLONE,
        )
    if "bare repository" in error:
        return RepositoryError(
            "the folder lies in a bare repository, without files", problem="no-repository", remedy=_CLONE
        )
    if "not a git repository" not in error:
        return RepositoryError(f"git did not answer: {error.strip()}", remedy="see that `git status` works here")
    return RepositoryError(
        "there is no git repository here (an archive holds no history)", problem="no-repository", remedy=_CLONE
    )
