"""How charts look: colours, shapes, sizes. Knows no library.

Colours follow Okabe and Ito, moved where that was needed for a contrast of 3 to 1 on white and on a dark page alike. A
page may set the custom properties that stand before them. Nothing is told by colour alone.
"""

from collections.abc import Mapping
from typing import Final

from pytest_mixgpu.timing.model import Phase

INK: Final = "currentColor"
BLUE: Final = "#1f83c4"
VERMILION: Final = "#d55e00"
GREEN: Final = "#009e73"
PURPLE: Final = "#cc79a7"
AMBER: Final = "#b58900"
GREY: Final = "#888888"

WIDTH: Final = 560
"""Of the plot."""
VIEW_WIDTH: Final = 760
"""Of a whole drawing, its lane labels included."""
LABEL_WIDTH: Final = 150
TEXT_SIZE: Final = 13

PHASE_COLOURS: Final[Mapping[Phase, str]] = {
    "compute": f"var(--compute, {BLUE})",
    "prepare": f"var(--prepare, {PURPLE})",
    "send": f"var(--send, {VERMILION})",
    "queue": f"var(--queue, {AMBER})",
    "wait": f"var(--wait, {GREY})",
    "combine": f"var(--combine, {INK})",
    "return": f"var(--return, {GREEN})",
}
PHASE_HEIGHTS: Final[Mapping[Phase, int]] = {
    "compute": 14,
    "prepare": 10,
    "send": 10,
    "queue": 5,
    "wait": 2,
    "combine": 14,
    "return": 10,
}
"""In pixels: work is thick, waiting is thin, whatever the colours."""

SERIES_COLOURS: Final = (BLUE, VERMILION, GREEN, PURPLE, AMBER, GREY)
SERIES_SHAPES: Final = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
