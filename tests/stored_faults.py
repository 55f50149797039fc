"""What a session that judges from records finds wrong with a report folder, one sentence each."""

from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.records.store import RunStore


def faults_of(store: RunStore, suite: str = "e1") -> tuple[str, ...]:
    """Return faults of the chain, of records and their files, and of runs that are gone.

    Args:
        store: the report folder.
        suite: whose runs are looked at; the chain is always looked at whole.
    """
    found = read_runs((store.folder,), suite)
    sealed = [fault for faults in found.seals.values() for fault in faults]
    gone = [fault for lost in found.lost if lost.was_closed for fault in lost.faults]
    return (*found.ledger.faults, *sealed, *gone)
