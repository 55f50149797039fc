"""Signatures by SSH keys: from bytes to `ssh-keygen -Y sign`, and from a signature to who made it. Reads no key itself.

A signature says who, not when: whoever holds the key can sign again, and sign something else.
"""

import os
import re
import subprocess
from pathlib import Path
from typing import Final

import msgspec

from pytest_mixgpu.errors import AnchorError

SUFFIX: Final = ".sig"
_TIMEOUT_S = 60.0
_SAFE_VARIABLES = ("PATH", "HOME", "USER", "SSH_AUTH_SOCK", "SYSTEMROOT", "TMPDIR")
_KEY = re.compile(r"with (?P<type>\S+) key (?P<fingerprint>SHA256:\S+)")


class Signature(msgspec.Struct, frozen=True, kw_only=True):
    """What a signature shows. One of `signer`, `fault` and `said` is not empty."""

    signer: str = ""
    """The principal in the list of allowed signers, and the fingerprint of the key."""
    fault: str = ""
    """It was not made over these bytes for this purpose."""
    said: str = ""
    """It holds, or could not be looked at, and nobody vouches for its key."""


def sign(raw: bytes, key: Path, namespace: str) -> bytes:
    """Sign bytes with a private key, or with the key in an agent that a public key names.

    Args:
        raw: the bytes.
        key: the key's file; only `ssh-keygen` opens it.
        namespace: the purpose, so that a signature for another one does not serve.

    Raises:
        AnchorError: there is no `ssh-keygen`, or it did not sign.
    """
    if not key.is_file():
        raise AnchorError(f"{key}: there is no such key; give the file of an SSH key (make one: ssh-keygen -t ed25519)")
    done = _keygen(("sign", "-f", str(key), "-n", namespace), raw)
    if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise AnchorError(
            f"ssh-keygen did not sign with {key}: {_told(done)}. A key with a passphrase is used through an agent: "
            "ssh-add it and name its .pub file"
        )
    return done.stdout


def try_key(key: Path, namespace: str) -> None:
    """Sign something that is thrown away, so that a key that does not serve is found before anything is measured.

    Args:
        key: the key's file.
        namespace: the purpose that it is to sign for later; what is thrown away is signed for another one.

    Raises:
        AnchorError: it does not sign.
    """
    sign(b"is this key there, and does it sign without a question?\n", key, f"{namespace}-trial")


def signature_path(signed: Path) -> Path:
    """Return where the signature of a file lies: beside it."""
    return signed.with_name(signed.name + SUFFIX)


def verify(raw: bytes, signature: Path, namespace: str, signers: Path | None) -> Signature:
    """Say who signed bytes, as far as a list of allowed signers knows.

    Args:
        raw: the bytes.
        signature: the file that `sign`'s answer was written to.
        namespace: the purpose that it must have been made for.
        signers: a list as `ssh-keygen` reads it (`man ssh-keygen`, ALLOWED SIGNERS); None: nobody is allowed.
    """
    try:
        plain = _keygen(("check-novalidate", "-n", namespace, "-s", str(signature)), raw)
        if plain.returncode:
            return Signature(fault=f"the signature in {signature.name} is not one over these bytes: {_told(plain)}")
        key = _fingerprint(plain)
        if signers is None:
            return Signature(said=f"signed with the key {key}, and nobody is named who may sign: --mixgpu-signers=FILE")
        return _signer(raw, signature, namespace, signers, key)
    except AnchorError as error:
        return Signature(said=f"{signature.name} was not looked at: {error}")


def _signer(raw: bytes, signature: Path, namespace: str, signers: Path, key: str) -> Signature:
    found = _keygen(("find-principals", "-s", str(signature), "-f", str(signers)), b"")
    names = found.stdout.decode(errors="replace").splitlines() if found.returncode == 0 else []
    for name in names:
        done = _keygen(("verify", "-f", str(signers), "-I", name, "-n", namespace, "-s", str(signature)), raw)
        if done.returncode == 0:
            return Signature(signer=f"{name} ({key})")
    return Signature(said=f"signed with the key {key}, which {signers} does not allow for {namespace} today")


def _keygen(words: tuple[str, ...], raw: bytes) -> subprocess.CompletedProcess[bytes]:
    environment = {name: os.environ[name] for name in _SAFE_VARIABLES if name in os.environ}
    try:
        # In a session of its own it has no terminal to ask for a passphrase at, and fails instead of waiting.
        return subprocess.run(
            ["ssh-keygen", "-Y", *words],
            input=raw,
            env=environment | {"LC_ALL": "C", "SSH_ASKPASS_REQUIRE": "never"},
            capture_output=True,
            timeout=_TIMEOUT_S,
            check=False,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise AnchorError("ssh-keygen is not installed: install OpenSSH 8.2 or later") from error
    except (OSError, subprocess.SubprocessError) as error:
        raise AnchorError(f"ssh-keygen did not answer: {error}") from error


def _fingerprint(done: subprocess.CompletedProcess[bytes]) -> str:
    match = _KEY.search((done.stdout + done.stderr).decode(errors="replace"))
    return match["fingerprint"] if match else "unknown"


def _told(done: subprocess.CompletedProcess[bytes]) -> str:
    return " ".join((done.stderr or done.stdout).decode(errors="replace").split()) or f"exit status {done.returncode}"
