"""Frames over a TCP socket: a small JSON header, then raw bytes. Knows nothing of rounds; imports no torch.

A frame is `length of header` and `length of payload` (network order, 4 and 8 bytes), the header, the payload. The
reader never reads beyond a frame, so a payload lands in the buffer that was named for it and is copied nowhere else.
"""

import hmac
import secrets
import select
import socket
import struct
import time
from collections.abc import Callable
from typing import TypeVar

import msgspec

from pytest_mixgpu.jobs.messages import Challenge, Hello, Message, Welcome
from pytest_mixgpu.launch.protocol import PeerFaultError, PeerLostError

_PREFIX = struct.Struct("!IQ")
_MAX_HEADER_BYTES = 1 << 16
_CHUNK_BYTES = 4 << 20
_HANDSHAKE_S = 10.0
REFRESH_S = 5.0
"""How often a worker that waits for a peer shows that it still does: a syscall each time, no polling."""
_ENCODER = msgspec.json.Encoder()
_DECODER = msgspec.json.Decoder(Message)
NOTHING = memoryview(b"")
M = TypeVar("M", bound=Message)


class WireError(ConnectionError):
    """The other side sent something that is not a frame, or not the one that was due."""


class PeerWireError(PeerFaultError, WireError):
    """The other side, which is known, sent what it must not, or did not send what was due."""


class Connection:
    """One end of a line that frames travel on.

    Args:
        sock: a connected socket, used in blocking mode.
        peer: how errors call the other side.
        room: where the payload of a message is to be written; at most its size is accepted.
        alive: called when something moved, and every few seconds of waiting.
        cut_s: a line whose other end's kernel answers nothing for so long is cut.
    """

    def __init__(
        self,
        sock: socket.socket,
        *,
        peer: str,
        room: Callable[[Message], memoryview] = lambda _message: NOTHING,
        alive: Callable[[], None] = lambda: None,
        cut_s: float = 60.0,
    ) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        _watch_for_cut(sock, cut_s)
        sock.settimeout(None)
        self.alive = alive
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)
        self.sock = sock
        self.peer = peer
        self.room = room
        self.payload_bytes = 0
        self.first_byte_s = 0.0
        self._head = self._outgoing = NOTHING
        self._num_sent = 0
        self._start_frame()

    def send(self, message: Message, payload: memoryview = NOTHING) -> None:
        """Send a whole frame and return when its last byte was handed to the kernel.

        Raises:
            PeerLostError: the other side is gone.
        """
        try:
            self.sock.sendall(_head(message, payload))
            for start in range(0, payload.nbytes, _CHUNK_BYTES):
                self.sock.sendall(payload[start : start + _CHUNK_BYTES])
                self.alive()
        except OSError as error:
            raise PeerLostError(self.peer, str(error)) from error

    def receive(self, *, within_s: float | None = None) -> Message:
        """Wait for the next frame; `payload_bytes` of it lie in the room that was named for it.

        Args:
            within_s: the longest silence that is borne; None bears any.

        Raises:
            PeerLostError: the other side is gone.
            WireError: what came is not a frame, or nothing came.
        """
        wait_s = REFRESH_S if within_s is None else min(REFRESH_S, within_s / 2)
        while True:
            since_s = time.monotonic()
            while not self._poll.poll(wait_s * 1000):
                self.alive()
                if within_s is not None and time.monotonic() - since_s >= within_s:
                    raise PeerWireError(self.peer, f"was to speak and has sent nothing for {within_s:g} s")
            message = self.pump()
            if message is not None:
                return message

    def expect(self, kind: type[M], *, within_s: float | None = None) -> M:
        """Wait for a frame of one kind; arguments and errors are those of `receive`."""
        return self.check(self.receive(within_s=within_s), kind)

    def check(self, message: Message, kind: type[M]) -> M:
        """Make sure that a message is the one that is due.

        Raises:
            WireError: it is another.
        """
        if not isinstance(message, kind):
            raise PeerWireError(self.peer, f"sent `{type(message).__name__}` where `{kind.__name__}` was due")
        return message

    def pump(self) -> Message | None:
        """Read once, as much as is there; the message when a frame became whole, else None.

        Raises:
            PeerLostError: the other side is gone.
            WireError: what came is not a frame.
        """
        target = self._target[self._filled : self._filled + _CHUNK_BYTES]
        try:
            count = self.sock.recv_into(target, flags=socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError as error:
            raise PeerLostError(self.peer, str(error)) from error
        if count == 0:
            raise PeerLostError(self.peer)
        if self._message is not None and self._filled == 0:
            self.first_byte_s = time.perf_counter()
            self.alive()
        self._filled += count
        return self._advance() if self._filled == len(self._target) else None

    @property
    def under_way(self) -> tuple[Message | None, int]:
        """The message whose payload is coming in, and how many bytes of it have; None between payloads."""
        return self._message, self._filled if self._message is not None else 0

    def queue(self, message: Message, payload: memoryview) -> None:
        """Line a frame up to be sent piece by piece with `push`."""
        self._head, self._outgoing, self._num_sent = memoryview(_head(message, payload)), payload, 0

    def can_push(self, num_ready_bytes: int) -> bool:
        """Whether something of the frame that is lined up has not gone, though its payload is ready that far."""
        return num_ready_bytes > 0 and self._num_sent < self._head.nbytes + num_ready_bytes

    def push(self, num_ready_bytes: int) -> bool:
        """Send what the kernel takes now of the frame that is lined up; whether all of it has gone.

        Args:
            num_ready_bytes: of its payload, how much may be sent.

        Raises:
            PeerLostError: the other side is gone.
        """
        while self.can_push(num_ready_bytes):
            start = self._num_sent - self._head.nbytes
            end = min(num_ready_bytes, start + _CHUNK_BYTES)
            piece = self._head[self._num_sent :] if start < 0 else self._outgoing[start:end]
            try:
                count = self.sock.send(piece, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError as error:
                raise PeerLostError(self.peer, str(error)) from error
            self._num_sent += count
            if count < piece.nbytes:
                return False
        return self._num_sent == self._head.nbytes + self._outgoing.nbytes

    def close(self) -> None:
        """Hang up."""
        self.sock.close()

    def _start_frame(self) -> None:
        self._message: Message | None = None
        self._header_bytes = 0
        self._target = memoryview(bytearray(_PREFIX.size))
        self._filled = 0

    def _advance(self) -> Message | None:
        if self._message is not None:
            return self._finish()
        if self._header_bytes:
            return self._read_header()
        header_bytes, self.payload_bytes = _PREFIX.unpack(self._target)
        if not 0 < header_bytes <= _MAX_HEADER_BYTES:
            raise PeerWireError(
                self.peer, f"announced a header of {header_bytes} bytes; at most {_MAX_HEADER_BYTES} are read"
            )
        self._header_bytes = header_bytes
        self._target, self._filled = memoryview(bytearray(header_bytes)), 0
        return None

    def _read_header(self) -> Message | None:
        try:
            message = _DECODER.decode(self._target)
        except msgspec.DecodeError as error:
            raise PeerWireError(self.peer, f"sent a header that is not ours: {error}") from error
        room = self.room(message)
        if self.payload_bytes > room.nbytes:
            raise PeerWireError(
                self.peer,
                f"announced {self.payload_bytes} bytes after `{type(message).__name__}`; "
                f"there is room for {room.nbytes}: do all workers run the same model?",
            )
        self._message = message
        self._target, self._filled = room[: self.payload_bytes], 0
        return None if self.payload_bytes else self._finish()

    def _finish(self) -> Message | None:
        message = self._message
        self._start_frame()
        return message


def _watch_for_cut(sock: socket.socket, cut_s: float) -> None:
    """Have the kernel end a line on which the other host's kernel is silent: a process that is busy is none of that."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in (
        ("TCP_KEEPIDLE", max(1, round(cut_s / 3))),
        ("TCP_KEEPINTVL", max(1, round(cut_s / 6))),
        ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", max(1, round(cut_s * 1000))),
    ):
        option = getattr(socket, name, None)  # not every system has all of them
        if option is not None and sock.family != socket.AF_UNIX:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)


def welcome(sock: socket.socket, token: str, *, num_participants: int) -> int | None:
    """Let one participant in; its index, or None for a stranger, whose line is closed.

    The token itself never crosses the line: the other side proves that it knows it.
    """
    try:
        sock.settimeout(_HANDSHAKE_S)
        participant = _identify(sock, token, num_participants)
    except (OSError, msgspec.DecodeError):
        # A scanner, a health check, somebody who hung up: whatever it was, it is not ours.
        participant = None
    if participant is None:
        sock.close()
    return participant


def join(address: tuple[str, int], token: str, *, participant: int, peer: str = "coordinator") -> socket.socket:
    """Connect to the coordinator as one participant.

    Raises:
        PeerLostError: nobody answers there, or the token is refused.
    """
    where = f"{address[0]}:{address[1]}"
    sock: socket.socket | None = None
    try:
        sock = socket.create_connection(address, timeout=_HANDSHAKE_S)
        challenge = _receive_small(sock)
        if not isinstance(challenge, Challenge):
            raise WireError("what listens there is no coordinator")
        proof = _proof(token, challenge.nonce, participant)
        sock.sendall(_head(Hello(participant=participant, proof=proof), NOTHING))
        if not isinstance(_receive_small(sock), Welcome):
            raise WireError(f"participant {participant} was not let in")
    except (OSError, msgspec.DecodeError) as error:
        if sock is not None:
            sock.close()
        raise PeerLostError(peer, f"could not join it at {where}: {error}") from error
    return sock


def _identify(sock: socket.socket, token: str, num_participants: int) -> int | None:
    nonce = secrets.token_hex(16)
    sock.sendall(_head(Challenge(nonce=nonce), NOTHING))
    hello = _receive_small(sock)
    if not isinstance(hello, Hello) or not 0 <= hello.participant < num_participants:
        return None
    if not hmac.compare_digest(hello.proof, _proof(token, nonce, hello.participant)):
        return None
    sock.sendall(_head(Welcome(), NOTHING))
    return hello.participant


def _head(message: Message, payload: memoryview) -> bytes:
    header = _ENCODER.encode(message)
    return _PREFIX.pack(len(header), payload.nbytes) + header


def _proof(token: str, nonce: str, participant: int) -> str:
    return hmac.new(token.encode(), f"{nonce}:{participant}".encode(), "sha256").hexdigest()


def _receive_small(sock: socket.socket) -> Message:
    header_bytes, payload_bytes = _PREFIX.unpack(_read(sock, _PREFIX.size))
    if payload_bytes or header_bytes > _MAX_HEADER_BYTES:
        raise WireError("no greeting carries a payload")
    return _DECODER.decode(_read(sock, header_bytes))


def _read(sock: socket.socket, num_bytes: int) -> bytes:
    data = bytearray()
    while len(data) < num_bytes:
        piece = sock.recv(num_bytes - len(data))
        if not piece:
            raise WireError("the line ended during the greeting")
        data += piece
    return bytes(data)
