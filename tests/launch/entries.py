"""What workers do in the tests of this room: entry functions, one a behaviour."""

import atexit
import importlib
import io
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

from pytest_mixgpu.launch.protocol import Channel, Message, PeerLostError


def echo(channel: Channel, payload: Message) -> None:
    """Answer every word until told to stop."""
    channel.send({"kind": "ready", "payload": payload, "pid": os.getpid()})
    channel.status(phase="idle")
    while (message := channel.receive())["kind"] != "end":
        channel.send(message)


def tell_place(channel: Channel, payload: Message) -> None:
    """Say where and how this worker runs."""
    channel.send(
        {
            "kind": "place",
            "cores": sorted(os.sched_getaffinity(0)),
            "environment": {name: os.environ.get(name) for name in payload["names"]},  # type: ignore[attr-defined]
            "session": os.getsid(0) == os.getpid(),
            "hash": hash("a word"),
            "folder": str(Path.cwd()),
            "modules": [name for name in ("torch", "timm") if name in sys.modules],
        }
    )


def raise_value_error(channel: Channel, payload: Message) -> None:
    """Raise in the middle of a round."""
    channel.status(phase="compute", round_index=3)
    raise ValueError("the batch is empty")


def kill_itself(channel: Channel, payload: Message) -> None:
    """Die by a signal in the middle of a round."""
    channel.status(phase="send", round_index=7)
    sys.stdout.write("last words\n")
    os.kill(os.getpid(), int(payload["signal"]))  # type: ignore[call-overload]
    time.sleep(60)


def work_in_silence(channel: Channel, payload: Message) -> None:
    """State a phase and make no progress from then on."""
    time.sleep(float(payload.get("after_s", 0)))  # type: ignore[arg-type]
    channel.status(phase=str(payload["phase"]), round_index=2)
    channel.send({"kind": "began"})
    time.sleep(600)


def wait_for_ever(channel: Channel, payload: Message) -> None:
    """Say again and again that it waits for others."""
    del payload
    while True:
        channel.status(phase="collective", round_index=4)
        time.sleep(0.1)


def leave(channel: Channel, payload: Message) -> None:
    """End the process without a word."""
    channel.status(phase="compute", round_index=1)
    os._exit(int(payload["code"]))  # type: ignore[call-overload]


def lose_peer(channel: Channel, payload: Message) -> None:
    """Say that a peer is lost, a moment after a word of the supervisor."""
    channel.status(phase="send", round_index=5)
    channel.receive()
    raise PeerLostError(str(payload["peer"]))


def lose_connection(channel: Channel, payload: Message) -> None:
    """Raise at once what a transport raises when the other end is gone."""
    channel.status(phase="send", round_index=5)
    raise RuntimeError("[gloo/transport/tcp/pair.cc:534] Connection closed by peer [127.0.0.1]:1234")


def hold_line(channel: Channel, payload: Message) -> None:
    """Let a peer connect, and leave as soon as the supervisor wishes it, which the peer sees."""
    del payload
    server = socket.create_server(("127.0.0.1", 0))
    channel.send({"kind": "listening", "port": server.getsockname()[1]})
    _line = server.accept()
    channel.send({"kind": "joined"})
    channel.receive()


def outlive_peer(channel: Channel, payload: Message) -> None:
    """Connect to a peer, wait until it is gone, and raise what the payload says; slow to follow a wish to stop."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with socket.create_connection(("127.0.0.1", int(channel.receive()["port"]))) as line:  # type: ignore[call-overload]
        while line.recv(1):
            pass
    raise PeerLostError("p-0") if payload["error"] == "lost" else ValueError("the weights are gone")


class _Asking(io.StringIO):
    """A stream that brings the wish to stop in the very moment in which the worker ends."""

    def flush(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


def end_while_asked(channel: Channel, payload: Message) -> None:
    """Leave at the supervisor's wish, with a second one on the way out; what the parent would do at its exit shows."""
    del payload
    atexit.register(os.write, 2, b"the parent's exit handlers ran\n")
    sys.stdout = _Asking()
    channel.send({"kind": "ready"})
    channel.receive()


def kill_itself_later(channel: Channel, payload: Message) -> None:
    """Die a moment after the others complained."""
    channel.status(phase="compute", round_index=5)
    time.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)


def start_children(channel: Channel, payload: Message) -> None:
    """Start a child in the own group and one that left it, and wait."""
    command = [sys.executable, "-c", "import time; time.sleep(600)"]
    children = [subprocess.Popen(command, start_new_session=apart) for apart in (False, True)]
    channel.send({"kind": "children", "pids": [child.pid for child in children]})
    channel.receive()


def refuse_to_end(channel: Channel, payload: Message) -> None:
    """Ignore the wish to stop."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    channel.send({"kind": "deaf"})
    time.sleep(600)


def speak_a_lot(channel: Channel, payload: Message) -> None:
    """Send something huge while something huge is being sent to it."""
    channel.send({"kind": "huge", "text": "x" * int(payload["num_bytes"])})  # type: ignore[call-overload]
    message = channel.receive()
    channel.send({"kind": "heard", "num_bytes": len(str(message["text"]))})


def tell_numerics(channel: Channel, payload: Message) -> None:
    """Say with which kernels torch computes here."""
    import torch

    unused = torch.Generator().manual_seed(torch.initial_seed()).get_state()
    fresh = unused.numpy().tobytes() == torch.get_rng_state().numpy().tobytes()
    channel.send(
        {
            "kind": "numerics",
            "capability": torch.backends.cpu.get_cpu_capability(),
            "num_threads": torch.get_num_threads(),
            "random_state_fresh": fresh,
            "sum": float(torch.ones(8, 8).matmul(torch.ones(8, 8)).sum()),
        }
    )


def tell_start(channel: Channel, payload: Message) -> None:
    """Say how this interpreter came up and what it found."""
    import pytest_mixgpu.jobs.workloads.evaluate as evaluator
    from pytest_mixgpu.jobs.facts import worker_facts

    facts = worker_facts("p-0", device_id=None, spawned_s=None, first_step_s=None)
    channel.send(
        {
            "kind": "start",
            "planted": [name for name in ("sitecustomize", "usercustomize") if hasattr(sys, f"planted_{name}")],
            "environment": sorted(name for name in os.environ if name.startswith("PYTHON")),
            "recorded": {name: value for name, value in facts.environment.items() if name.startswith("PYTHON")},
            "evaluator": evaluator.__file__,
            "found": [importlib.import_module(str(name)).__file__ for name in payload["modules"]],  # type: ignore[attr-defined]
        }
    )
