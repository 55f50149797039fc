"""Frames arrive whole whatever the pieces, and nobody joins a run without its token."""

import secrets
import socket
import threading
from collections.abc import Iterator
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.jobs.messages import Go, Message, Ping, Pong, Ready, Update
from pytest_mixgpu.jobs.star import accept_all, listen
from pytest_mixgpu.jobs.wire import Connection, WireError, join
from pytest_mixgpu.launch.protocol import PeerLostError
from tests.jobs.made_lines import tcp_pair

_TOKEN = secrets.token_hex()


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    left, right = tcp_pair()
    with left, right:
        yield left, right


def _bytes_of(message: Message, payload: bytes) -> bytes:
    left, right = tcp_pair()
    with left, right:
        left.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
        _connection(left).send(message, memoryview(payload))
        left.shutdown(socket.SHUT_WR)
        parts = []
        while part := right.recv(1 << 16):
            parts.append(part)
        return b"".join(parts)


def _connection(sock: socket.socket, room: memoryview | None = None) -> Connection:
    given_room = room if room is not None else memoryview(bytearray())
    return Connection(sock, peer="the other", room=lambda _message: given_room)


@settings(max_examples=40)
@given(payload=st.binary(max_size=3000), cuts=st.lists(st.integers(1, 3100), max_size=8), samples=st.integers(0, 9))
def test_a_frame_survives_any_cutting(payload: bytes, cuts: list[int], samples: int) -> None:
    """Two frames that arrive in any pieces are the two frames that were sent, payload and all."""
    raw = _bytes_of(Update(samples=samples), payload) + _bytes_of(Ready(), b"")
    room = memoryview(bytearray(4096))
    left, right = tcp_pair()
    with left, right:
        connection = _connection(right, room)
        received: list[Message] = []
        edges = sorted({0, len(raw), *(cut for cut in cuts if cut < len(raw))})
        for start, end in pairwise(edges):
            left.sendall(raw[start:end])
            read = (connection.pump() for _ in range(8))
            received.extend(message for message in read if message is not None)

    assert [Update(samples=samples), Ready()] == received
    assert payload == bytes(room[: len(payload)])


def test_a_piecewise_frame_is_a_frame(pair: tuple[socket.socket, socket.socket]) -> None:
    """What is lined up goes out as the kernel takes it, and arrives whole."""
    payload = bytes(range(256)) * 20_000
    room = memoryview(bytearray(len(payload)))
    sender, receiver = _connection(pair[0]), _connection(pair[1], room)
    sender.queue(Ping(), memoryview(payload))
    message = None
    while message is None:
        sender.push(len(payload))
        message = receiver.pump()

    assert sender.push(len(payload))
    assert Ping() == message
    assert payload == room


def test_what_finds_no_room_is_refused(pair: tuple[socket.socket, socket.socket]) -> None:
    """A payload that is longer than expected is not read."""
    pair[0].sendall(_bytes_of(Update(samples=1), b"12345"))

    with pytest.raises(WireError, match="5 bytes after `Update`; there is room for 4"):
        _connection(pair[1], memoryview(bytearray(4))).receive()


@pytest.mark.parametrize(
    "raw",
    [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\0" + b"\0" * 8, b"\0\0\0\2" + b"\0" * 8 + b"{}"],
    ids=["another protocol", "no header", "an unknown header"],
)
def test_what_is_not_ours_is_refused(pair: tuple[socket.socket, socket.socket], raw: bytes) -> None:
    """Bytes of something else end the line with a message that names the peer."""
    pair[0].sendall(raw)

    with pytest.raises(WireError, match="the other"):
        _connection(pair[1]).receive()


def test_the_message_that_is_due_is_asked_for(pair: tuple[socket.socket, socket.socket]) -> None:
    """Another message than the one that is due names both."""
    _connection(pair[0]).send(Go(round_index=0, steps=1))

    with pytest.raises(WireError, match="sent `Go` where `Ready` was due"):
        _connection(pair[1]).expect(Ready)


def test_a_lost_peer_is_named(pair: tuple[socket.socket, socket.socket]) -> None:
    """An ended line is the consequence of another worker's end, and says whose."""
    pair[0].close()

    with pytest.raises(PeerLostError) as caught:
        _connection(pair[1]).receive()
    assert caught.value.peer == "the other"


def test_a_full_line_takes_no_more(pair: tuple[socket.socket, socket.socket]) -> None:
    """A peer that does not read is told apart from one that is gone: the frame waits."""
    sender = _connection(pair[0])
    sender.queue(Pong(), memoryview(bytes(32 << 20)))

    assert not sender.push(32 << 20)
    assert not sender.push(32 << 20)


def test_only_those_who_know_the_token_join() -> None:
    """Strangers, wrong tokens and impossible indices are turned away; the run waits for its own."""
    joined: list[Connection] = []
    with listen("127.0.0.1", 2) as server:
        address = server.getsockname()
        accepting = threading.Thread(
            target=lambda: joined.extend(accept_all(server, _TOKEN, num_participants=2)), daemon=True
        )
        accepting.start()
        with socket.create_connection(address) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" + b"\xff" * 64)
        for participant, token in ((0, "a guess"), (7, _TOKEN)):
            with pytest.raises(PeerLostError, match="could not join"):
                join(address, token, participant=participant)
        ours = [join(address, _TOKEN, participant=participant) for participant in (1, 0)]
        accepting.join(timeout=20)

    assert ["participant-0", "participant-1"] == [connection.peer for connection in joined]
    assert [ours[1].getsockname(), ours[0].getsockname()] == [line.sock.getpeername() for line in joined]
    for sock in (*ours, *(line.sock for line in joined)):
        sock.close()


def test_nobody_to_join_is_a_lost_peer() -> None:
    """A coordinator that does not listen is named with its address."""
    with listen("127.0.0.1", 1) as server:
        address = server.getsockname()

    with pytest.raises(PeerLostError, match=f"coordinator does not answer.*{address[1]}"):
        join(address, _TOKEN, participant=0)
