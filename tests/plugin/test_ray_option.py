"""`--mixgpu-launcher=ray` and `--mixgpu-coordinator`: usage errors, and E1's rehearsal on sixteen nodes."""

import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.raynet import ROOT, RayNet, why_not

needs_cluster = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be started")
pytestmark = pytest.mark.xdist_group("ray")

_ASKS = "def test_it(gpus): assert len(gpus) == 1\n"
_ELSEWHERE = """
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device

class Elsewhere:
    def look(self):
        core = Device(id="cpu:elsewhere:0", kind="cpu", name="c", vendor="cpu", host="elsewhere", ordinal=0)
        return Inventory(devices=(core,))

def pytest_mixgpu_sources(config):
    return [Elsewhere()]
"""


def test_another_coordinator_is_refused_on_this_machine(pytester: pytest.Pytester) -> None:
    """With `local` everything runs here; the error names this host and the way out."""
    pytester.makepyfile(_ASKS)

    result = pytester.runpytest_subprocess("--gpus=cpu:1", "--mixgpu-coordinator=elsewhere")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*--mixgpu-coordinator=elsewhere:*this host, {socket.gethostname()}*ray*"])


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", socket.gethostname()])
def test_this_machine_may_be_named(pytester: pytest.Pytester, host: str) -> None:
    """By name or address."""
    pytester.makepyfile(_ASKS)

    result = pytester.runpytest_subprocess("--gpus=cpu:1", f"--mixgpu-coordinator={host}", "--mixgpu-wait=120")

    result.assert_outcomes(passed=1)


def test_a_coordinator_is_refused_where_nothing_is_measured(pytester: pytest.Pytester) -> None:
    """Records say where theirs was."""
    (pytester.path / "ledger.jsonl").touch()

    result = pytester.runpytest_subprocess("--mixgpu-records=.", "--mixgpu-coordinator=elsewhere")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--mixgpu-coordinator=elsewhere asks to make some*"])


def test_a_cluster_that_is_not_there_is_a_usage_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before any test runs; it says where was looked, and how a cluster is started."""
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    pytester.makepyfile(_ASKS)

    result = pytester.runpytest_subprocess("--gpus=cpu:1", "--mixgpu-launcher=ray")

    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*nothing answers at RAY_ADDRESS=127.0.0.1:9*ray start --head*"])


def test_the_stopwatch_refuses_a_device_of_another_host(pytester: pytest.Pytester) -> None:
    """It measures in pytest's own process, which is not there."""
    pytester.makeconftest(_ELSEWHERE)
    pytester.makepyfile("def test_it(stopwatch): pass\n")

    result = pytester.runpytest_subprocess("--gpus=cpu:1", "--mixgpu-wait=120")

    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*the stopwatch measures in this process*cpu:elsewhere:0 is on elsewhere*"])


@pytest.fixture(scope="module")
def net() -> Iterator[RayNet]:
    """Sixteen nodes: about 2 GB, and 20 seconds on an idle machine."""
    with RayNet(16) as net:
        yield net


@needs_cluster
def test_devices_of_all_nodes_are_listed(net: RayNet) -> None:
    """With the nodes that they are on."""
    done = net.python(["-m", "pytest", "--mixgpu-launcher=ray", "--mixgpu-devices"])

    assert "Devices here: cpu:32" in done.stdout, done.stdout + done.stderr
    assert all(f"node-{index} has cpu:2" in done.stdout for index in range(16))


@needs_cluster
def test_an_unknown_coordinator_lists_the_nodes(net: RayNet) -> None:
    """With the labels by which one may be named."""
    done = net.python(["-m", "pytest", "suites/e1", "--mixgpu-launcher=ray", "--mixgpu-coordinator=site=moon"])

    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no node of the cluster has the label site=moon" in done.stderr
    assert "node-15 (127.0.0.1, number=15, site=far)" in done.stderr


def _rehearsal(report: Path) -> list[str]:
    return [
        "-m",
        "pytest",
        str(ROOT / "suites" / "e1"),
        "-k",
        "fast_enough",
        "--mixgpu-launcher=ray",
        "--mixgpu-coordinator=number=7",
        "--gpus=cpu:16",
        f"--mixgpu-report={report}",
    ]


@needs_cluster
def test_sixteen_nodes_rehearse_e1_with_the_coordinator_where_it_was_asked(net: RayNet, tmp_path: Path) -> None:
    """One participant a node, each on a host of its own; updates are combined on the node with the label."""
    done = net.python(_rehearsal(tmp_path), timeout_s=900.0)

    folders = [folder for folder in (tmp_path / "runs").iterdir() if "-fleet-" in folder.name]
    assert len(folders) == 1, done.stdout + done.stderr
    lines = [json.loads(line) for line in (folders[0] / "record.jsonl").read_text().splitlines()]
    header, start = lines[0], next(line for line in lines if line["line"] == "start")
    hosts = [f"node-{index}" for index in range(16)]
    assert sorted(device["host"] for device in header["pool"]["devices"]) == sorted(hosts)
    assert header["coordinator"] == "node-7"
    assert header["launcher"] == "ray"
    assert {worker["worker"]: worker["host"] for worker in start["workers"]}["coordinator"] == "node-7"
    assert {facts["host"] for facts in start["hosts"]} >= set(hosts)
    assert lines[-1]["status"] == "completed", lines[-1]["reason"]
    assert all(share is None for line in lines if line["line"] == "round" for share in line["foreign_share"])


@needs_cluster
def test_a_node_killed_in_round_2_is_named_within_ten_seconds(net: RayNet, tmp_path: Path) -> None:
    """The fault names participant, device and host, and the round; it is the last test on this cluster."""
    process = subprocess.Popen(
        net.command([sys.executable, *_rehearsal(tmp_path)]),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env=net.environment(),
    )
    try:
        _await_round(tmp_path, process, index=1)
        killed_at = datetime.now(UTC)
        net.lose("node-5")
        process.wait(timeout=300.0)
    finally:
        process.kill()
        process.wait()

    lines = [json.loads(line) for line in _fleet_record(tmp_path).read_text().splitlines()]
    fault = next(line for line in lines if line["line"] == "fault")
    assert fault["host"] == "node-5"
    assert fault["device"] == "cpu:node-5:0"
    # What was last seen of it is up to half a second old: it may have been about to begin.
    assert fault["round_index"] in {1, 2}
    assert (datetime.fromisoformat(fault["at"]) - killed_at).total_seconds() < 10.0
    assert lines[-1]["status"] == "failed"


def _await_round(report: Path, process: subprocess.Popen[bytes], *, index: int) -> None:
    """Return when the fleet's record holds the score after that round: the next one is under way."""
    deadline_s = time.monotonic() + 600.0
    while time.monotonic() < deadline_s and process.poll() is None:
        record = _fleet_record(report)
        if record.is_file() and f'"split":"validation","after_round":{index},' in record.read_text():
            return
    raise AssertionError(f"round {index} did not come")


def _fleet_record(report: Path) -> Path:
    runs = report / "runs"
    folders = [folder for folder in runs.iterdir() if "-fleet-" in folder.name] if runs.is_dir() else []
    return folders[0] / "record.jsonl" if folders else report / "none"
