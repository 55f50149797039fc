"""Was it one code from start to end: from run records to what became of the code meanwhile, in words. Pure.

A record names the code that it was registered with, the code that lay there when it ended, the files that somebody
wrote meanwhile, also those that were written back, and what each worker found on its host. A record that says nothing
of this (schema 1, or a run that never closed) is not doubted for it.
"""

from collections.abc import Iterator, Sequence

from pytest_mixgpu.marks.eligible import short
from pytest_mixgpu.records.model import RunRecord


def code_doubts(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return why it is not sure that one code produced the numbers of these runs, one sentence each."""
    return (*(text for run in runs for text in _of_run(run)), *_own_modules(runs))


def _of_run(run: RunRecord) -> Iterator[str]:
    expected = run.header.digests.code
    outcome = run.outcome
    if outcome is not None and outcome.code_digest not in {"", expected}:
        yield (
            f"run {run.id} was registered with code {short(expected)} and ended with {short(outcome.code_digest)} "
            "on disk: the code was changed under it"
        )
    if outcome is not None and outcome.code_touched:
        yield f"{_written(outcome.code_touched)} before run {run.id} ended, after its session had looked at the code"
    for workers, host, digest, touched in _by_host(run):
        if digest not in {"", expected}:
            yield (
                f"{workers} of run {run.id} found code {short(digest)} on {host}, the run was registered with "
                f"{short(expected)}"
            )
        if touched:
            yield f"{_written(touched)} while {workers} of run {run.id} started on {host}"


def _by_host(run: RunRecord) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield the workers that found the same, by name, with their host, the code's digest and what was written."""
    seen: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for worker in () if run.start is None else run.start.workers:
        seen.setdefault((worker.host, worker.code_digest, worker.code_touched), []).append(worker.worker)
    for found, workers in seen.items():
        yield ", ".join(workers), *found


def _written(names: Sequence[str]) -> str:
    return f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} written, whatever it holds now,"


def _own_modules(runs: Sequence[RunRecord]) -> Iterator[str]:
    """A user's own modules belong to no lock: all workers of all runs must have loaded the same ones."""
    seen: dict[str, dict[str, str]] = {}
    for run in runs:
        for worker in () if run.start is None else run.start.workers:
            for name, digest in worker.own_modules.items():
                seen.setdefault(name, {}).setdefault(digest, run.id)
    for name, digests in sorted(seen.items()):
        if len(digests) > 1:
            found = ", ".join(f"{short(digest)} in run {run_id}" for digest, run_id in sorted(digests.items()))
            yield f"the module {name}, which is not installed, differs between workers: {found}"
