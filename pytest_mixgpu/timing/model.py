"""The values of this room: samples, and what is stamped in a round. All times are seconds."""

from typing import Literal

import msgspec

Phase = Literal["compute", "prepare", "send", "queue", "wait", "combine", "return"]
PHASES: tuple[Phase, ...] = ("compute", "prepare", "send", "queue", "wait", "combine", "return")

# Numbers and words alone make no cycle, and a long run has millions of these: the collector is spared them.


class Segment(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """A stretch of one participant's round under one label, counted from the round's start on its own clock."""

    phase: Phase
    start_s: float
    duration_s: float


class ParticipantStamps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What a participant saw in one round, in seconds since the round started on its own clock.

    A run without an exchange has `compute_end_s` and `close_s` only.
    """

    compute_end_s: float
    """Compute closed (the device was synchronised) and READY was said."""
    prepare_end_s: float | None = None
    """The update lay ready in host memory in its wire format."""
    send_end_s: float | None = None
    """The last byte of the update was handed to the transport."""
    return_first_s: float | None = None
    """The first byte of the new model arrived."""
    return_last_s: float | None = None
    """The last byte of the new model arrived."""
    hold_s: float | None = None
    """The new model was loaded and the device synchronised."""
    close_s: float
    """The coordinator's word arrived that everybody holds the new model: the end of the round here."""


class CoordinatorStamps(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, gc=False):
    """What the coordinator saw of one participant in one round, in seconds since it said GO, on its own clock."""

    ready_s: float
    first_in_s: float
    last_in_s: float
    first_out_s: float
    last_out_s: float
    held_s: float


class Samples(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Durations of one thing done again and again, the warm-ups kept beside the values.

    Raises:
        ValueError: a value is negative or not finite, or there is none.
    """

    name: str
    values_s: tuple[float, ...]
    warmups_s: tuple[float, ...] = ()
    clock: str = "wall"
    """`wall`, or the device events that were waited for: `cuda-synchronised`."""
    devices: tuple[str, ...] = ()
    """Ids of the devices that did the work."""
    kinds: tuple[str, ...] = ()
    """Their kinds, in the same order."""
    disturbed: tuple[str, ...] = ()
    """What disturbed these devices meanwhile, a sentence each."""

    def __post_init__(self) -> None:
        if not self.values_s:
            raise ValueError(f"samples of {self.name!r} hold no value: nothing was measured")
        for value in (*self.values_s, *self.warmups_s):
            if not 0 <= value < float("inf"):
                raise ValueError(f"samples of {self.name!r} hold {value!r}: a duration is finite and not negative")
