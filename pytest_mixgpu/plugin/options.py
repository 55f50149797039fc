"""The flags: from pytest's parser to one frozen `Options`. Probes nothing and imports no other room."""

import argparse
import re
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_mixgpu.plugin.contradictions import refuse_contradictions

EXPORTS = ("summary", "trace", "mllog", "openmetrics", "in-toto")
"""Formats that there are; `report.exports.registry`, which is not imported when pytest starts, writes them."""

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
    coordinator: str | None
    """Host, address or Ray node label of the node that combines updates; None is this host."""
    workload: str | None
    job: str | None
    """`module:factory` of a user's own job; None is the plan's."""
    root: Path
    """Of the project: where a user's own modules are looked for after the suite's folder."""
    data: Path | None
    runs: int | None
    split: str | None
    records: tuple[Path, ...]
    report: Path
    wait_s: float
    kinds: Path | None
    """A user's file of further kinds."""
    leases: Path | None
    """Folder of the locks; None is the environment's, else the one that all users share."""
    official: bool
    anchors: tuple[str, ...]
    """How the ledger's head is kept outside: `git`, `ssh:` with a key's path, `tsa:` with an address."""
    signers: Path | None
    tsa_ca: Path | None
    nonces: tuple[str, ...]
    """Challenges of a verifier: one for the records to come, any number for those that are judged."""
    host_key: Path | None
    freeze: bool
    amend: tuple[str, ...]
    why: str | None
    plan: bool
    exports: tuple[str, ...]
    """Formats to write beside the page."""

    @property
    def edits_lock(self) -> bool:
        """Whether this session writes a lock instead of running tests."""
        return self.freeze or bool(self.amend)

    @property
    def runs_no_test(self) -> bool:
        """Whether this session only writes a lock, or only says what the marks need."""
        return self.edits_lock or self.plan


def add(parser: pytest.Parser) -> None:
    """Declare every flag; `--gpus` is the only short one, all others carry our prefix."""
    group = parser.getgroup("mixgpu", "GPU pools and pass marks (pytest-mixgpu)")
    group.addoption(
        "--gpus",
        metavar="SPEC",
        help="pool of devices: a40:16 · a40:1,rtx4090:1,mi300x:1 · cuda:4 · rocm:all · cpu:2 · auto "
        "(default: the plan's rehearsal pool, else auto)",
    )
    group.addoption(
        "--mixgpu-kinds", metavar="FILE", help="further kinds of devices, with their names and published limits (TOML)"
    )
    group.addoption("--mixgpu-devices", action="store_true", help="list what is here, as kinds and names, and exit")
    group.addoption(
        "--mixgpu-launcher",
        choices=("local", "ray"),
        default="local",
        help="where participants run: this machine, or the nodes of the Ray cluster that RAY_ADDRESS names "
        "(default: local)",
    )
    group.addoption(
        "--mixgpu-coordinator",
        metavar="HOST",
        help="where updates are combined: a node's host name, its address, or a Ray node label KEY=VALUE (default: "
        "this host)",
    )
    group.addoption(
        "--mixgpu-workload", metavar="NAME", help="recipe of model and data in place of the plan's or the rehearsal's"
    )
    group.addoption(
        "--mixgpu-job",
        metavar="MODULE:FACTORY",
        help="a training job of your own in place of ours, looked for in the suite's folder and the rootdir too; where "
        "the plan names another one, or none, its runs are no more than a rehearsal",
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
        "--mixgpu-compare",
        metavar="A,B",
        help="put the verdicts of two report folders of one suite side by side, write compare.html, and exit; refuses "
        "what is not the same experiment but for its pool, and names the field",
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
        "--mixgpu-leases",
        metavar="DIR",
        help="folder of the device locks, one and the same for all who must not use a device at once "
        "(default: $MIXGPU_LEASES, else pytest-mixgpu-leases in /tmp)",
    )
    group.addoption(
        "--mixgpu-official",
        action="store_true",
        help="fail on any qualifier, on inconclusive, disturbed, code-changed, unanchored, committed-late and "
        "unwitnessed verdicts, and on a frozen mark or claim that was not judged",
    )
    _add_outside(group)
    group.addoption("--passmark-freeze", action="store_true", help="write new marks and claims to passmarks.lock")
    group.addoption(
        "--passmark-amend",
        metavar="ID",
        action="append",
        default=[],
        help="change a frozen mark or claim, or `plan`, to what marker and plan now say; needs --passmark-why",
    )
    group.addoption("--passmark-why", metavar="TEXT", help="the reason of an amendment, kept in the lock for ever")
    group.addoption(
        "--passmark-plan",
        action="store_true",
        help="say how many runs the frozen marks need, on which pools, and what they could show; makes no run",
    )
    group.addoption(
        "--passmark-export",
        metavar="KIND",
        action="append",
        choices=EXPORTS,
        default=[],
        help=f"also write results as KIND, below the suite's report folder; may be given again: {', '.join(EXPORTS)}",
    )


def _add_outside(group: pytest.OptionGroup) -> None:
    """Declare what keeps heads of the ledger outside of it, and what signs records."""
    group.addoption(
        "--mixgpu-anchor",
        metavar="git|ssh:KEYFILE|tsa:URL",
        type=_anchor,
        action="append",
        default=[],
        help="keep the ledger's head outside at freeze, before each run is launched and when it has closed: commit it "
        "to git, sign it with an SSH key, or have it stamped (RFC 3161); may be given again",
    )
    group.addoption(
        "--mixgpu-signers",
        metavar="FILE",
        help="who may sign heads and records: allowed signers as ssh-keygen reads them",
    )
    group.addoption("--mixgpu-tsa-ca", metavar="FILE", help="certificates (PEM) of authorities that may stamp heads")
    group.addoption(
        "--mixgpu-nonce",
        metavar="HEX",
        type=_challenge,
        action="append",
        default=[],
        help="a verifier's challenge, new for each session: stands in the records that are made; with --mixgpu-records "
        "the challenge that was handed out, and may be given again",
    )
    group.addoption(
        "--mixgpu-host-key",
        metavar="FILE",
        help="SSH key of this host: signs each record with the challenge when its run has closed",
    )


def read(config: pytest.Config) -> Options:
    """Collect the flags into one value and refuse combinations that contradict each other."""
    get = config.getoption
    report = get("--mixgpu-report")
    data = get("--mixgpu-data")
    leases = get("--mixgpu-leases")
    options = Options(
        gpus=get("--gpus"),
        launcher=get("--mixgpu-launcher"),
        coordinator=get("--mixgpu-coordinator"),
        workload=get("--mixgpu-workload"),
        job=get("--mixgpu-job"),
        root=config.rootpath,
        data=None if data is None else _from_invocation(config, data),
        runs=get("--mixgpu-runs"),
        split=get("--mixgpu-split"),
        records=tuple(_from_invocation(config, folder) for folder in get("--mixgpu-records")),
        report=config.rootpath / "reports" if report is None else _from_invocation(config, report),
        wait_s=get("--mixgpu-wait"),
        kinds=_file(config, "--mixgpu-kinds"),
        leases=None if leases is None else _unresolved(config, leases),
        official=get("--mixgpu-official"),
        anchors=tuple(dict.fromkeys(_from_there(config, text) for text in get("--mixgpu-anchor"))),
        signers=_file(config, "--mixgpu-signers"),
        tsa_ca=_file(config, "--mixgpu-tsa-ca"),
        nonces=tuple(dict.fromkeys(get("--mixgpu-nonce"))),
        host_key=_file(config, "--mixgpu-host-key"),
        freeze=get("--passmark-freeze"),
        amend=tuple(get("--passmark-amend")),
        why=get("--passmark-why"),
        plan=get("--passmark-plan"),
        exports=tuple(dict.fromkeys(get("--passmark-export"))),
    )
    refuse_contradictions(options)
    return options


def _from_invocation(config: pytest.Config, text: str) -> Path:
    return (config.invocation_params.dir / text).resolve()


def _unresolved(config: pytest.Config, text: str) -> Path:
    """A path whose last part is not followed, should it be a link."""
    return (config.invocation_params.dir / text).absolute()


def _file(config: pytest.Config, flag: str) -> Path | None:
    text = config.getoption(flag)
    if text is None:
        return None
    path = _from_invocation(config, text)
    if not path.is_file():
        raise pytest.UsageError(f"{flag}={text}: there is no such file")
    return path


def _from_there(config: pytest.Config, text: str) -> str:
    """The path of a key is relative to where pytest was started, also in xdist's workers."""
    kind, _, what = text.partition(":")
    return f"ssh:{_from_invocation(config, str(Path(what).expanduser()))}" if kind == "ssh" else text


def _anchor(text: str) -> str:
    kind, _, what = text.partition(":")
    is_known = text == "git" or (kind == "ssh" and what) or (kind == "tsa" and what.startswith(("http://", "https://")))
    if not is_known:
        # Not the text itself: an address may hold a password.
        raise argparse.ArgumentTypeError(f"found {kind!r}, expected git, ssh:KEYFILE or tsa:http(s)://…")
    return text


def _challenge(text: str) -> str:
    if not re.fullmatch(r"[0-9a-fA-F]{16,128}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is no challenge: 16 to 128 hexadecimal digits are expected")
    return text.lower()


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
