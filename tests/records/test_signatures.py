"""Signatures by real SSH keys: made, verified, and refused for the reason that applies."""

from pathlib import Path

import pytest

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.signatures import sign, signature_path, try_key, verify
from tests.authorities import allow, make_key, needs_ssh_keygen

pytestmark = needs_ssh_keygen
PURPOSE = "pytest-mixgpu-anchor"


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two keys: `ours` and `theirs`."""
    folder = tmp_path_factory.mktemp("keys")
    make_key(folder, "ours")
    make_key(folder, "theirs")
    return folder


def written(folder: Path, raw: bytes, key: Path, purpose: str = PURPOSE) -> Path:
    path = folder / "made.sig"
    path.write_bytes(sign(raw, key, purpose))
    return path


def test_allowed_signer_is_named(keys: Path, tmp_path: Path) -> None:
    """With the fingerprint of the key."""
    signers = allow(tmp_path / "signers", lab=keys / "ours")

    found = verify(b"head", written(tmp_path, b"head", keys / "ours"), PURPOSE, signers)

    assert found.signer.startswith("lab (SHA256:")
    assert ("", "") == (found.fault, found.said)


@pytest.mark.parametrize("named", [True, False], ids=["another-list", "no-list"])
def test_unknown_signer_vouches_for_nothing(keys: Path, tmp_path: Path, *, named: bool) -> None:
    """Its signature holds, so nothing is wrong; nobody vouches for its key."""
    signers = allow(tmp_path / "signers", lab=keys / "ours") if named else None

    found = verify(b"head", written(tmp_path, b"head", keys / "theirs"), PURPOSE, signers)

    assert ("", "") == (found.signer, found.fault)
    assert "SHA256:" in found.said


@pytest.mark.parametrize("signers", [True, False], ids=["list", "no-list"])
def test_signature_over_other_bytes_is_a_fault(keys: Path, tmp_path: Path, *, signers: bool) -> None:
    """Also where nobody said who may sign."""
    allowed = allow(tmp_path / "signers", lab=keys / "ours") if signers else None

    found = verify(b"another head", written(tmp_path, b"head", keys / "ours"), PURPOSE, allowed)

    assert "is not one over these bytes" in found.fault
    assert not found.signer


def test_signature_for_another_purpose_is_a_fault(keys: Path, tmp_path: Path) -> None:
    """What was signed as a file or a commit does not serve as an anchor."""
    signers = allow(tmp_path / "signers", lab=keys / "ours")

    found = verify(b"head", written(tmp_path, b"head", keys / "ours", "file"), PURPOSE, signers)

    assert found.fault


def test_edited_signature_is_a_fault(keys: Path, tmp_path: Path) -> None:
    """Whatever it is, it is no signature over these bytes."""
    path = written(tmp_path, b"head", keys / "ours")
    path.write_bytes(path.read_bytes().replace(b"\nA", b"\nB", 1)[:-90] + path.read_bytes()[-90:].swapcase())

    assert verify(b"head", path, PURPOSE, None).fault


def test_key_that_does_not_sign_says_what_to_do(keys: Path, tmp_path: Path) -> None:
    """A missing key, a file that is none, and one with a passphrase, without a question at the terminal."""
    (tmp_path / "none").write_text("no key")

    with pytest.raises(AnchorError, match="there is no such key"):
        sign(b"head", keys / "absent", PURPOSE)
    with pytest.raises(AnchorError, match="ssh-keygen did not sign"):
        sign(b"head", tmp_path / "none", PURPOSE)


def test_a_key_is_tried_for_another_purpose(keys: Path, tmp_path: Path) -> None:
    """It leaves nothing behind that could serve as a signature, and a key that is not there is found so."""
    try_key(keys / "ours", PURPOSE)

    with pytest.raises(AnchorError, match="there is no such key"):
        try_key(tmp_path / "nowhere", PURPOSE)
    assert [] == list(tmp_path.iterdir())
    assert tmp_path / "made.json.sig" == signature_path(tmp_path / "made.json")
