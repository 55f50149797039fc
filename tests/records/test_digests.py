"""A digest changes with what matters and with nothing else."""

import ast
import io
import tokenize
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.records.digests import canonical_digest, code_digest, folder_digests, sha256_file, significant

CODE = '''"""A module.

It has a blank line and a # in its docstring.
"""

# a comment
import os  # and another


def f(x: int) -> str:
    """Text."""
    # why
    text = f"""{x}

    # not a comment\x20\x20
    """
    return text + "#" + os.sep
'''


def test_a_file_has_the_digest_of_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc")
    assert sha256(b"abc").hexdigest() == sha256_file(path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("# a comment\n", "", id="comment-line-gone"),
        pytest.param("  # and another", "", id="comment-at-the-end-gone"),
        pytest.param("# why", "# why not, and a quote: '", id="comment-changed"),
        pytest.param("import os", "\n\n\nimport os", id="blank-lines"),
        pytest.param('"#" + os.sep', '"#" + os.sep  # said', id="comment-after-a-hash"),
        pytest.param("os.sep\n", "os.sep   \t\n", id="trailing-blanks"),
        pytest.param("os.sep\n", "os.sep", id="no-last-newline"),
        pytest.param("\n", "\r\n", id="other-line-ends"),
    ],
)
def test_what_does_not_run_does_not_count(old: str, new: str) -> None:
    """Comments, blank lines, trailing blanks and line ends leave code what it is."""
    assert old in CODE
    assert significant(CODE.encode()) == significant(CODE.replace(old, new).encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("# not a comment  \n", "# not a comment\n", id="blanks-in-a-string"),
        pytest.param("{x}\n\n", "{x}\n", id="blank-line-in-a-string"),
        pytest.param("# not a comment", "# no comment", id="hash-in-a-string"),
        pytest.param('"#"', '"# "', id="string"),
        pytest.param("    return", "        return", id="indentation"),
        pytest.param("It has", "It had", id="docstring"),
        pytest.param("x: int", "x: float", id="annotation"),
    ],
)
def test_what_runs_counts(old: str, new: str) -> None:
    """Anything else is a change, inside strings too."""
    assert old in CODE
    assert significant(CODE.encode()) != significant(CODE.replace(old, new).encode())


def test_what_is_left_is_the_same_program() -> None:
    """What is left of a module after comments and blanks are gone parses to the same tree, for all of our own code."""
    package = Path(__file__).parents[2] / "pytest_mixgpu"
    for path in sorted(package.rglob("*.py")):
        raw = path.read_bytes()
        assert ast.dump(ast.parse(raw)) == ast.dump(ast.parse(significant(raw))), path


TOKENS = [
    token
    for token in tokenize.generate_tokens(io.StringIO(CODE).readline)
    if tokenize.tok_name[token.type] in {"NAME", "OP", "NUMBER", "STRING"} and token.start[0] == token.end[0]
]
ENDS = [
    number for number, line in enumerate(CODE.splitlines()) if line.startswith(("# a", "import", "def", "    # why"))
]
"""Lines of code after which a comment or a blank line may stand."""


@given(st.lists(st.tuples(st.sampled_from(ENDS), st.sampled_from(["", "   ", "# x", "        # y 'z"])), max_size=6))
def test_comments_and_blank_lines_do_not_count_wherever_they_stand(added: list[tuple[int, str]]) -> None:
    """As many as there are, at any indentation."""
    lines = CODE.splitlines()
    for number, text in sorted(added, reverse=True):
        lines.insert(number + 1, text)
    assert significant(CODE.encode()) == significant("\n".join([*lines, ""]).encode())


@given(st.sampled_from(TOKENS), st.sampled_from(["", "1", "other", "+", "'s'"]))
def test_every_token_counts(token: tokenize.TokenInfo, other: str) -> None:
    """One that is gone, or is another, makes another digest, whether what is left is Python or not."""
    lines = CODE.splitlines(keepends=True)
    line = lines[token.start[0] - 1]
    lines[token.start[0] - 1] = line[: token.start[1]] + other + line[token.end[1] :]
    assert (token.string == other) == (significant(CODE.encode()) == significant("".join(lines).encode()))


@given(st.binary(max_size=60))
def test_any_bytes_have_a_digest(raw: bytes) -> None:
    """What is no Python is taken as it is, never an error."""
    assert isinstance(significant(raw), bytes)


def test_code_has_one_digest_wherever_it_lies(tmp_path: Path) -> None:
    """Neither the folder of installation nor the order of the files counts; their names and contents do."""
    digests = []
    for root in (tmp_path / "here", tmp_path / "there" / "deep"):
        (root / "pkg").mkdir(parents=True)
        (root / "pkg" / "a.py").write_text("x = 1\n")
        (root / "pkg" / "b.toml").write_text("# kept: not Python\ny = 2\n")
        paths = [root / "pkg" / "a.py", root / "pkg" / "b.toml"]
        digests += [code_digest(paths, root), code_digest([*paths[::-1], paths[0]], root)]
    assert [digests[0]] * 4 == digests
    (root / "pkg" / "a.py").rename(root / "pkg" / "c.py")
    assert digests[0] != code_digest([root / "pkg" / "c.py", paths[1]], root)


@pytest.mark.parametrize(("name", "is_same"), [("a.py", True), ("a.toml", False)])
def test_only_python_has_comments(tmp_path: Path, name: str, is_same: bool) -> None:  # noqa: FBT001
    """A comment in another file may be its content."""
    path = tmp_path / name
    path.write_text("x = 1\n")
    before = code_digest([path], tmp_path)
    path.write_text("x = 1  # one\n")
    assert is_same == (before == code_digest([path], tmp_path))


def test_the_end_of_a_file_is_not_the_start_of_the_next(tmp_path: Path) -> None:
    """Content that moves from one file to the next is a change."""
    a, b = tmp_path / "a.toml", tmp_path / "b.toml"
    a.write_text("12")
    b.write_text("3")
    before = code_digest([a, b], tmp_path)
    a.write_text("1")
    b.write_text("23")
    assert before != code_digest([a, b], tmp_path)


def test_a_file_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """A digest of code that is not there would say nothing."""
    with pytest.raises(FileNotFoundError):
        code_digest([tmp_path / "gone.py"], tmp_path)


def test_a_folder_is_digested_without_what_lies_outside(tmp_path: Path) -> None:
    """Files count by content at any depth, a link by what it points to, whatever lies there."""
    folder = tmp_path / "run"
    (folder / "logs").mkdir(parents=True)
    (folder / "logs" / "a.log").write_bytes(b"a")
    (folder / "record.jsonl").write_bytes(b"r")
    (folder / "link").symlink_to(tmp_path)
    expected = {"logs/a.log": sha256(b"a").hexdigest(), "link": sha256(f"link to {tmp_path}".encode()).hexdigest()}
    assert expected == folder_digests(folder, without=["record.jsonl"])


@given(st.dictionaries(st.text(), st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()))
def test_a_canonical_digest_does_not_know_order(tree: dict[str, object]) -> None:
    """Keys in any order make one digest."""
    assert canonical_digest(tree) == canonical_digest(dict(reversed(tree.items())))
