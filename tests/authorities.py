"""Who can vouch for something in tests: SSH keys made on the spot, and a timestamp authority on this machine.

The authority is a server whose every answer is made by `openssl ts` with a certificate of a throw-away root.
"""

import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

needs_ssh_keygen = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")

NAMESPACES = "pytest-mixgpu-anchor,pytest-mixgpu-record"
CONFIGURATION = """
[req]
distinguished_name = name
[name]
[root]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
[leaf]
basicConstraints = CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = critical,timeStamping
[tsa]
serial = serial
crypto_device = builtin
signer_digest = sha256
default_policy = 1.2.3.4.1
digests = sha256,sha384,sha512
ordering = no
tsa_name = no
ess_cert_id_chain = no
"""


class Authority(NamedTuple):
    """A timestamp authority that answers as long as the test runs."""

    url: str
    root: Path
    """Its root's certificate."""

    @property
    def flag(self) -> str:
        return f"--mixgpu-anchor=tsa:{self.url}"


def make_key(folder: Path, name: str = "key") -> Path:
    """Make an SSH key without a passphrase."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(path)], check=True, capture_output=True
    )
    return path


def allow(path: Path, **keys: Path) -> Path:
    """Write a list of allowed signers: by principal, the private key whose public half may sign."""
    lines = []
    for principal, key in keys.items():
        kind, public, *_ = key.with_name(f"{key.name}.pub").read_text("utf-8").split()
        lines.append(f'{principal} namespaces="{NAMESPACES}" {kind} {public}\n')
    path.write_text("".join(lines), "utf-8")
    return path


@contextmanager
def authority(folder: Path) -> Iterator[Authority]:
    """Run a timestamp authority in this process until the block ends."""
    folder.mkdir(parents=True, exist_ok=True)
    _make_certificates(folder)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            answer = _stamped(folder, query)
            self.send_response(200)
            self.send_header("Content-Type", "application/timestamp-reply")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the base class's own word)
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield Authority(url=f"http://127.0.0.1:{server.server_port}", root=folder / "root.pem")
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _make_certificates(folder: Path) -> None:
    (folder / "openssl.cnf").write_text(CONFIGURATION, "utf-8")
    (folder / "serial").write_text("01\n", "utf-8")
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", "openssl.cnf")
    root = ("-x509", "-extensions", "root", "-subj", "/CN=Throw-away root", "-days", "3650")
    _openssl(folder, "req", *new, *root, "-keyout", "root.key", "-out", "root.pem")
    _openssl(folder, "req", *new, "-subj", "/CN=Throw-away clock", "-keyout", "leaf.key", "-out", "leaf.csr")
    signed = ("-CA", "root.pem", "-CAkey", "root.key", "-set_serial", "2", "-days", "3650")
    extensions = ("-extfile", "openssl.cnf", "-extensions", "leaf")
    _openssl(folder, "x509", "-req", "-in", "leaf.csr", *signed, *extensions, "-out", "leaf.pem")


def _stamped(folder: Path, query: bytes) -> bytes:
    (folder / "query.tsq").write_bytes(query)
    signer = ("-signer", "leaf.pem", "-inkey", "leaf.key")
    how = ("-config", "openssl.cnf", "-section", "tsa", "-queryfile", "query.tsq")
    _openssl(folder, "ts", "-reply", *how, *signer, "-out", "answer.tsr")
    return (folder / "answer.tsr").read_bytes()


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
