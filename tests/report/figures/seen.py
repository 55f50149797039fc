"""What tests see of a figure: its drawing taken apart, and what must never be in one."""

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from pytest_mixgpu.report.model import Figure, Figures

SVG = "{http://www.w3.org/2000/svg}"
HARMLESS = {"svg", "g", "path", "line", "text", "tspan", "rect", "circle", "defs", "clipPath"}


def all_of(figures: Figures) -> list[Figure]:
    """Return the figures of all sections."""
    return [figure for name in figures.__struct_fields__ for figure in getattr(figures, name)]


def root_of(figure: Figure) -> ET.Element:
    """Parse a drawing, as XML that it claims to be."""
    assert figure.svg, figure.notes
    return ET.fromstring(figure.svg)  # noqa: S314 - made by our own code


def words_of(figure: Figure) -> str:
    """Return all text that a drawing shows."""
    return " | ".join("".join(element.itertext()) for element in root_of(figure).iter(f"{SVG}text"))


def faults_of(figure: Figure) -> list[str]:
    """List what a page with a strict policy could not hold, or two drawings of one page could not share."""
    found = []
    for element in root_of(figure).iter():
        name = element.tag.removeprefix(SVG)
        if name not in HARMLESS:
            found.append(f"<{name}>")
        for key, value in element.attrib.items():
            if key in {"style", "class", "href"} or "href" in key or key.startswith("on"):
                found.append(f"{key}={value!r}")
            if "url(" in value.replace("url(#drawn-", "") or "javascript" in value:
                found.append(f"{key}={value!r}")
    return found


def ids_of(figures: Iterable[Figure]) -> list[str]:
    """Return every id inside drawings."""
    return [element.attrib["id"] for one in figures for element in root_of(one).iter() if "id" in element.attrib]


def cells_of(figure: Figure, column: str) -> list[str]:
    """Return one column of a figure's table."""
    place = figure.table.head.index(column)
    return [row[place] for row in figure.table.rows]
