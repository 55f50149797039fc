"""The flags: from pytest's parser to one frozen `Options`. Probes nothing and imports no other room."""

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

MARKERS = (
    (
        "passmark(id, *, metric, at_least|at_most|within, unit, of=None, pool=None): a bound on one metric, "
        "frozen in passmarks.lock; judged in the test's body by passmark.judge(...)"
    ),
    "claim(id, *, checks): a checklist item without a number; judged in the test's body by claim.judge(...)",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What the command line asked for."""

    gpus: str | None
    launcher: str
    workload: str | None
    data: Path | None
    runs: int | None
    split: str | None
    records: tuple[Path, ...]
    report: Path
    wait_s: float
    official: bool
    freeze: bool
    amend: tuple[str, ...]
    why: str | None

    @property
    def edits_lock(self) -> bool:
        """Whether this session writes a lock instead of running tests."""
        return self.freeze or bool(self.amend)


def add(parser: pytest.Parser) -> None:
    """Declare every flag; `--gpus` is the only short one, all others carry our prefix."""
    group = parser.getgroup("mixgpu", "GPU pools and pass marks (pytest-mixgpu)")
    group.addoption(
        "--gpus",
        metavar="SPEC",
        help="pool of devices: a40:16 · a40:1,rtx4090:1,mi300x:1 · cuda:4 · rocm:all · cpu:2 · auto "
        "(default: the plan's rehearsal pool, else auto)",
    )
    group.addoption("--mixgpu-devices", action="store_true", help="list what is here, as kinds and names, and exit")
    group.addoption(
        "--mixgpu-launcher", choices=("local",), default="local", help="where participants run (default: local)"
    )
    group.addoption(
        "--mixgpu-workload", metavar="NAME", help="recipe of model and data in place of the plan's or the rehearsal's"
    )
    group.addoption(
        "--mixgpu-data", metavar="DIR", help="where data sets and weights lie (default: $MIXGPU_DATA, else data/)"
    )
    group.addoption(
        "--mixgpu-runs", metavar="N", type=_positive, help="runs of each role in this session (default: the plan's)"
    )
    group.addoption(
        "--mixgpu-split",
        choices=("equal", "speed"),
        help="shares of the participants: equal, or in proportion to measured solo speed (default: the plan's)",
    )
    group.addoption(
        "--mixgpu-records",
        metavar="DIR",
        action="append",
        default=[],
        help="judge the runs of this report folder instead of measuring; may be given again",
    )
    group.addoption(
        "--mixgpu-report", metavar="DIR", help="where runs, ledger and reports go (default: reports/ under the rootdir)"
    )
    group.addoption(
        "--mixgpu-wait",
        metavar="SECONDS",
        type=_not_negative,
        default=0.0,
        help="wait this long for a busy device instead of refusing (default: 0)",
    )
    group.addoption(
        "--mixgpu-official",
        action="store_true",
        help="fail on any qualifier, on inconclusive, disturbed, code-changed and unanchored verdicts, and on a frozen "
        "mark or claim that was not judged",
    )
    group.addoption("--passmark-freeze", action="store_true", help="write new marks and claims to passmarks.lock")
    group.addoption(
        "--passmark-amend",
        metavar="ID",
        action="append",
        default=[],
        help="change a frozen mark or claim, or `plan`, to what marker and plan now say; needs --passmark-why",
    )
    group.addoption("--passmark-why", metavar="TEXT", help="the reason of an amendment, kept in the lock for ever")


def read(config: pytest.Config) -> Options:
    """Collect the flags into one value and refuse combinations that contradict each other."""
    get = config.getoption
    report = get("--mixgpu-report")
    data = get("--mixgpu-data")
    options = Options(
        gpus=get("--gpus"),
        launcher=get("--mixgpu-launcher"),
        workload=get("--mixgpu-workload"),
        data=None if data is None else _from_invocation(config, data),
        runs=get("--mixgpu-runs"),
        split=get("--mixgpu-split"),
        records=tuple(_from_invocation(config, folder) for folder in get("--mixgpu-records")),
        report=config.rootpath / "reports" if report is None else _from_invocation(config, report),
        wait_s=get("--mixgpu-wait"),
        official=get("--mixgpu-official"),
        freeze=get("--passmark-freeze"),
        amend=tuple(get("--passmark-amend")),
        why=get("--passmark-why"),
    )
    _refuse_contradictions(options)
    return options


def _refuse_contradictions(options: Options) -> None:
    if options.records:
        for flag, value in _measuring_flags(options).items():
            if value is not None:
                raise pytest.UsageError(
                    f"--mixgpu-records judges runs that were made before, and {flag}={value} asks to make some: "
                    "leave one of them out"
                )
        for folder in options.records:
            if not (folder / "ledger.jsonl").is_file():
                raise pytest.UsageError(f"--mixgpu-records={folder}: there is no ledger.jsonl in that folder")
    if options.amend and not (options.why and options.why.strip()):
        raise pytest.UsageError(f"--passmark-amend={options.amend[0]} needs its reason: add --passmark-why='…'")
    if options.why is not None and not options.amend:
        raise pytest.UsageError("--passmark-why gives the reason of an amendment: add --passmark-amend=ID")
    if options.freeze and options.amend:
        raise pytest.UsageError(
            "--passmark-freeze writes new marks, --passmark-amend changes frozen ones: one at a time"
        )


def _measuring_flags(options: Options) -> Mapping[str, object]:
    return {
        "--gpus": options.gpus,
        "--mixgpu-workload": options.workload,
        "--mixgpu-runs": options.runs,
        "--mixgpu-split": options.split,
    }


def _from_invocation(config: pytest.Config, text: str) -> Path:
    return (config.invocation_params.dir / text).resolve()


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of runs: a whole number from 1 on is expected")
    return int(text)


def _not_negative(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds: 0 or more is expected")
    return value
