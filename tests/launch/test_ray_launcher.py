"""Workers on a Ray cluster of three nodes: the same words and the same blame as on one machine, and nothing left."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from tests.raynet import ROOT, RayNet, why_not

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be started"),
    pytest.mark.xdist_group("ray"),
]

_SCENES = "tests.launch.ray_scenes"


@pytest.fixture(scope="module")
def net() -> Iterator[RayNet]:
    """A cluster of three nodes for the tests of this file."""
    with RayNet(3) as net:
        yield net


def play(net: RayNet, scene: str, *arguments: str, **environment: str) -> list[dict[str, object]]:
    """Run a scene to its end and return what it said."""
    done = net.python(["-m", _SCENES, scene, *arguments], timeout_s=120.0, **environment)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_workers_answer_from_their_nodes_in_order(net: RayNet) -> None:
    """One node a worker; words to one worker arrive in the order in which they were said; logs come back."""
    (said,) = play(net, "answers")

    assert said["hosts"] == ["node-0", "node-1", "node-2"]
    assert said["ready"] == ["coordinator", "participant-0", "participant-1"]
    assert said["numbers"] == list(range(20))
    assert said["logs"] == ["coordinator.log", "participant-0.log", "participant-1.log"]


@pytest.mark.parametrize(
    ("entry", "payload", "reason"),
    [
        pytest.param("raise_value_error", {}, "raised ValueError: the batch is empty; in phase compute of round 3"),
        pytest.param("kill_itself", {"signal": 9}, "was killed by SIGKILL; in phase send of round 7"),
        pytest.param("kill_itself", {"signal": 19}, "its process is stopped (SIGSTOP); in phase send of round 7"),
        pytest.param("work_in_silence", {"phase": "compute"}, "made no progress for"),
    ],
    ids=["raises", "killed", "stopped", "hangs"],
)
def test_a_worker_at_fault_is_named(net: RayNet, entry: str, payload: dict[str, object], reason: str) -> None:
    """Worker, device, host, reason, phase and round: the sentence that the local launcher says."""
    (said,) = play(net, "fails", entry, json.dumps(payload))

    assert said["worker"] == "participant-1"
    assert str(said["message"]).startswith("participant-1 on cpu cpu:node-1:0 (host node-1) ")
    assert reason in str(said["message"])


def test_the_stacks_of_a_hang_come_back(net: RayNet) -> None:
    """The end of its log travels with the error, from whatever node."""
    (said,) = play(net, "fails", "work_in_silence", json.dumps({"phase": "compute"}))

    assert "work_in_silence" in str(said["tail"])


def test_a_device_is_leased_on_its_node(net: RayNet) -> None:
    """A second session is told who holds it and from where; released, it is free."""
    while_held, after = play(net, "leases")

    assert while_held["busy"] == ["cpu:node-0:0", "cpu:node-1:0"]
    assert "for a test on" in str(while_held["message"])
    assert after["busy"] == []


def test_a_killed_supervisor_leaves_nothing_on_any_node(net: RayNet) -> None:
    """Neither workers, nor their preloaded parents, nor leases."""
    with _standing(net) as process:
        assert json.loads(_line(process))["hosts"] == ["node-0", "node-1", "node-2"]
        assert _workers(net)
        process.kill()
        process.wait()

    deadline_s = time.monotonic() + 60.0
    while (left := _workers(net)) and time.monotonic() < deadline_s:
        pass

    assert left == []


def test_a_lost_node_is_named_within_ten_seconds() -> None:
    """The node is killed without a word, and nothing of the worker on it is left."""
    with RayNet(3) as net, _standing(net) as process:
        hosts = json.loads(_line(process))["hosts"]
        killed_at = time.time()
        net.lose(hosts[1])
        said = json.loads(_line(process))
        process.wait(60.0)

        assert said["worker"] == "participant-1"
        assert "participant-1 on cpu cpu:node-1:0 (host node-1) died: " in said["message"]
        assert said["at"] - killed_at < 10.0
        assert _workers(net) == []


def test_a_wrong_token_is_refused_in_words() -> None:
    """Ray asks for a token where it was started with one; it is not printed."""
    with RayNet(1, environment={"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "a" * 40}) as net:
        (let_in,) = play(net, "joins")
        (kept_out,) = play(net, "joins", RAY_AUTH_TOKEN="b" * 40)

    assert let_in["nodes"] == ["head", "node-0"]
    assert "either it refused this session's token" in str(kept_out["error"])
    assert "b" * 40 not in str(kept_out)


def _standing(net: RayNet) -> subprocess.Popen[str]:
    return subprocess.Popen(
        net.command([sys.executable, "-m", _SCENES, "stands"]),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=net.environment(),
    )


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return next(line for line in process.stdout if line.startswith("{"))


def _workers(net: RayNet) -> list[str]:
    """What our launcher started: hosts, preloaded parents and workers."""
    return [
        command
        for command in net.pids().values()
        if command.startswith("mixgpu") or "WorkerHost" in command or "control_fd" in command
    ]
