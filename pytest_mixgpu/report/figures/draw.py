"""From a chart to an SVG that a page with a strict policy may hold. The one file that knows the renderer.

What the renderer writes is taken apart again and put together from a short list of elements and attributes: a text that
found a way into it as markup, a link or a style ends here. Imports altair and vl-convert when something is drawn.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree as ET

from pytest_mixgpu.report.figures.look import INK, TEXT_SIZE, VIEW_WIDTH

if TYPE_CHECKING:
    import altair as alt

    Chart = alt.TopLevelMixin
    Row = Mapping[str, str | float | int | bool | None]
    Datasets = Mapping[str, Sequence[Row]]

HOW_TO_DRAW: Final = "Charts are drawn where their library is installed: pip install 'pytest-mixgpu[report]'."
FONT: Final = "Liberation Sans"
"""Comes with the renderer, so that texts are as long on every machine."""

_NAMESPACE: Final = "{http://www.w3.org/2000/svg}"
_ELEMENTS: Final = frozenset({"svg", "g", "path", "line", "text", "tspan", "rect", "circle", "defs", "clipPath"})
_GEOMETRY: Final = frozenset(("d", "transform", "x", "y", "x1", "y1", "x2", "y2", "width", "height", "cx", "cy", "r"))
_PAINT: Final = "fill fill-opacity stroke stroke-width stroke-opacity stroke-dasharray stroke-dashoffset opacity"
_TEXT: Final = "text-anchor font-size font-weight font-style"
_ATTRIBUTES: Final = _GEOMETRY | frozenset(f"{_PAINT} {_TEXT} id clip-path".split())
CONFIGURATION: Final[Mapping[str, object]] = {
    # Descriptions for screen readers are made of titles by way of expressions, in which a title could do something.
    "aria": False,
    "background": "transparent",
    "font": FONT,
    "padding": 4,
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": INK,
        "domainOpacity": 0.6,
        "tickOpacity": 0.6,
        "gridOpacity": 0.13,
        "labelFontSize": TEXT_SIZE,
        "titleFontSize": TEXT_SIZE,
        "titleFontWeight": "normal",
        "labelLimit": 200,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": TEXT_SIZE,
        "titleFontSize": TEXT_SIZE,
        "titleFontWeight": "normal",
        "labelLimit": 260,
        "titleLimit": 0,
        "orient": "top",
        "symbolSize": 90,
    },
    "text": {"color": INK, "fontSize": TEXT_SIZE},
}
"""What all charts share, in the words of Vega-Lite."""

_LONG_NUMBER: Final = re.compile(r"-?\d+\.\d{3,}")
_IDLE: Final = {"opacity": "1", "stroke-opacity": "1", "fill-opacity": "1", "font-weight": "normal"}
"""Attributes that say what holds anyway."""


def is_installed() -> bool:
    """Say whether charts can be drawn here. Imports nothing."""
    return find_spec("altair") is not None and find_spec("vl_convert") is not None


def svg_of(chart: "Callable[[], Chart]", datasets: "Datasets", *, id: str, label: str) -> str:  # noqa: A002
    """Draw a chart; empty where the library is not installed.

    Args:
        chart: makes it, from datasets by name.
        datasets: the rows of each; text in them is neutralised already, numbers are finite.
        id: of the figure: no two drawings of a page share the ids inside them.
        label: what the drawing shows, in words.

    Raises:
        ValueError: the renderer refused it, or wrote something that no drawing needs.
    """
    if not is_installed():
        return ""
    import vl_convert
    from altair.utils.schemapi import debug_mode

    # Checked against its schema by our tests: at each of hundreds of steps that takes longer than drawing.
    with debug_mode(arg=False):
        specification = chart().to_dict(validate=False)
    specification["config"] = CONFIGURATION
    specification["datasets"] = {name: [dict(row) for row in rows] for name, rows in datasets.items()}
    # A number that is not finite is refused here, with a message, and not by a scale that never ends.
    text = json.dumps(specification, allow_nan=False)
    return tidied(vl_convert.vegalite_to_svg(text, allowed_base_urls=[]), id=id, label=label)


def tidied(raw: str, *, id: str, label: str) -> str:  # noqa: A002
    """Keep of a drawing what is seen: no style, no link, no address, no id that another drawing has."""
    try:
        root = ET.fromstring(raw)  # noqa: S314 - the renderer wrote it here and now
    except ET.ParseError as error:
        raise ValueError(f"the renderer wrote no XML: {error}") from error
    own = sha256(id.encode("utf-8", "replace")).hexdigest()[:8]
    ids: dict[str, str] = {}
    for element in root.iter():
        found = element.get("id")
        if found is not None:
            ids[found] = f"drawn-{own}-{len(ids)}"
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    _tidy(root, ids)
    # One width for all, so that text is as large in each of them.
    view = f"0 0 {max(width, VIEW_WIDTH):g} {height:g}"
    root.attrib = {"xmlns": _NAMESPACE.strip("{}"), "viewBox": view, "width": f"{VIEW_WIDTH}"}
    root.attrib |= {"role": "img", "aria-label": label}
    # Fonts that are as wide as the one that was measured with.
    root.set("font-family", f"{FONT}, Arial, Helvetica, sans-serif")
    return ET.tostring(root, encoding="unicode")


def _tidy(element: ET.Element, ids: Mapping[str, str]) -> None:
    name = element.tag.removeprefix(_NAMESPACE)
    if name not in _ELEMENTS:
        raise ValueError(f"a drawing holds <{name}>, which none needs")
    element.tag = name
    element.attrib = {
        key: _value(key, value, ids)
        for key, value in element.attrib.items()
        if key in _ATTRIBUTES and _IDLE.get(key) != value
    }
    for child in list(element):
        if child.get("display") == "none" or _is_bare(child):
            element.remove(child)
            continue
        _tidy(child, ids)
        if child.tag == "g" and len(child) == 0:
            element.remove(child)


def _is_bare(element: ET.Element) -> bool:
    """Whether it is the ground of a group, which is not painted."""
    return (
        "background" in element.get("class", "").split() and element.get("stroke") is None and not element.get("fill")
    )


def _value(key: str, value: str, ids: Mapping[str, str]) -> str:
    if key == "id":
        return ids[value]
    if key == "clip-path":
        return f"url(#{ids[value.removeprefix('url(#').removesuffix(')')]})"
    if key in _GEOMETRY:
        return _LONG_NUMBER.sub(lambda found: f"{float(found[0]):.2f}", value)
    return value
