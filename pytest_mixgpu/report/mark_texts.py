"""What the page says of a mark beside its number: its name, how many runs stand behind it, its sentences in groups."""

import re
import shlex
from collections.abc import Sequence
from pathlib import PurePath
from typing import NamedTuple

from pytest_mixgpu.report.model import Item, MarkRow
from pytest_mixgpu.report.sentences import asked
from pytest_mixgpu.report.words import metric_in_words

_CHECK = re.compile(r" \([a-z-]+\)$")
_OF_REPEAT = re.compile(r"repeat (\d+): (.+)", re.DOTALL)


class Sentences(NamedTuple):
    """Sentences that stand behind a number, in the order in which they were said."""

    whole: tuple[str, ...]
    """Of all repeats together."""
    by_repeat: tuple[tuple[str, tuple[str, ...]], ...]
    """Of each repeat, by its number, without that number."""


class Open(NamedTuple):
    """Items that stand open alike, and why."""

    answer: str
    items: tuple[Item, ...]
    said: str


def open_items(items: Sequence[Item]) -> tuple[Open, ...]:
    """Say of what was not met what was found and what would change it; items with one cause stand together."""
    found: dict[tuple[str, str], list[Item]] = {}
    for item in items:
        if item.tone == "bad":
            bad = [mark for mark in item.marks if mark.tone == "bad"]
            failed = [mark for mark in bad if mark.word == "FAIL" and not mark.is_claim]
            # Of what is void or tampered with one cause will do: the checklist has all.
            said = " ".join(dict.fromkeys(map(_open, failed or bad[:1])))
            found.setdefault((item.answer, said), []).append(item)
    return tuple(Open(answer, tuple(alike), said) for (answer, said), alike in found.items())


def _open(mark: MarkRow) -> str:
    if mark.is_claim or mark.word != "FAIL":
        # Which check found it differs from claim to claim; what it found is the cause.
        cause = _CHECK.sub("", reason_of(mark)).rstrip(".")
        return f"{cause[:1].upper()}{cause[1:]}."
    bound = f"; {asked(mark)} was asked" if mark.bound else ""
    return " ".join(part for part in (f"{called(mark)} {mark.value}{bound}.", mark.margin) if part)


def called(mark: MarkRow) -> str:
    """Name what a mark is about; its id where nothing was said of it."""
    return metric_in_words(mark.metric) or mark.id


def reason_of(mark: MarkRow) -> str:
    """Give the reason, with the metric called what people call it."""
    if mark.metric and mark.reason.startswith(f"{mark.metric} "):
        return called(mark) + mark.reason.removeprefix(mark.metric)
    return mark.reason


def counted_runs(mark: MarkRow) -> str:
    """Say how many runs stand behind a number, and in how many repeats where one takes several runs."""
    num_runs = len(mark.run_ids)
    if mark.n == 0:
        return "no run"
    if mark.n > 1 and not mark.spread:
        return f"all {num_runs:,} runs together" if num_runs > 1 else f"{mark.n:,} runs"
    repeats = "one repeat" if mark.n == 1 else f"{mark.n:,} repeats"
    if num_runs > mark.n:
        return f"{repeats}, {num_runs:,} runs"
    return "one run" if mark.n == 1 else f"{mark.n:,} runs"


def in_groups(sentences: Sequence[str]) -> Sentences:
    """Part what is said of each repeat from what is said of all. Of a single repeat nothing is parted."""
    found: dict[str, list[str]] = {}
    whole = []
    for sentence in sentences:
        match = _OF_REPEAT.fullmatch(sentence)
        if match is None:
            whole.append(sentence)
        else:
            found.setdefault(match[1], []).append(match[2])
    if len(found) < 2:
        return Sentences(tuple(sentences), ())
    return Sentences(tuple(whole), tuple((number, tuple(said)) for number, said in found.items()))


def command_line(words: Sequence[str]) -> str:
    """Write a command as it would be typed: where pytest itself lies is of no use to a reader elsewhere."""
    if words and PurePath(words[0]).name in {"__main__.py", "pytest", "py.test"}:
        words = ("pytest", *words[1:])
    return shlex.join(words)
