"""From files to their SHA-256; for code, blind to comments, blank lines and trailing blanks. Imports no torch."""

import io
import tokenize
from collections.abc import Iterable
from functools import lru_cache
from hashlib import file_digest, sha256
from pathlib import Path

import msgspec

from pytest_mixgpu.records.secrets import readable


def sha256_file(path: Path) -> str:
    """Return the SHA-256 of a file's bytes, hexadecimal."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def canonical_digest(value: object) -> str:
    """Return the SHA-256 of plain data or a frozen value as JSON with sorted keys and no blanks."""
    return sha256(msgspec.json.encode(msgspec.to_builtins(value), order="sorted")).hexdigest()


def folder_digests(folder: Path, *, without: Iterable[str] = ()) -> dict[str, str]:
    """Return the SHA-256 of every file below a folder, by its path relative to the folder.

    A link counts by what it points to, as a text: nothing outside the folder is read.
    """
    left_out = set(without)
    digests = {}
    for path in sorted(folder.rglob("*")):
        name = readable(path.relative_to(folder).as_posix())
        if name in left_out:
            continue
        if path.is_symlink():
            digests[name] = sha256(readable(f"link to {path.readlink()}").encode()).hexdigest()
        elif path.is_file():
            digests[name] = sha256_file(path)
    return digests


def code_digest(paths: Iterable[Path], root: Path) -> str:
    """Return one SHA-256 over code, the same wherever it is installed and however it is commented.

    Args:
        paths: files; their order does not matter.
        root: the folder that their names are taken relative to.

    Raises:
        FileNotFoundError: one of them is not there.
    """
    whole = sha256()
    for name, path in sorted({path.relative_to(root).as_posix(): path for path in paths}.items()):
        content = significant_content(path)
        # Lengths keep the end of one file from passing for the start of the next.
        whole.update(f"{len(name.encode())} {name} {len(content)}\n".encode() + content)
    return whole.hexdigest()


def significant_content(path: Path) -> bytes:
    """Return what counts of a file: of Python source see `significant`, of another all but how lines end."""
    raw = path.read_bytes()
    return significant(raw) if path.suffix == ".py" else raw.replace(b"\r\n", b"\n")


def source_text(raw: bytes) -> str:
    """Return Python source as text, in the encoding that it states and with one kind of line ends.

    Raises:
        SyntaxError: it states an encoding that is none.
        UnicodeDecodeError: it is not in the encoding that it states.
    """
    encoding, _ = tokenize.detect_encoding(io.BytesIO(raw).readline)
    return io.StringIO(raw.decode(encoding), newline=None).read()


@lru_cache(maxsize=1024)
def significant(raw: bytes) -> bytes:
    """Return Python source without comments, blank lines and trailing blanks; strings stay as they are.

    Only positions of tokens are used, since the tokens themselves differ between Python versions. What cannot be
    tokenized is returned unchanged.
    """
    try:
        text = source_text(raw)
        comments, inside = _positions(text)
    except (tokenize.TokenError, SyntaxError, UnicodeDecodeError, LookupError):
        return raw
    kept = []
    for number, line in enumerate(text.split("\n"), start=1):
        code = line[: comments[number]] if number in comments else line
        if number not in inside:
            code = code.rstrip()
        if code or number in inside:
            kept.append(code)
    return "\n".join(kept).encode()


def _positions(text: str) -> tuple[dict[int, int], set[int]]:
    """Return the column of each line's comment, and the lines whose end lies inside a string."""
    comments: dict[int, int] = {}
    inside: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name == "COMMENT":
            comments[token.start[0]] = token.start[1]
        elif name == "STRING":
            inside.update(range(token.start[0], token.end[0]))
        elif name.endswith("STRING_START"):
            # From Python 3.12 on an f-string is many tokens; before, it was one.
            opened.append(token.start[0])
        elif name.endswith("STRING_END"):
            inside.update(range(opened.pop(), token.end[0]))
    return comments, inside
