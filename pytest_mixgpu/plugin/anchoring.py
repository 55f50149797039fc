"""Keeps heads outside and signs records while a session goes on: between runs, never inside one. Imports no pytest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.errors import AnchorError, MixgpuError
from pytest_mixgpu.records.anchors.making import keep_outside, voucher_named
from pytest_mixgpu.records.anchors.statement import Statement
from pytest_mixgpu.records.attestation import NAMESPACE, attest
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.records.signatures import try_key

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_mixgpu.plugin.options import Options
    from pytest_mixgpu.records.anchors.statement import Event
    from pytest_mixgpu.records.model import RunRecord
    from pytest_mixgpu.records.store import RunStore


class Anchoring(msgspec.Struct, frozen=True, kw_only=True):
    """What a session keeps outside of one suite's ledger."""

    folder: Path
    """Of the suite."""
    suite: str
    """The plan's id."""
    lock_digest: str
    session: str
    options: Options
    say: Callable[[str], None]

    def check(self, store: RunStore) -> None:
        """See, before anything is measured or written, that it can be done.

        Raises:
            MixgpuError: it cannot; says why and what to do.
        """
        for text in self.options.anchors:
            voucher_named(text, base=self.folder).check(self.folder)
        if self.options.host_key is not None:
            try_key(self.options.host_key, NAMESPACE)
        for challenge in self.options.nonces:
            seen = {record.header.session for record in store.records() if record.header.challenge == challenge}
            seen.discard(self.session)
            if seen:
                raise AnchorError(
                    f"--mixgpu-nonce={challenge}: records of session {', '.join(sorted(seen))} in {store.folder} carry "
                    "it already, expected one that is new; ask the verifier for another"
                )

    def keep(self, event: Event, store: RunStore, *, run_id: str = "") -> None:
        """Keep the ledger's head as it is now, in every way that was asked for.

        Args:
            event: what has just happened.
            store: whose ledger it is.
            run_id: the run that it happened to.

        Raises:
            MixgpuError: it is not kept in one of these ways.
        """
        if not self.options.anchors:
            return
        reading = store.ledger.read()
        if reading.faults:
            raise AnchorError(f"{reading.faults[0]}: the head of a broken ledger is not kept")
        runs = [entry for entry in reading.entries if entry.event == "register" and entry.suite == self.suite]
        statement = Statement(
            suite=self.suite,
            event=event,
            run_id=run_id,
            ledger=reading.first,
            head=reading.head,
            count=reading.count,
            num_runs=sum(not entry.rehearsal for entry in runs),
            lock=self.lock_digest,
            at=utc_now(),
        )
        vouchers = [voucher_named(text, base=self.folder) for text in self.options.anchors]
        keep_outside(statement, self.folder, vouchers)

    def closed(self, record: RunRecord, store: RunStore) -> None:
        """Keep the head and sign the record of a run that has ended. What fails is said, and the record stays."""
        try:
            if self.options.host_key is not None:
                attest(record, store.folder, self.options.host_key)
        except MixgpuError as error:
            self.say(f"the record of run {record.id} is not signed: {error}")
        try:
            self.keep("close", store, run_id=record.id)
        except MixgpuError as error:
            self.say(f"the close of run {record.id} is not kept outside: {error}")
