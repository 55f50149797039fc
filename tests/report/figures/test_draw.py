"""From what the renderer wrote to what a page may hold; and each chart against the schema of its library."""

import pytest

from pytest_mixgpu.report.figures import (
    bounds,
    busy,
    holdups,
    learning,
    parity_chart,
    phase_bars,
    placement,
    rates,
    run_spread,
    speed,
    timeline,
    waterfall,
)
from pytest_mixgpu.report.figures.draw import tidied
from pytest_mixgpu.timing.model import PHASES

OPEN = (
    '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="10" viewBox="0 0 10 20">'
)
LIMITS = parity_chart.Limits(target=95.0, bound=0.5, resolvable=0.7, mean=0.1)
PAIR = parity_chart.Pair(repeat=0, lane="seed 1", mixed=97.0, controls=(96.0, 97.5), signed=0.25)
CHARTS = {
    "bounds": lambda: bounds._chart(["one run"], "speedup, x", (0.0, 2.0), bound=1.4, value=1.5),
    "busy": lambda: busy._chart(["0 to 3"], 100, 0.1, 0.9),
    "holdups-strip": lambda: holdups._chart(["0"], 9, is_strip=True),
    "holdups-bars": lambda: holdups._chart(["0"], 900, is_strip=False),
    "learning": lambda: learning._chart(["fleet"], "seconds", 85.0),
    "parity": lambda: parity_chart.parity_chart([PAIR], LIMITS),
    "phases": lambda: phase_bars._chart(["0"], PHASES, has_close_up=True),
    "placement": lambda: placement._chart(3, ["a40", "mi300x"]),
    "rates": lambda: rates._chart(["fleet"]),
    "runs": lambda: run_spread._chart(["fleet"]),
    "speed": lambda: speed._chart(["fleet"], 2.3, 2.8),
    "timeline": lambda: timeline._chart(["0"], PHASES, 9.0, has_close_up=True),
    "cost": lambda: waterfall._chart(["setup"], "USD"),
}


@pytest.mark.parametrize("name", CHARTS)
def test_every_chart_is_as_its_library_defines_one(name: str) -> None:
    """A misspelt option is ignored by the renderer, and would be missed by nobody but a reader."""
    found = CHARTS[name]().to_dict()

    assert found["$schema"].startswith("https://vega.github.io/schema/vega-lite/")


@pytest.mark.parametrize("element", ["script", "a", "image", "foreignObject", "style", "use", "animate"])
def test_an_element_that_no_drawing_needs_is_refused(element: str) -> None:
    """Whatever text might become of a renderer's fault, it does not get into a page."""
    with pytest.raises(ValueError, match=f"holds <{element}>"):
        tidied(f"{OPEN}<g><{element}/></g></svg>", id="a", label="")


def test_attributes_that_act_are_left_out() -> None:
    """Only what places and paints is kept."""
    acting = 'style="fill:red" onload="alert(1)" xlink:href="http://a" href="#b" class="mark"'
    found = tidied(f'{OPEN}<line {acting} x2="5.123456" stroke="red"/></svg>', id="a", label="")

    assert '<line x2="5.12" stroke="red" />' in found
    assert not any(word in found for word in ("style", "onload", "href", "class"))


def test_two_drawings_share_no_id() -> None:
    """What one clips with must not clip another; how often the renderer was called does not matter."""
    clip = '<defs><clipPath id="clip7"><rect width="1"/></clipPath></defs><g clip-path="url(#clip7)"><line x2="1"/></g>'
    found = {name: tidied(f"{OPEN}{clip}</svg>", id=name, label="") for name in ("timeline a", "timeline-a")}
    again = tidied(f"{OPEN}{clip}</svg>".replace("clip7", "clip12"), id="timeline a", label="")

    assert again == found["timeline a"]
    assert len(set(found.values())) == 2
    for drawing in found.values():
        own = drawing.partition('clipPath id="')[2].partition('"')[0]
        assert f'clip-path="url(#{own})"' in drawing
        assert own.replace("-", "").isalnum()


def test_what_is_not_xml_is_refused_in_words() -> None:
    """A figure then shows its table, and says why."""
    with pytest.raises(ValueError, match="wrote no XML"):
        tidied(f"{OPEN}<g>\x1b</g></svg>", id="a", label="")
