"""Frames on the line between supervisor and worker: from (tag, JSON object) to bytes and back. Imports no torch.

Standard `json` on purpose: it keeps NaN and infinity, which other encoders turn into null without a word.
"""

import json
import struct
from typing import Literal

from pytest_mixgpu.launch.protocol import Message

Tag = Literal["task", "hello", "message", "failure", "returned"]

_HEAD = struct.Struct("!BQ")
_TAGS: tuple[Tag, ...] = ("task", "hello", "message", "failure", "returned")


def encode(tag: Tag, body: Message) -> bytes:
    """Turn one message into bytes.

    Raises:
        TypeError: the message holds something that JSON cannot carry.
    """
    try:
        text = json.dumps(body, separators=(",", ":")).encode()
    except TypeError as error:
        raise TypeError(
            f"a message carries JSON values only, found {error} in one of kind {body.get('kind')!r}"
        ) from None
    return _HEAD.pack(_TAGS.index(tag), len(text)) + text


class Decoder:
    """Cuts a stream of bytes into messages, however the transport sliced it."""

    def __init__(self) -> None:
        self._pending = bytearray()

    def feed(self, data: bytes) -> list[tuple[Tag, Message]]:
        """Take in what arrived and return the messages that it completes."""
        self._pending += data
        messages: list[tuple[Tag, Message]] = []
        start = 0
        while len(self._pending) - start >= _HEAD.size:
            tag, length = _HEAD.unpack_from(self._pending, start)
            end = start + _HEAD.size + length
            if len(self._pending) < end:
                break
            messages.append((_TAGS[tag], json.loads(bytes(self._pending[start + _HEAD.size : end]))))
            start = end
        del self._pending[:start]
        return messages
