"""Makes anchors: from a ledger's state to a statement that each chosen voucher vouches for. Judges nothing."""

from collections.abc import Sequence
from pathlib import Path

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.anchors.git import GitVoucher
from pytest_mixgpu.records.anchors.model import Voucher
from pytest_mixgpu.records.anchors.rfc3161 import TsaVoucher
from pytest_mixgpu.records.anchors.ssh import SshVoucher
from pytest_mixgpu.records.anchors.statement import FOLDER, Statement, encode_statement, name_of

WAYS = "git, ssh:KEYFILE or tsa:URL"


def voucher_named(text: str, *, base: Path) -> Voucher:
    """Return the way to have statements vouched for that a text names.

    Args:
        text: `git`, `ssh:KEYFILE` or `tsa:URL`.
        base: what the path of a key is relative to.

    Raises:
        AnchorError: it names none.
    """
    kind, _, what = text.partition(":")
    if text == "git":
        return GitVoucher()
    if kind == "ssh" and what:
        return SshVoucher((base / Path(what).expanduser()).absolute())
    if kind == "tsa" and what:
        return TsaVoucher(what)
    raise AnchorError(f"found the anchor {kind!r}, expected {WAYS}")


def keep_outside(statement: Statement, suite: Path, vouchers: Sequence[Voucher]) -> Path:
    """Write a statement into a suite's folder of anchors and have it vouched for.

    Args:
        statement: of the ledger as it is now.
        suite: the suite's folder.
        vouchers: in any order; commits come last, so that they hold what the others wrote.

    Returns:
        The statement's file.

    Raises:
        AnchorError: one of them did not vouch. What others did stays; a statement that none vouches for is removed.
    """
    folder = suite / FOLDER
    path = folder / name_of(statement)
    vouched = False
    try:
        folder.mkdir(exist_ok=True)
        path.write_bytes(encode_statement(statement))
        for voucher in sorted(vouchers, key=lambda one: one.kind == "git"):
            voucher.vouch(path)
            vouched = True
    except OSError as error:
        raise AnchorError(f"{path} cannot be written: {error}") from error
    finally:
        if not vouched:
            path.unlink(missing_ok=True)
    return path
