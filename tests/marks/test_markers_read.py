"""Markers as people write them: what becomes a mark or a claim, and what is an error that names its test."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.errors import MarkError
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.marks.parse import parse_claim, parse_passmark

WHERE = "suites/mine/test_mine.py::test_speed"
SPEEDUP: dict[str, Any] = {"metric": "speedup", "at_least": 0.70, "of": "ideal", "unit": "x"}


def test_e1s_speed_mark_is_read() -> None:
    """The form of the README."""
    mark = parse_passmark(("e1-speedup",), SPEEDUP, WHERE)

    assert PassMark(id="e1-speedup", metric="speedup", comparator="at_least", bound=0.7, unit="x", of="ideal") == mark


def test_e1s_parity_mark_is_read() -> None:
    """A distance from controls."""
    mark = parse_passmark(
        ("e1-parity",), {"metric": "parity", "within": 0.5, "of": "controls", "unit": "points"}, WHERE
    )

    assert ("within", 0.5, "controls") == (mark.comparator, mark.bound, mark.of)


def test_users_metric_and_pool_are_read() -> None:
    """A metric of one's own has the name and unit that one gives it; its pool is brought into canonical form."""
    mark = parse_passmark(("gemm",), {"metric": "gemm", "at_most": 5, "unit": "ms", "pool": "RTX4090:1, a40:2"}, WHERE)

    assert ("a40:2,rtx4090:1", 5.0, "ms") == (mark.pool, mark.bound, mark.unit)


def test_least_runs_and_the_rule_for_a_straddling_interval_are_read() -> None:
    """What a mark asks for besides its bound; without a word, one run is enough and the median decides."""
    asks = parse_passmark(("e1-speedup",), {**SPEEDUP, "least_runs": 5, "straddling": "unjudged"}, WHERE)
    plain = parse_passmark(("e1-speedup",), SPEEDUP, WHERE)

    assert (5, "unjudged") == (asks.least_runs, asks.straddling)
    assert (1, "decide") == (plain.least_runs, plain.straddling)


@pytest.mark.parametrize(
    ("args", "changes", "says"),
    [
        pytest.param(("x",), {"at_lest": 1}, "did you mean 'at_least'", id="unknown-keyword"),
        pytest.param((), {}, "found 0 positional arguments", id="no-id"),
        pytest.param(("a", "b"), {}, "found 2 positional arguments", id="two-ids"),
        pytest.param(("E1 speed",), {}, "lower-case letters", id="id-with-blanks"),
        pytest.param(("plan",), {}, "is taken", id="id-means-the-plan"),
        pytest.param((7,), {}, "id 7", id="id-no-text"),
        pytest.param(("x",), {"unit": None}, "unit is missing", id="no-unit"),
        pytest.param(("x",), {"unit": " "}, "unit is missing", id="blank-unit"),
        pytest.param(("x",), {"metric": ""}, "metric is missing", id="no-metric"),
        pytest.param(("x",), {"at_least": None}, "found 0 comparators", id="no-bound"),
        pytest.param(("x",), {"at_most": 3}, "found 2 comparators", id="two-bounds"),
        pytest.param(("x",), {"at_least": math.nan}, "is no bound", id="nan"),
        pytest.param(("x",), {"at_least": math.inf}, "is no bound", id="infinite"),
        pytest.param(("x",), {"at_least": True}, "is no bound", id="bool"),
        pytest.param(("x",), {"at_least": "0.7"}, "is no bound", id="text"),
        pytest.param(("x",), {"of": "best"}, "of='best'", id="of-unknown"),
        pytest.param(("x",), {"least_runs": 0}, "least_runs=0 is no number of runs", id="no-run"),
        pytest.param(("x",), {"least_runs": 2.0}, "expected a whole number of at least 1", id="runs-no-whole-number"),
        pytest.param(("x",), {"least_runs": True}, "least_runs=True", id="runs-bool"),
        pytest.param(("x",), {"least_run": 3}, "did you mean 'least_runs'", id="runs-misspelt"),
        pytest.param(("x",), {"straddling": "pass"}, "straddling='pass' is no rule", id="straddling-unknown"),
        pytest.param(("x",), {"straddling": "failed"}, "did you mean 'fail'", id="straddling-misspelt"),
        pytest.param(("x",), {"of": "controls"}, "does not fit speedup", id="of-of-another-metric"),
        pytest.param(("x",), {"unit": "ms"}, "does not fit speedup", id="unit-of-another-metric"),
        pytest.param(("x",), {"at_least": 1.01}, "is met by nothing", id="above-the-ideal"),
        pytest.param(("x",), {"at_least": 0}, "is met by everything", id="zero"),
        pytest.param(("x",), {"at_least": -1}, "is met by everything", id="negative"),
        pytest.param(("x",), {"metric": "speed-up"}, "did you mean 'speedup'", id="typo-in-the-metric"),
        pytest.param(("x",), {"statistic": "max"}, "never the best round", id="best-of"),
        pytest.param(("x",), {"pool": "a40:banana"}, "pool", id="no-pool"),
        pytest.param(("x",), {"pool": "auto"}, "names no exact pool", id="any-pool"),
        pytest.param(("x",), {"pool": "cuda:4"}, "names no exact pool", id="vendor-word"),
        pytest.param(("x",), {"pool": 4}, "no request for devices", id="pool-no-text"),
    ],
)
def test_what_cannot_be_judged_is_an_error_that_names_the_test(
    args: tuple[object, ...], changes: dict[str, object], says: str
) -> None:
    """An impossible marker never reaches a run."""
    kwargs = {name: value for name, value in (SPEEDUP | changes).items() if value is not None}

    with pytest.raises(MarkError) as caught:
        parse_passmark(args, kwargs, WHERE)

    assert str(caught.value).startswith(WHERE)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("metric", "unit", "keyword", "bound", "is_fine"),
    [
        pytest.param("accuracy", "%", "at_least", 100, True, id="all-images"),
        pytest.param("accuracy", "%", "at_least", 100.1, False, id="more-than-all"),
        pytest.param("accuracy", "share", "at_least", 90, False, id="percent-as-share"),
        pytest.param("round_s", "ms", "at_most", 1500, True, id="milliseconds"),
        pytest.param("round_s", "s", "at_least", 1, False, id="slower-is-better"),
        pytest.param("speedup", "x", "at_least", 11.2, True, id="absolute-speed-up"),
        pytest.param("cost_per_result", "USD", "at_most", 40, True, id="any-currency"),
        pytest.param("parity", "points", "within", 0.5, False, id="parity-without-controls"),
        pytest.param("mine", "things", "within", -1, False, id="negative-distance"),
        pytest.param("mine", "things", "at_least", -1, True, id="own-metric-may-be-negative"),
    ],
)
def test_bounds_make_sense_for_their_metric(metric: str, unit: str, keyword: str, bound: float, is_fine: bool) -> None:  # noqa: FBT001
    """A bound that nothing or everything meets is no pass mark."""
    kwargs = {"metric": metric, "unit": unit, keyword: bound}
    if is_fine:
        assert bound == parse_passmark(("x",), kwargs, WHERE).bound
    else:
        with pytest.raises(MarkError):
            parse_passmark(("x",), kwargs, WHERE)


@given(bound=st.floats(min_value=0.001, max_value=0.999))
def test_any_share_of_the_ideal_is_kept_to_the_last_digit(bound: float) -> None:
    """The bound in the mark is the bound in the marker."""
    assert bound == parse_passmark(("x",), SPEEDUP | {"at_least": bound}, WHERE).bound


def test_claim_is_read() -> None:
    """Checks keep their order."""
    claim = parse_claim(("e1-wait",), {"checks": ["wait-stated", "limits-stated"]}, WHERE)

    assert Claim(id="e1-wait", checks=("wait-stated", "limits-stated")) == claim


@pytest.mark.parametrize(
    ("args", "kwargs", "says"),
    [
        pytest.param(("x",), {}, "holds no check", id="no-checks"),
        pytest.param(("x",), {"checks": []}, "holds no check", id="empty"),
        pytest.param(("x",), {"checks": "wait-stated"}, "holds no check", id="text"),
        pytest.param(("x",), {"checks": ["wait-statd"]}, "did you mean 'wait-stated'", id="typo"),
        pytest.param(("x",), {"checks": ["wait-stated", "wait-stated"]}, "listed twice", id="twice"),
        pytest.param(("x",), {"check": ["wait-stated"]}, "did you mean 'checks'", id="unknown-keyword"),
        pytest.param((), {"checks": ["wait-stated"]}, "found 0 positional", id="no-id"),
        pytest.param(("code",), {"checks": ["wait-stated"]}, "is taken", id="reserved"),
    ],
)
def test_claims_that_stand_on_nothing_are_errors(
    args: tuple[object, ...], kwargs: dict[str, object], says: str
) -> None:
    """A claim names what it stands on, in words that exist."""
    with pytest.raises(MarkError) as caught:
        parse_claim(args, kwargs, WHERE)

    assert str(caught.value).startswith(WHERE)
    assert says in str(caught.value)
