"""`in-toto`: the verdicts as an in-toto statement, to be signed by whoever stands behind them.

Its subjects are files by their SHA-256: every run's record, each ledger and the lock. Its predicate, of the type
`PREDICATE_TYPE`, states what was found in them; in-toto's own `test-result` has no place for a measurement.

The predicate, version 1. Fields are added, never renamed or removed; absent means not known:

- `suite`, `session`, `judgedAt` (UTC, ISO 8601), `mode` (`measured`, or `records`: judged again), `question`
- `judge`: name and version of this package
- `result`: `passed`, `qualified` (passed, but at least one verdict is no plain pass) or `failed`
- `verdicts`: for each mark and claim `id`, `is_claim`, `word`, `qualifiers`, `notes`, `reason`; for a mark `metric`,
  `value`, `comparator`, `bound`, `bound_origin`, `unit`, `n`, `low`, `high`, `run_values`, `interval`,
  `interval_method`, `resolvable` and `pool`; where there are any `details`, `follows_from`, `remedy`, `run_ids`,
  `frozen_at`, `amendments` and `witness`. A number that is not finite is null.
- `materials`: `lockDigest` (of the lock's chain, as verdicts name it), `ledgerHead` and `ledgerEntries`
- `runs`: for each run `id`, `role`, `status`, `rehearsal` and whether its record `is_evidence`
"""

import hashlib
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.store import RECORD_NAME
from pytest_mixgpu.report.exports.jsontext import inert_json, inert_text
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.stated import stated_verdicts
from pytest_mixgpu.report.verdict_rows import status_of
from pytest_mixgpu.report.whole_files import replace_stream

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PACKAGE: Final = "pytest-mixgpu"
PREDICATE_TYPE: Final = "https://pypi.org/project/pytest-mixgpu/#verdicts-v1"


def write_statement(material: Material, path: Path) -> None:
    """Write the statement.

    Raises:
        RecordError: there is no file that it could be about.
        OSError: a file cannot be read, or the statement not be written.
    """
    replace_stream(path, [inert_json(statement_of(material), indent=1), "\n"])


def statement_of(material: Material) -> dict[str, object]:
    """Make the statement of plain values.

    Raises:
        RecordError: there is no file that it could be about.
    """
    subjects = [{"name": inert_text(name), "digest": {"sha256": digest}} for name, digest in _subjects(material)]
    if not subjects:
        raise RecordError(
            "found no record, ledger or lock of this suite, expected one: a statement is about files. "
            "Freeze the suite's marks (--passmark-freeze), or make a run"
        )
    return {
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": PREDICATE_TYPE,
        "predicate": _predicate(material),
    }


def _subjects(material: Material) -> Iterator[tuple[str, str]]:
    """Name each file as it is called below its report folder, never where it lies on one machine."""
    if material.lock is not None and material.lock.is_file():
        yield material.lock.name, _sha256(material.lock)
    several = len(material.folders) > 1
    for number, folder in enumerate(material.folders, start=1):
        ledger = folder / "ledger.jsonl"
        if ledger.is_file():
            yield (f"{number}/{ledger.name}" if several else ledger.name), _sha256(ledger)
    for record in material.records:
        yield f"runs/{record.id}/{RECORD_NAME}", record.digest


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _predicate(material: Material) -> dict[str, object]:
    occasion, verdicts = material.occasion, material.verdicts
    evidence = {run_id for verdict in verdicts for run_id in verdict.run_ids}
    return {
        "suite": occasion.suite,
        "session": occasion.session,
        "judgedAt": occasion.made_at,
        "mode": occasion.mode,
        "question": "" if material.plan is None else " ".join(material.plan.question.split()),
        "judge": {"name": PACKAGE, "version": _version()},
        "result": _result(material),
        "verdicts": stated_verdicts(verdicts),
        "materials": {
            "lockDigest": sorted({verdict.lock_digest for verdict in verdicts if verdict.lock_digest}),
            "ledgerHead": sorted({verdict.ledger_head for verdict in verdicts if verdict.ledger_head}),
            "ledgerEntries": max((verdict.ledger_count for verdict in verdicts), default=0),
        },
        "runs": [
            {
                "id": record.id,
                "role": record.header.role,
                "status": record.status,
                "rehearsal": record.header.rehearsal,
                "is_evidence": record.id in evidence,
            }
            for record in material.records
        ],
    }


def _version() -> str:
    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        return ""


def _result(material: Material) -> str:
    statuses = {status_of(verdict) for verdict in material.verdicts}
    if not statuses or "failed" in statuses:
        return "failed"
    return "passed" if statuses == {"passed"} else "qualified"
