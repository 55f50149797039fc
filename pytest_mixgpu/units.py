"""Quantities as people read them: from a number and its unit to text. Standard library only; any room may import this.

A value that was measured keeps three significant digits, trailing zeros included. A bound is printed as it was written.
Where the two stand side by side, the value gets as many digits as it takes to see on which side of the bound it lies.
"""

import math
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

NOT_MEASURED: Final = "not measured"
NOT_STATED: Final = "not stated"
UNKNOWN: Final = "unknown"

_MAX_DIGITS: Final = 17
"""Any two different doubles differ within this many significant digits."""

_HUGE: Final = 1e21
"""From here on digits before the point tell nobody anything: an exponent is written."""
_TINY: Final = 1e-15
"""Below, zeros after the point tell nobody anything either."""

_DURATIONS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES: Final = ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"))


def format_number(value: float, *, digits: int = 3) -> str:
    """Round to significant digits and write without an exponent: `1.88`, `0.0305`, `1,347`.

    What is beyond all measure, from 1e21 on and below 1e-15, has one.

    Args:
        value: any float; what is not finite is said in words.
        digits: significant digits. Digits before the point are never dropped.
    """
    if math.isnan(value):
        return "not a number"
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    if value == 0:
        return "0"
    if abs(value) >= _HUGE or abs(value) < _TINY:
        return f"{value:.{digits - 1}e}"
    rounded = _to_significant(value, digits)
    decimals = max(0, digits - 1 - rounded.adjusted())
    return f"{rounded:,.{decimals}f}"


def format_exact(value: float) -> str:
    """Write a bound as it was set, without invented digits: `11.2`, `0.5`, `90`."""
    if not math.isfinite(value):
        return format_number(value)
    if abs(value) >= _HUGE or 0 < abs(value) < _TINY:
        return f"{value:.12g}"
    text = f"{Decimal(f'{value:.12g}'):,f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def format_beside(value: float, bound: float, *, digits: int = 3) -> tuple[str, str]:
    """Write a value and the bound that it is compared with, so that different numbers look different.

    11.1996 beside a bound of 11.2 is `11.1996`, never `11.2`.
    """
    if value == bound:
        text = format_exact(bound)
        return text, text
    bound_text = format_exact(bound)
    if not (math.isfinite(value) and math.isfinite(bound)):
        return format_number(value), bound_text
    for num_digits in range(digits, _MAX_DIGITS + 1):
        text = format_number(value, digits=num_digits)
        if _looks_on_its_side(text, value, bound):
            return text, bound_text
    return repr(value), repr(bound)


def format_quantity_beside(value: float, bound: float, unit: str) -> tuple[str, str]:
    """Write a value and its bound with their unit, as `format_beside` does; small durations get a unit that suits them.

    A bound is printed in the unit in which it was written, unless it is below a millisecond. A duration that is a
    thousandth of its bound or less has a side that needs no digits: it is written on its own, as `126 ns`.
    """
    if unit == "s" and math.isfinite(value):
        if value and abs(value) * 1000 <= abs(bound):
            return format_duration(value), f"{format_exact(bound)} s"
        factor, name = next((one for one in _DURATIONS if abs(bound) >= one[0]), _DURATIONS[-1])
        # Division must not move the two onto each other.
        if 0 < abs(bound) < 1e-3 and (value / factor == bound / factor) == (value == bound):
            texts = format_beside(value / factor, bound / factor)
            return f"{texts[0]} {name}", f"{texts[1]} {name}"
    texts = format_beside(value, bound)
    return f"{texts[0]} {unit}".rstrip(), f"{texts[1]} {unit}".rstrip()


def format_quantity(value: float | None, unit: str) -> str:
    """Write a number with its unit; seconds, bytes and shares get the scale that suits them."""
    if value is None:
        return NOT_MEASURED
    special = {
        "s": format_duration,
        "bytes": format_bytes,
        "bytes/s": format_rate,
        "share": format_percent,
    }.get(unit)
    if special is not None and math.isfinite(value):
        return special(value)
    return f"{format_number(value)} {unit}".rstrip()


def format_duration(seconds: float | None) -> str:
    """Write a duration: `12.3 ms`, `1.88 s`, `2 min 05 s`, `3 h 12 min`."""
    if seconds is None:
        return UNKNOWN
    if not math.isfinite(seconds) or seconds == 0 or abs(seconds) >= _HUGE:
        return f"{format_number(seconds)} s"
    if seconds < 0:
        return f"-{format_duration(-seconds)}"
    if seconds >= 119.5:
        whole_minutes, rest_s = divmod(round(seconds), 60)
        if whole_minutes < 120:
            return f"{whole_minutes} min {rest_s:02d} s"
        hours, minutes = divmod(round(seconds / 60), 60)
        return f"{hours:,} h {minutes:02d} min"
    return _scaled(seconds, _DURATIONS)


def format_bytes(num_bytes: float | None) -> str:
    """Write a size in decimal units: `346 MB`."""
    if num_bytes is None:
        return UNKNOWN
    if abs(num_bytes) < 1000:
        return f"{format_number(num_bytes)} B" if num_bytes else "0 B"
    return _scaled(num_bytes, (*_SIZES, (1.0, "B")))


def format_rate(bytes_per_s: float | None) -> str:
    """Write a bandwidth in decimal units of bytes: `5.20 GB/s`."""
    return UNKNOWN if bytes_per_s is None else f"{format_bytes(bytes_per_s)}/s"


def format_percent(share: float | None) -> str:
    """Write a share of one as a percentage: 0.982 is `98.2 %`."""
    if share is None:
        return UNKNOWN
    if not math.isfinite(share):
        return format_number(share)
    return f"{100 * share:.1f} %"


def format_count(count: int | None) -> str:
    """Write a whole number with its thousands parted: `86,567,656`."""
    return UNKNOWN if count is None else f"{count:,}"


def format_money(amount: float | None, currency: str) -> str:
    """Write an amount with its currency; an amount that nobody stated is said to be so, never 0."""
    return NOT_STATED if amount is None else f"{format_number(amount)} {currency}".rstrip()


def format_moment(moment: str) -> str:
    """Write an ISO 8601 moment of UTC so that people read it: `2026-11-29 19:02:06 UTC`. Other text stays as it is."""
    date, t, time = moment.partition("T")
    if not t or not time.endswith(("Z", "+00:00")):
        return moment
    return f"{date} {time.removesuffix('Z').removesuffix('+00:00').partition('.')[0]} UTC"


def _to_significant(value: float, digits: int) -> Decimal:
    exact = Decimal(value)
    place = Decimal(1).scaleb(max(exact.adjusted() - digits + 1, -400))
    if place > 1:
        # `quantize` refuses what has more digits than its context.
        return exact.to_integral_value(rounding=ROUND_HALF_EVEN)
    rounded = exact.quantize(place, rounding=ROUND_HALF_EVEN)
    # 9.996 becomes 10.00: one digit too many, so it is rounded once more at the coarser place.
    if rounded.adjusted() > exact.adjusted() and place < 1:
        rounded = exact.quantize(place * 10, rounding=ROUND_HALF_EVEN)
    return rounded


def _looks_on_its_side(text: str, value: float, bound: float) -> bool:
    shown, exact = Decimal(text.replace(",", "")), Decimal(f"{bound:.12g}")
    return shown > exact if value > bound else shown < exact


def _scaled(value: float, scale: tuple[tuple[float, str], ...]) -> str:
    for factor, unit in scale:
        # Compared after rounding, so that 999.6 ms is `1.00 s` and not `1,000 ms`.
        if abs(_to_significant(value / factor, 3)) >= 1:
            return f"{format_number(value / factor)} {unit}"
    factor, unit = scale[-1]
    return f"{format_number(value / factor)} {unit}"
