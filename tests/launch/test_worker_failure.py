"""What a worker says of its own failure."""

import pytest

from pytest_mixgpu.launch.protocol import PeerLostError
from pytest_mixgpu.launch.worker import describe_failure


@pytest.mark.parametrize(
    ("error", "lost_peer"),
    [
        (ValueError("connection closed by peer"), False),
        (RuntimeError("shapes differ"), False),
        (RuntimeError("[gloo] Connection closed by peer [10.0.0.1]:5"), True),
        (ConnectionResetError(), True),
        (EOFError(), True),
        (TimeoutError("timed out"), True),
        (PeerLostError("participant-1"), True),
    ],
    ids=["value", "runtime", "gloo", "reset", "eof", "timeout", "peer"],
)
def test_lost_connections_are_marked_as_consequences(error: BaseException, *, lost_peer: bool) -> None:
    """What transports raise when the other end is gone is told apart from what a job raises itself."""
    assert lost_peer == describe_failure(error, at_s=0.0)["lost_peer"]


def test_the_lost_peer_is_named() -> None:
    """A job that knows whom it lost says so."""
    assert "coordinator" == describe_failure(PeerLostError("coordinator"), at_s=0.0)["peer"]
