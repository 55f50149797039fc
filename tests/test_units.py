"""Quantities read well, and never blur the side of a bound on which they lie."""

from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_mixgpu import units

finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (1.8754, "1.88"),
        (9.996, "10.0"),
        (0.030512, "0.0305"),
        (0.38, "0.380"),
        (1346.6, "1,347"),
        (999.6, "1,000"),
        (0.0, "0"),
        (-2.5, "-2.50"),
        (1e20, "100,000,000,000,000,000,000"),
        (1e21, "1.00e+21"),
        (-1.7976931348623157e308, "-1.80e+308"),
        (float("nan"), "not a number"),
        (float("-inf"), "-infinite"),
    ],
)
def test_a_number_keeps_three_significant_digits(value: float, expected: str) -> None:
    """Three significant digits, thousands parted, and an exponent only where no unit is that large."""
    assert expected == units.format_number(value)


@pytest.mark.parametrize(
    ("bound", "expected"),
    [(0.7 * 16, "11.2"), (0.7 * 3, "2.1"), (0.5, "0.5"), (90.0, "90"), (3669.0, "3,669"), (1e-7, "0.0000001")],
)
def test_a_bound_is_printed_as_it_was_written(bound: float, expected: str) -> None:
    """No digit is invented and none is dropped."""
    assert expected == units.format_exact(bound)


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        pytest.param(11.1996, 11.2, ("11.1996", "11.2"), id="just-under"),
        pytest.param(11.2, 11.2, ("11.2", "11.2"), id="equal"),
        pytest.param(11.2004, 11.2, ("11.2004", "11.2"), id="just-over"),
        pytest.param(1.88, 1.4, ("1.88", "1.4"), id="far"),
        pytest.param(float("nan"), 1.4, ("not a number", "1.4"), id="nan"),
    ],
)
def test_a_value_beside_its_bound_shows_its_side(value: float, bound: float, expected: tuple[str, str]) -> None:
    """Rounding must not move a value onto its bound or across it."""
    assert expected == units.format_beside(value, bound)


@given(value=finite, bound=finite)
@example(value=11.199999999999998, bound=11.2)
def test_rounding_never_crosses_a_bound(value: float, bound: float) -> None:
    """Whatever the numbers, what is printed compares as they do."""
    shown, shown_bound = (Decimal(text.replace(",", "")) for text in units.format_beside(value, bound))

    assert (value > bound, value == bound) == (shown > shown_bound, shown == shown_bound)


@given(finite.filter(lambda value: not value or 1e-300 < abs(value) < 1e300))
def test_a_number_is_within_half_a_digit_of_what_is_printed(value: float) -> None:
    """Three digits are right, and no digit before the point is dropped."""
    shown = float(units.format_number(value).replace(",", ""))

    assert abs(shown - value) <= max(abs(value) * 0.00501, 0)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (1.2e-8, "12.0 ns"),
        (4.56e-5, "45.6 µs"),
        (0.0123, "12.3 ms"),
        (0.9996, "1.00 s"),
        (1.88, "1.88 s"),
        (119.4, "119 s"),
        (119.6, "2 min 00 s"),
        (125.2, "2 min 05 s"),
        (7199.6, "2 h 00 min"),
        (11520.0, "3 h 12 min"),
        (0.0, "0 s"),
        (-0.5, "-500 ms"),
        (None, "unknown"),
    ],
)
def test_durations(seconds: float | None, expected: str) -> None:
    """Each scale begins where its number is at least one, after rounding."""
    assert expected == units.format_duration(seconds)


@pytest.mark.parametrize(
    ("num_bytes", "expected"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (346_270_624, "346 MB"),
        (999_600_000, "1.00 GB"),
        (1500, "1.50 kB"),
        (None, "unknown"),
    ],
)
def test_sizes_are_decimal(num_bytes: float | None, expected: str) -> None:
    """A megabyte is a million bytes, as link speeds are."""
    assert expected == units.format_bytes(num_bytes)


@pytest.mark.parametrize(
    ("value", "unit", "expected"),
    [
        (1.88, "x", "1.88 x"),
        (0.384, "points", "0.384 points"),
        (0.982, "share", "98.2 %"),
        (0.25, "s", "250 ms"),
        (5.2e9, "bytes/s", "5.20 GB/s"),
        (1234.5, "samples/s", "1,234 samples/s"),
        (float("nan"), "s", "not a number s"),
        (None, "x", "not measured"),
    ],
)
def test_a_quantity_carries_its_unit(value: float | None, unit: str, expected: str) -> None:
    """A value that is missing is said to be, not shown as 0."""
    assert expected == units.format_quantity(value, unit)


@pytest.mark.parametrize(
    ("value", "bound", "unit", "expected"),
    [
        pytest.param(1.26e-7, 2.0, "s", ("126 ns", "2 s"), id="far-below"),
        pytest.param(1.9999999, 2.0, "s", ("1.9999999 s", "2 s"), id="just-under"),
        pytest.param(0.0305, 2.0, "s", ("0.0305 s", "2 s"), id="same-unit"),
        pytest.param(1.26e-7, 1e-6, "s", ("0.126 µs", "1 µs"), id="both-small"),
        pytest.param(3e-3, 2e-6, "s", ("3,000 µs", "2 µs"), id="far-above"),
        pytest.param(0.0, 2.0, "s", ("0 s", "2 s"), id="nothing"),
        pytest.param(float("nan"), 2.0, "s", ("not a number s", "2 s"), id="nan"),
        pytest.param(11.1996, 11.2, "x", ("11.1996 x", "11.2 x"), id="other-unit"),
    ],
)
def test_a_quantity_beside_its_bound_has_a_unit_to_read(
    value: float, bound: float, unit: str, expected: tuple[str, str]
) -> None:
    """Small durations are not written as rows of zeros, and no side is blurred."""
    assert expected == units.format_quantity_beside(value, bound, unit)


def test_money_that_nobody_stated_is_not_nought() -> None:
    """An unknown price is in words."""
    assert (
        units.format_money(None, "USD"),
        units.format_money(0.0123, "USD"),
        units.format_money(0.0, "USD"),
    ) == ("not stated", "0.0123 USD", "0 USD")


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-11-29T19:02:06Z", "2026-11-29 19:02:06 UTC"),
        ("2026-11-29T19:02:06.123456+00:00", "2026-11-29 19:02:06 UTC"),
        ("2026-11-29T19:02:06+01:00", "2026-11-29T19:02:06+01:00"),
        ("yesterday", "yesterday"),
    ],
)
def test_a_moment_says_its_zone(moment: str, expected: str) -> None:
    """Only moments of UTC are rewritten."""
    assert expected == units.format_moment(moment)


@given(value=st.floats(), bound=st.floats(), unit=st.sampled_from(["s", "bytes", "bytes/s", "share", "x"]))
def test_every_number_can_be_written(value: float, bound: float, unit: str) -> None:
    """A record may state any number: it is written on a line that can be read."""
    texts = (units.format_quantity(value, unit), *units.format_quantity_beside(value, bound, unit))

    assert [text for text in texts if len(text) > 400] == []
