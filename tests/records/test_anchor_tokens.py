"""Timestamps of a real authority, which the test starts: asked for, kept, verified, and refused."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mixgpu.errors import AnchorError, MissingExtraError
from pytest_mixgpu.records.anchors.rfc3161 import TsaVoucher, read_authorities, token_of
from tests.authorities import Authority, authority, needs_openssl

pytestmark = needs_openssl
STATEMENT = b"a statement\n"


@pytest.fixture(scope="module")
def tsa(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authority]:
    """One that is trusted."""
    pytest.importorskip("rfc3161_client")
    with authority(tmp_path_factory.mktemp("tsa")) as one:
        yield one


@pytest.fixture
def stamped(tsa: Authority, tmp_path: Path) -> Path:
    """A file with a token beside it."""
    path = tmp_path / "statement.json"
    path.write_bytes(STATEMENT)
    TsaVoucher(tsa.url).vouch(path)
    return path


def test_token_of_a_trusted_authority_says_when(tsa: Authority, stamped: Path) -> None:
    """With the name in its certificate."""
    found = token_of(stamped, STATEMENT, read_authorities(tsa.root))

    assert found is not None
    assert found.proof is not None
    assert ("tsa", "CN=Throw-away clock") == (found.proof.kind, found.proof.by)
    assert found.proof.at.endswith("+00:00")


def test_token_of_an_unknown_authority_vouches_for_nothing(stamped: Path, tmp_path: Path) -> None:
    """Neither where another is trusted, nor where none is named."""
    with authority(tmp_path / "other") as other:
        elsewhere = token_of(stamped, STATEMENT, read_authorities(other.root))
    nobody = token_of(stamped, STATEMENT, ())

    for found in (elsewhere, nobody):
        assert found is not None
        assert (None, "") == (found.proof, found.fault)
        assert "--mixgpu-tsa-ca" in found.said


@pytest.mark.parametrize("is_trusted", [True, False])
def test_token_over_other_bytes_is_a_fault(tsa: Authority, stamped: Path, *, is_trusted: bool) -> None:
    """Also where no authority is named."""
    found = token_of(stamped, b"another statement\n", read_authorities(tsa.root) if is_trusted else ())

    assert found is not None
    assert "is not one over these bytes" in found.fault


def test_edited_token_does_not_vouch(tsa: Authority, stamped: Path) -> None:
    """Its signature, at the end of the file, no longer fits; cut short it is no token at all."""
    token = stamped.with_name("statement.json.tsr")
    whole = token.read_bytes()
    token.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    edited = token_of(stamped, STATEMENT, read_authorities(tsa.root))
    token.write_bytes(whole[:100])
    cut = token_of(stamped, STATEMENT, read_authorities(tsa.root))

    for found in (edited, cut):
        assert found is not None
        assert found.proof is None
        assert found.fault


def test_without_the_library_it_says_so(tsa: Authority, stamped: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A token is not looked at where nobody asked for it, and is an error where somebody did."""
    monkeypatch.setitem(sys.modules, "rfc3161_client", None)
    found = token_of(stamped, STATEMENT, ())

    assert found is not None
    assert "was not looked at" in found.said
    with pytest.raises(MissingExtraError, match=r"pytest-mixgpu\[anchors\]"):
        read_authorities(tsa.root)
    with pytest.raises(MissingExtraError):
        TsaVoucher(tsa.url).check(stamped.parent)


def test_without_a_token_there_is_nothing_to_look_at(tmp_path: Path) -> None:
    """And nothing to say."""
    assert None is token_of(tmp_path / "statement.json", STATEMENT, ())


def test_authority_that_does_not_answer_is_an_error(tmp_path: Path) -> None:
    """Whatever was asked is not stamped; a password in the address is not repeated."""
    voucher = TsaVoucher("http://me:geheim@127.0.0.1:9/")

    with pytest.raises(AnchorError, match="did not stamp") as caught:
        voucher.check(tmp_path)
    assert "geheim" not in str(caught.value)


def test_file_without_certificates_is_an_error(tmp_path: Path) -> None:
    """Rather than a verdict in which no token counts."""
    (tmp_path / "roots.pem").write_text("none here")

    with pytest.raises(AnchorError, match="no certificates"):
        read_authorities(tmp_path / "roots.pem")
