"""Markers read: from what a test wrote to `PassMark` or `Claim`, or an error that names the test. Imports no pytest."""

import math
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import NoReturn, get_args

from msgspec import UNSET, UnsetType

from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import MarkError, SpecError
from pytest_mixgpu.marks.checks import CHECKS
from pytest_mixgpu.marks.metrics import METRICS, Metric
from pytest_mixgpu.marks.model import Claim, Comparator, Disturbed, PassMark, Reference, Straddling

COMPARATORS: tuple[Comparator, ...] = get_args(Comparator)
REFERENCES: tuple[Reference, ...] = get_args(Reference)
STRADDLING: tuple[Straddling, ...] = get_args(Straddling)
DISTURBED: tuple[Disturbed, ...] = get_args(Disturbed)
_KEYWORDS = ("id", "metric", *COMPARATORS, "of", "unit", "pool", "statistic", "least_runs", "straddling", "disturbed")
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_.")
_RESERVED_IDS = frozenset({"plan", "code", "evaluator", "data", "recipes", "judge", "tests"})
"""What else can be amended; a mark of that name could not be told from it."""


def parse_passmark(args: Sequence[object], kwargs: Mapping[str, object], where: str) -> PassMark:
    """Read a `passmark` marker.

    Args:
        args: its positional arguments: the id.
        kwargs: its keywords.
        where: the test, as errors name it.

    Raises:
        MarkError: an unknown keyword, a missing unit, a bound that nothing or everything meets.
    """
    complain = _Complaint("passmark", where)
    complain.unknown(kwargs, _KEYWORDS)
    id_ = _id(args, kwargs, complain)
    metric = _text(kwargs, "metric", complain, example='metric="speedup"')
    unit = _text(kwargs, "unit", complain, example='unit="x"')
    comparator, bound = _comparator(kwargs, complain)
    of = _reference(kwargs, complain)
    statistic = kwargs.get("statistic", "median")
    if statistic != "median":
        complain(f"statistic={statistic!r} is not known; the median is what is judged, never the best round")
    mark = PassMark(
        id=id_,
        metric=metric,
        comparator=comparator,
        bound=bound,
        unit=unit,
        of=of,
        pool=_pool(kwargs, complain),
        least_runs=_least_runs(kwargs, complain),
        straddling=_straddling(kwargs, complain),
        disturbed=_disturbed(kwargs, complain),
    )
    _refuse_impossible(mark, complain)
    return mark


def parse_claim(args: Sequence[object], kwargs: Mapping[str, object], where: str) -> Claim:
    """Read a `claim` marker.

    Args:
        args: its positional arguments: the id.
        kwargs: its keywords: `checks`.
        where: the test, as errors name it.

    Raises:
        MarkError: an unknown keyword, no check, a check twice or one that is not registered.
    """
    complain = _Complaint("claim", where)
    complain.unknown(kwargs, ("id", "checks"))
    id_ = _id(args, kwargs, complain)
    checks = kwargs.get("checks")
    if not isinstance(checks, list | tuple) or not checks:
        complain(f'checks={checks!r} holds no check; a claim lists what it stands on: checks=["devices-named", …]')
    names: list[str] = []
    for name in checks:
        if not isinstance(name, str) or name not in CHECKS:
            complain(f"check {name!r} is not known{_nearest(name, CHECKS)}")
        if name in names:
            complain(f"check {name!r} is listed twice")
        names.append(name)
    return Claim(id=id_, checks=tuple(names))


class _Complaint:
    """Raises errors that begin with the marker and its test."""

    def __init__(self, marker: str, where: str) -> None:
        self._marker = marker
        self._where = where

    def __call__(self, what: str) -> NoReturn:
        raise MarkError(f"{self._where}: marker `{self._marker}`: {what}")

    def unknown(self, kwargs: Mapping[str, object], known: Sequence[str]) -> None:
        """Refuse keywords that are not known."""
        for name in kwargs:
            if name not in known:
                self(f"keyword {name!r} is not known{_nearest(name, known)}")


def _id(args: Sequence[object], kwargs: Mapping[str, object], complain: _Complaint) -> str:
    given = [*args, *([kwargs["id"]] if "id" in kwargs else [])]
    if len(given) != 1:
        complain(f'found {len(given)} positional arguments, expected one: the id, for example "e1-speedup"')
    id_ = given[0]
    if not isinstance(id_, str) or not id_ or not set(id_) <= _ID_CHARACTERS:
        complain(f"id {id_!r} is not one; expected lower-case letters, digits, `-`, `_` and `.`")
    if id_ in _RESERVED_IDS:
        complain(f"id {id_!r} is taken: `--passmark-amend={id_}` means the {id_} of the suite")
    return id_


def _text(kwargs: Mapping[str, object], name: str, complain: _Complaint, *, example: str) -> str:
    value = kwargs.get(name)
    if not isinstance(value, str) or not value.strip():
        complain(f"{name} is missing; a number without it cannot be judged: write for example {example}")
    return value


def _comparator(kwargs: Mapping[str, object], complain: _Complaint) -> tuple[Comparator, float]:
    given = [name for name in COMPARATORS if kwargs.get(name) is not None]
    if len(given) != 1:
        complain(
            f"found {len(given)} comparators ({', '.join(given) or 'none'}), expected one of {', '.join(COMPARATORS)}"
        )
    bound = kwargs[given[0]]
    if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
        complain(f"{given[0]}={bound!r} is no bound; expected a finite number")
    return given[0], float(bound)


def _reference(kwargs: Mapping[str, object], complain: _Complaint) -> Reference | None:
    of = kwargs.get("of")
    if of is not None and of not in REFERENCES:
        complain(f"of={of!r} is not known{_nearest(of, REFERENCES)}")
    return next((reference for reference in REFERENCES if reference == of), None)


def _least_runs(kwargs: Mapping[str, object], complain: _Complaint) -> int:
    least_runs = kwargs.get("least_runs", 1)
    if isinstance(least_runs, bool) or not isinstance(least_runs, int) or least_runs < 1:
        complain(f"least_runs={least_runs!r} is no number of runs; expected a whole number of at least 1")
    return least_runs


def _straddling(kwargs: Mapping[str, object], complain: _Complaint) -> Straddling:
    straddling = kwargs.get("straddling", "decide")
    if straddling not in STRADDLING:
        complain(
            f"straddling={straddling!r} is no rule for an interval on both sides of the bound"
            f"{_nearest(straddling, STRADDLING)}"
        )
    return next(rule for rule in STRADDLING if rule == straddling)


def _disturbed(kwargs: Mapping[str, object], complain: _Complaint) -> Disturbed | UnsetType:
    disturbed = kwargs.get("disturbed", "count")
    if disturbed not in DISTURBED:
        complain(f"disturbed={disturbed!r} is no rule for a run that was disturbed{_nearest(disturbed, DISTURBED)}")
    return "refuse" if disturbed == "refuse" else UNSET


def _pool(kwargs: Mapping[str, object], complain: _Complaint) -> str:
    pool = kwargs.get("pool")
    if pool is None:
        return ""
    if not isinstance(pool, str):
        complain(f'pool={pool!r} is no request for devices; expected text such as "a40:16"')
    try:
        spec = PoolSpec.parse(pool)
    except SpecError as error:
        complain(f"pool: {error}")
    if spec.is_auto or any(term.is_vendor or term.count is None for term in spec.terms):
        complain(f'pool={pool!r} names no exact pool; a mark is bound to kinds and counts, for example "a40:16"')
    return str(spec)


def _refuse_impossible(mark: PassMark, complain: _Complaint) -> None:
    """Refuse bounds that nothing meets, or everything: neither is a pass mark."""
    metric = METRICS.get(mark.metric)
    ceiling = None
    if metric is None:
        if mark.of is not None:
            complain(f"metric {mark.metric!r} has no {mark.of}{_nearest(mark.metric, METRICS)}")
    else:
        if metric.units and mark.unit not in metric.units:
            complain(f"unit {mark.unit!r} does not fit {mark.metric}; expected {' or '.join(metric.units)}")
        if (mark.comparator, mark.of) not in metric.forms:
            complain(f"{_form(mark.comparator, mark.of)} does not fit {mark.metric}; expected {_forms(metric)}")
        if metric.is_of_whole and (mark.least_runs > 1 or mark.straddling != "decide"):
            complain(f"{mark.metric} is one number of the whole experiment: it has no runs to count and no interval")
        ceiling = None if metric.ceiling is None else metric.ceiling * metric.units[mark.unit]
    if mark.of == "ideal":
        ceiling = 1.0
    met_by_all = mark.comparator != "at_least"
    if mark.comparator == "within":
        out_of_range = mark.bound < 0 or (ceiling is not None and mark.bound >= ceiling)
        met_by_all = mark.bound >= 0
    elif mark.bound <= 0 and metric is not None:
        out_of_range, met_by_all = True, mark.comparator == "at_least"
    else:
        out_of_range = ceiling is not None and mark.bound > ceiling
    if out_of_range:
        complain(f"{mark.comparator}={mark.bound!r} {mark.unit} is met by {'everything' if met_by_all else 'nothing'}")


def _form(comparator: Comparator, of: Reference | None) -> str:
    return f"{comparator}=… with of={of!r}" if of else f"{comparator}=… without `of`"


def _forms(metric: Metric) -> str:
    return " or ".join(_form(comparator, of) for comparator, of in metric.forms)


def _nearest(name: object, known: Sequence[str] | Mapping[str, object]) -> str:
    close = get_close_matches(str(name), list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else f"; expected one of {', '.join(known)}"
