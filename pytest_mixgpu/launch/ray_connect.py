"""From the environment to a connection with a Ray cluster that is there, or to an error that says what was found.

Ray is imported here and in its sister modules inside functions only.
"""

import logging
import os
import socket
import threading
from contextlib import suppress
from typing import Any

from pytest_mixgpu.errors import ClusterError

CONNECT_S = 30.0
"""How long a cluster may take to let us in."""
_REACH_S = 5.0
_CLIENT = "ray://"


def connect(*, within_s: float = CONNECT_S) -> str:
    """Join the cluster that `RAY_ADDRESS` names, or the one of this machine.

    Ray takes a token from `RAY_AUTH_TOKEN` or `RAY_AUTH_TOKEN_PATH` by itself; it is never printed.

    Args:
        within_s: after this time it is given up.

    Returns:
        The address.

    Raises:
        ClusterError: Ray is not installed, nothing answers there, the token is refused, or versions differ.
    """
    address = os.environ.get("RAY_ADDRESS", "").strip() or "auto"
    _look_at(address)
    # Said before ray is loaded; whoever wants to report its use to Ray's makers says so.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise ClusterError(f"--mixgpu-launcher=ray needs Ray: pip install 'pytest-mixgpu[ray]' ({error})") from error
    if ray.is_initialized():
        return address
    # Of itself it would say on stderr that it does not touch signals in a thread, which is what is wanted.
    logging.getLogger("ray").setLevel(logging.ERROR)
    problems: list[BaseException] = []

    def join() -> None:
        try:
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR, configure_logging=False)
        except BaseException as error:  # noqa: BLE001 - handed over to the thread that waits
            problems.append(error)

    # In a thread of its own, since a server that accepts and says nothing would hold the session for minutes.
    thread = threading.Thread(target=join, daemon=True, name="ray-init")
    thread.start()
    thread.join(within_s)
    if thread.is_alive():
        raise ClusterError(f"{_named(address)} did not let this session in within {within_s:g} s. {_HOW}")
    if problems:
        raise ClusterError(explain(address, str(problems[0]))) from problems[0]
    return address


def disconnect() -> None:
    """Leave the cluster; Ray ends the actors of a session that has left."""
    import ray

    with suppress(Exception):
        ray.shutdown()


def explain(address: str, text: str) -> str:
    """Say what keeps this session out of a cluster.

    Args:
        address: where it was looked for.
        text: what Ray said.
    """
    low, first = text.lower(), next(iter(text.strip().splitlines()), "")
    name = _named(address)
    if "version mismatch" in low:
        return f"{name} runs other versions than this session: {' '.join(text.split())[:600]}"
    if "unauthenticated" in low or ("token" in low and "auth" in low):
        return (
            f"{name} refused this session's token. Put the cluster's token into RAY_AUTH_TOKEN or into the file that "
            f"RAY_AUTH_TOKEN_PATH names, with RAY_AUTH_MODE=token; Ray says: {first[:300]}"
        )
    if "could not find any running ray instance" in low:
        return f"no Ray cluster runs on this machine, and RAY_ADDRESS is not set. {_HOW}"
    if "failed to connect" in low:
        # Ray says no more than that after a token was refused; that somebody listens there was seen before.
        return (
            f"{name} does not let this session in, though something listens there: either it refused this session's "
            "token (put the cluster's into RAY_AUTH_TOKEN or into the file that RAY_AUTH_TOKEN_PATH names, with "
            f"RAY_AUTH_MODE=token), or it is no Ray cluster. Ray says: {first[:300]}"
        )
    return f"{name} cannot be joined: {first[:400]} {_HOW}"


_HOW = (
    "Start one with `ray start --head` (and `ray start --address=HOST:PORT` on the other nodes), set "
    "RAY_ADDRESS=HOST:PORT, and run pytest on one of its nodes; a token that differs is refused after some 20 s."
)


def _named(address: str) -> str:
    return "the Ray cluster of this machine" if address == "auto" else f"the Ray cluster at RAY_ADDRESS={address}"


def _look_at(address: str) -> None:
    """Find out within seconds that nothing listens there."""
    if address.startswith(_CLIENT):
        raise ClusterError(
            f"RAY_ADDRESS={address} is a Ray client's address, through which workers cannot be watched: run pytest on "
            "a node of the cluster, with RAY_ADDRESS=HOST:PORT"
        )
    host, _, port = address.rpartition(":")
    if not host:
        if address not in {"auto", "local"}:
            raise ClusterError(f"RAY_ADDRESS={address} is no address: expected HOST:PORT or auto")
        if address == "local":
            raise ClusterError("RAY_ADDRESS=local would start a cluster of its own: expected HOST:PORT or auto")
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=_REACH_S).close()
    except (OSError, ValueError) as error:
        raise ClusterError(f"nothing answers at RAY_ADDRESS={address}: {error}. {_HOW}") from error


def alive_nodes() -> list[dict[str, Any]]:
    """What Ray knows of the nodes that live."""
    import ray

    nodes: list[dict[str, Any]] = ray.nodes()  # type: ignore[no-untyped-call]
    return [node for node in nodes if node["Alive"]]
