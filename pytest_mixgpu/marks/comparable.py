"""May two sessions of one suite be put side by side: from two sides to the fields that forbid it. Pure.

Pools, hosts, drivers and versions may differ: that is what is looked at. Everything that makes another experiment of it
may not: suite, stage, plan, lock, code, evaluator, data, numeric settings, and what a mark asks.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pytest_mixgpu.marks.compare import numeric_differences
from pytest_mixgpu.marks.differences import ABSENT, plain_differences, short
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord

_SHARE: Final = re.compile(r"(\S+) of the ideal ")
_WHOLE: Final = frozenset({"suite", "stage"})
_DIGESTS: Final = frozenset({"code", "evaluator", "data"})


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What one session said, and the runs that its verdicts name."""

    name: str
    """`A` or `B`."""
    suite: str
    verdicts: tuple[Verdict, ...]
    runs: tuple[RunRecord, ...] = ()
    """In the order of registration, whatever became of them."""

    def verdict(self, id_: str) -> Verdict | None:
        """The verdict on one mark or claim; None where this side says nothing of it."""
        return next((one for one in self.verdicts if one.id == id_), None)


class Obstacle(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A field in which the sides differ and must not."""

    field: str
    """`plan`, `settings.batch_size`, `e1-speedup.unit`."""
    a: str
    b: str
    where: str = ""
    """Which run shows it; empty where it is of the whole."""

    def __str__(self) -> str:
        """The sentence."""
        where = f" ({self.where})" if self.where else ""
        return f"{self.field}: A has {self.a or ABSENT}, B has {self.b or ABSENT}{where}"


def obstacles(a: Side, b: Side) -> tuple[Obstacle, ...]:
    """Return what forbids a comparison, each field once; empty if nothing does.

    Of another suite or stage nothing more is said: whatever else differs follows from that.
    """
    found = _of_the_whole(a, b)
    if not any(one.field in _WHOLE for one in found):
        found += [*_of_marks(a, b), *_of_runs(a.runs, b.runs)]
    return tuple({one.field: one for one in reversed(found)}.values())[::-1]


def _of_the_whole(a: Side, b: Side) -> list[Obstacle]:
    pairs = (
        ("suite", a.suite, b.suite),
        ("stage", _stage(a), _stage(b)),
        ("lock", _locks(a), _locks(b)),
        ("plan", _plans(a), _plans(b)),
    )
    found = [Obstacle(field=field, a=here, b=there) for field, here, there in pairs if here != there]
    return [one for one in found if one.field in _WHOLE] or found


def _locks(side: Side) -> str:
    return _shortened({verdict.lock_digest for verdict in side.verdicts if verdict.lock_digest})


def _plans(side: Side) -> str:
    return _shortened({run.header.digests.plan for run in side.runs})


def _shortened(digests: Iterable[str]) -> str:
    return ", ".join(short(digest) for digest in sorted(digests))


def _stage(side: Side) -> str:
    """Say whether a side is the experiment, its rehearsal, or an emulation of either."""
    qualifiers = {qualifier for verdict in side.verdicts for qualifier in verdict.qualifiers}
    kinds = [name for name in ("emulated", "rehearsal") if name in qualifiers]
    if not kinds and any(run.header.rehearsal for run in side.runs):
        kinds = ["rehearsal"]
    return " and ".join(kinds) or "the experiment"


def _of_marks(a: Side, b: Side) -> Iterator[Obstacle]:
    """Yield in what two verdicts on one id were not asked the same; a bound that pools decide may differ."""
    for here in a.verdicts:
        there = b.verdict(here.id)
        if there is None:
            continue
        asked, other = _asked(here), _asked(there)
        for field in asked.keys() | other.keys():
            if asked.get(field) != other.get(field):
                yield Obstacle(field=f"{here.id}.{field}", a=asked.get(field, ""), b=other.get(field, ""))


def _asked(verdict: Verdict) -> dict[str, str]:
    if verdict.is_claim:
        return {"kind": "a claim"}
    asked = {
        "kind": "a mark",
        "metric": verdict.metric,
        "unit": verdict.unit,
        "comparator": verdict.comparator or "",
    }
    share = _SHARE.match(verdict.bound_origin)
    if share is not None:
        asked["bound"] = f"{share[1]} of the ideal"
    elif not verdict.bound_origin and verdict.bound is not None:
        asked["bound"] = repr(verdict.bound)
    return asked


def _of_runs(a: Sequence[RunRecord], b: Sequence[RunRecord]) -> Iterator[Obstacle]:
    """Compare each run of B with the first of A that stands for the same: the runs of one side agree already."""
    firsts: dict[tuple[str, str], RunRecord] = {}
    for run in a:
        firsts.setdefault((run.header.name, run.header.leg), run)
    for run in b:
        first = firsts.get((run.header.name, run.header.leg))
        if first is not None:
            yield from _of_pair(first, run)


def _of_pair(a: RunRecord, b: RunRecord) -> Iterator[Obstacle]:
    where = f"run {a.id} and run {b.id}"
    if a.header.role != b.header.role:
        yield Obstacle(field="role", a=a.header.role, b=b.header.role, where=where)
    for field, here, there in numeric_differences(a, b):
        if field == "settings.recipe":
            yield from _of_recipes(a.header.settings.recipe, b.header.settings.recipe, where)
        else:
            is_digest = field in _DIGESTS
            yield Obstacle(
                field=field, a=short(here) if is_digest else here, b=short(there) if is_digest else there, where=where
            )


def _of_recipes(a: Mapping[str, object], b: Mapping[str, object], where: str) -> Iterator[Obstacle]:
    for one in plain_differences(a, b, field="recipe", found_in="A"):
        yield Obstacle(field=one.field, a=one.found, b=one.expected, where=where)
