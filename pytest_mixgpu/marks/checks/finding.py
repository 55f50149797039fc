"""What a check gives back, and what one is. A check is pure: evidence in, finding out."""

from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.model import Word


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """What a check found missing, and what it found stated."""

    missing: tuple[str, ...] = ()
    """Shortfalls, one sentence each; none passes."""
    stated: tuple[str, ...] = ()
    """What the record says, in words."""
    word: Word = "FAIL"
    """What a shortfall is worth."""
    remedy: str = ""
    follows_from: str = ""
    """The run whose failure is the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One thing that a claim can stand on."""

    name: str
    about: str
    """The rule in one sentence."""
    look: Callable[[Evidence], Finding]
    needs_runs: bool = True
    """Whether it can say anything before anything ran."""
