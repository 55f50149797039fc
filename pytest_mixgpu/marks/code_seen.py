"""Was it one code from start to end: from run records to what became of the code meanwhile, in words. Pure.

A record names the code that it was registered with, the code that lay there when it ended, the files that somebody
wrote meanwhile, also those that were written back, and what each worker found on its host. A record that says nothing
of this (schema 1, or a run that never closed) is not doubted for it.
"""

from collections.abc import Iterator, Sequence

from pytest_mixgpu.marks.differences import short
from pytest_mixgpu.records.model import RunRecord

_MANY = 3
"""So many runs are named; of the others, how many there are."""


def code_doubts(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return why it is not sure that one code produced the numbers of these runs, one sentence each."""
    return (*_changed(runs), *_written(runs), *_elsewhere(runs), *_own_modules(runs))


def _changed(runs: Sequence[RunRecord]) -> Iterator[str]:
    for run in runs:
        then, now = run.header.digests.code, "" if run.outcome is None else run.outcome.code_digest
        if now not in {"", then}:
            yield (
                f"run {run.id} was registered with code {short(then)} and ended with {short(now)} on disk: the code "
                "was changed under it"
            )


def _written(runs: Sequence[RunRecord]) -> Iterator[str]:
    """A session that goes on after an edit has loaded files of before and of after it, whatever they hold now."""
    seen: dict[str, list[str]] = {}
    for run in runs:
        for name in () if run.outcome is None else run.outcome.code_touched:
            seen.setdefault(name, []).append(run.id)
    for name, ids in seen.items():
        more = f" and {len(ids) - _MANY} more" if len(ids) > _MANY else ""
        ended = f"run {ids[0]}" if len(ids) == 1 else f"{len(ids)} runs"
        named = "" if len(ids) == 1 else f": {', '.join(ids[:_MANY])}{more}"
        yield (
            f"{name} was written, whatever it holds now, after the session had looked at the code and before "
            f"{ended} ended{named}"
        )


def _elsewhere(runs: Sequence[RunRecord]) -> Iterator[str]:
    """What workers found on their hosts, as far as the run's own host does not say it."""
    for run in runs:
        said = () if run.outcome is None else run.outcome.code_touched
        for workers, host, digest, touched in _by_host(run):
            if digest not in {"", run.header.digests.code}:
                yield (
                    f"{workers} of run {run.id} found code {short(digest)} on {host}, the run was registered with "
                    f"{short(run.header.digests.code)}"
                )
            for name in touched:
                if name not in said:
                    yield f"{name} was written, whatever it holds now, while {workers} of run {run.id} began on {host}"


def _by_host(run: RunRecord) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """Yield the workers that found the same, by name, with their host, the code's digest and what was written."""
    seen: dict[tuple[str, str, tuple[str, ...]], list[str]] = {}
    for worker in () if run.start is None else run.start.workers:
        seen.setdefault((worker.host, worker.code_digest, worker.code_touched), []).append(worker.worker)
    for found, workers in seen.items():
        yield ", ".join(workers), *found


def _own_modules(runs: Sequence[RunRecord]) -> Iterator[str]:
    """A user's own modules belong to no run's code: whoever loaded one must have loaded the same."""
    seen: dict[str, dict[str, str]] = {}
    for run in runs:
        for name, digest in run.header.job_modules.items():
            seen.setdefault(name, {}).setdefault(digest, run.id)
        for worker in () if run.start is None else run.start.workers:
            for name, digest in worker.own_modules.items():
                seen.setdefault(name, {}).setdefault(digest, run.id)
    for name, digests in sorted(seen.items()):
        if len(digests) > 1:
            found = ", ".join(f"{short(digest)} in run {run_id}" for digest, run_id in sorted(digests.items()))
            yield f"the module {name}, which is not installed, differs between workers: {found}"
