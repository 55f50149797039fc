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
    reads_runs: bool = True
    """Whether what it says hangs on runs, and is worth no more than what vouches for their records. If not, it looks at
    plan and lock alone."""
    speaks_before: bool = False
    """Whether it reads runs, and has something to say before any was made."""

    @property
    def needs_runs(self) -> bool:
        """Whether it can say nothing before anything ran."""
        return self.reads_runs and not self.speaks_before
