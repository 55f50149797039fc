"""`mllog`: each run as lines of `:::MLLOG`, as MLPerf's tools read them, one file a run: `fleet/result_0.txt`.

Keys are MLPerf's own as far as it has them; these files are no submission, and its rules of a division do not apply.
A run's `status` is `success` only where the plan's target was reached on the test set. A run that was not trained to
the end, that failed, or whose target nobody stated is `aborted`, and `mixgpu_status` says how it ended. Every verdict
of the suite follows the run as `mixgpu_verdict`, with all that belongs to its word.
"""

import re
import shutil
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Final

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.evidence import workload_of
from pytest_mixgpu.records.model import Evaluation, RoundLine, RunRecord
from pytest_mixgpu.report.exports.jsontext import finite, inert_json
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.stated import stated
from pytest_mixgpu.report.exports.trace_time import lease_ns, moment_ns, nanoseconds
from pytest_mixgpu.report.whole_files import replace_stream

_NO_NAME: Final = re.compile(r"[^a-z0-9]+")


def write_mllog(material: Material, folder: Path) -> None:
    """Write a file a run; files of an earlier session are removed, since nobody could tell them from these.

    Raises:
        RecordError: there is no run.
        OSError: the folder cannot be written.
    """
    if not material.records:
        raise RecordError("found no run of this suite, expected one: an MLLOG file tells of a run")
    if folder.is_dir():
        shutil.rmtree(folder)
    counts: dict[str, int] = {}
    for record in material.records:
        role = folder_name(f"{record.header.name} {record.header.leg}")
        number = counts[role] = counts.get(role, -1) + 1
        replace_stream(folder / role / f"result_{number}.txt", (f"{line}\n" for line in mllog_lines(material, record)))


def folder_name(text: str) -> str:
    """Make a folder's name of a text: letters, digits and hyphens, so that it is no path and no option."""
    return _NO_NAME.sub("-", text.lower())[:60].strip("-") or "run"


def mllog_lines(material: Material, record: RunRecord) -> Iterator[str]:
    """Write one run, line by line, in the order of time."""
    log = _Log(lease_ns(record))
    yield from _opening(log, record)
    yield from _rounds(log, record)
    yield from _closing(log, record, _target(material, record))
    for verdict in material.verdicts:
        metadata = {"is_evidence": record.id in verdict.run_ids} | stated(verdict)
        yield log.point("mixgpu_verdict", verdict.word, metadata, at=material.occasion.made_at)


class _Log:
    """Writes lines whose time never goes back; what has no moment of its own happened with what came before."""

    def __init__(self, start_ns: int | None) -> None:
        self._now_ms = max(0, (start_ns or 0) // 1_000_000)

    def point(self, key: str, value: object, metadata: object = None, *, at: str = "") -> str:
        return self._line("POINT_IN_TIME", key, value, metadata, moment_ns(at))

    def start(self, key: str, metadata: object = None, *, at: str = "") -> str:
        return self._line("INTERVAL_START", key, None, metadata, moment_ns(at))

    def stop(self, key: str, metadata: object = None, *, at: str = "", after_s: float = 0.0) -> str:
        at_ns = moment_ns(at)
        after_ns = nanoseconds(after_s) or 0
        if at_ns is None:
            at_ns = self._now_ms * 1_000_000
        return self._line("INTERVAL_END", key, None, metadata, at_ns + after_ns)

    def _line(self, event: str, key: str, value: object, metadata: object, at_ns: int | None) -> str:
        self._now_ms = max(self._now_ms, 0 if at_ns is None else at_ns // 1_000_000)
        content = {
            "namespace": "",
            "time_ms": self._now_ms,
            "event_type": event,
            "key": key,
            "value": value,
            "metadata": metadata or {},
        }
        return f":::MLLOG {inert_json(content)}"


def _opening(log: _Log, record: RunRecord) -> Iterator[str]:
    header, settings, start = record.header, record.header.settings, record.start
    yield log.point("submission_benchmark", settings.workload)
    yield log.point("submission_platform", header.pool.spec)
    yield log.point("submission_status", "research")
    yield log.start("init_start", {"run_id": record.id, "record_sha256": record.digest})
    yield log.point("seed", header.seed, {"repeat": header.repeat})
    num_workers = max((len(line.participants) for line in record.rounds), default=len(header.pool))
    yield log.point(
        "global_batch_size",
        settings.batch_size * num_workers,
        {"batch_size": settings.batch_size, "participants": num_workers, "steps_of_a_round": settings.round_steps},
    )
    yield from _optimizer(log, settings.recipe.get("optimizer"))
    if start is not None:
        yield log.point("train_samples", start.data_counts.get("train", 0))
        yield log.point("eval_samples", start.data_counts.get("test", 0), {"split": "test"})
        yield log.stop("init_stop", at=start.started_at)


def _optimizer(log: _Log, optimizer: object) -> Iterator[str]:
    """State what a recipe says in plain words; it is free to say it otherwise."""
    if not isinstance(optimizer, dict):
        return
    keys = {"name": "opt_name", "learning_rate": "opt_base_learning_rate", "weight_decay": "opt_weight_decay"}
    for name, key in keys.items():
        value = optimizer.get(name)
        if isinstance(value, str | int | float):
            yield log.point(key, value)


def _rounds(log: _Log, record: RunRecord) -> Iterator[str]:
    begun = record.rounds[0].started_at if record.rounds else ""
    yield log.start("run_start", at=begun)
    evaluations: dict[int, list[Evaluation]] = {}
    for evaluation in record.evaluations:
        evaluations.setdefault(evaluation.after_round, []).append(evaluation)
    num_seen = 0
    for line in record.rounds:
        yield from _round(log, line, num_seen)
        num_seen += sum(line.samples)
        yield from chain.from_iterable(_evaluation(log, record, one) for one in evaluations.pop(line.index, ()))
    # Scores after rounds that the record does not have: told all the same, since nothing is kept back.
    for left in evaluations.values():
        yield from chain.from_iterable(_evaluation(log, record, one) for one in left)


def _round(log: _Log, line: RoundLine, num_seen: int) -> Iterator[str]:
    place = {"step_num": line.index, "warmup": line.warmup}
    yield log.start("block_start", place | {"samples_count": num_seen}, at=line.started_at)
    num_seen += sum(line.samples)
    yield log.stop("block_stop", place | {"samples_count": num_seen}, at=line.started_at, after_s=line.round_s)


def _evaluation(log: _Log, record: RunRecord, evaluation: Evaluation) -> Iterator[str]:
    place: dict[str, object] = {"samples_count": evaluation.samples_seen, "split": evaluation.split}
    num_train = 0 if record.start is None else record.start.data_counts.get("train", 0)
    if num_train > 0:
        place["epoch_num"] = evaluation.samples_seen / num_train
    yield log.start("eval_start", place)
    if evaluation.num_total > 0:
        counts = {"num_correct": evaluation.num_correct, "num_total": evaluation.num_total}
        yield log.point("eval_accuracy", evaluation.num_correct / evaluation.num_total, place | counts)
    yield log.stop("eval_stop", place, after_s=evaluation.duration_s)


def _closing(log: _Log, record: RunRecord, target: float | None) -> Iterator[str]:
    test = record.test
    reached = (
        record.status == "completed"
        and test is not None
        and target is not None
        and test.num_total > 0
        and test.num_correct / test.num_total >= target
    )
    for fault in record.faults:
        yield log.point(
            "mixgpu_fault",
            fault.message,
            {"worker": fault.worker, "device": fault.device, "host": fault.host, "phase": fault.phase},
            at=fault.at,
        )
    metadata = {
        "status": "success" if reached else "aborted",
        "mixgpu_status": record.status,
        "mixgpu_reason": "" if record.outcome is None else record.outcome.reason,
        "mixgpu_role": record.header.role,
        "rehearsal": record.header.rehearsal,
        "target": finite(target),
    }
    yield log.stop("run_stop", metadata)


def _target(material: Material, record: RunRecord) -> float | None:
    """Give the share of the test set that this run's workload has to get right; None where nobody stated one."""
    workload = workload_of(material.plan, [record], rehearsal=record.header.rehearsal)
    return None if workload is None else workload.target
