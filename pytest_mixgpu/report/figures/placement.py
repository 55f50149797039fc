"""Where participants and coordinator ran, host by host, with the links between them as they were measured.

Of more than `MAX_LANES` participants only hosts are drawn, each with the slowest of its links.
"""

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.records.model import Link, RunRecord
from pytest_mixgpu.report.figures.chosen import UNDER_TEST, first_of_each, repeats_note
from pytest_mixgpu.report.figures.look import AMBER, BLUE, INK, SERIES_SHAPES, VERMILION
from pytest_mixgpu.report.figures.made import counted, make_figure, participant_label, run_label
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    import altair as alt

    from pytest_mixgpu.report.figures.draw import Row

MAX_LANES = 24
MAX_HOSTS = 40


class Place(NamedTuple):
    """One participant, or all of one host, with its link to the coordinator."""

    host: str
    label: str
    kind: str
    link: Link | None
    num_participants: int = 1


def placement_figures(runs: Sequence[RunRecord]) -> tuple[Figure, ...]:
    """Draw the placement of each run under test that has a coordinator."""
    found = [run for run in first_of_each(runs, UNDER_TEST) if run.header.coordinator]
    return tuple(_figure(run, repeats_note(runs, run)) for run in found)


def _figure(run: RunRecord, notes: list[str]) -> Figure:
    places, coordinator = _places(run), clean(run.header.coordinator, limit=40)
    drawn = places
    if len(places) > MAX_LANES:
        drawn = _by_host(places)
        notes = [*notes, f"{len(places):,} participants are put together by host: each with the slowest of its links."]
    if len(drawn) > MAX_HOSTS:
        notes = [*notes, f"The {MAX_HOSTS} of {len(drawn):,} hosts whose links are slowest."]
        drawn = sorted(drawn, key=_speed)[:MAX_HOSTS]
    hosts = dict.fromkeys(place.host for place in places)
    remote = [place for place in places if place.link is not None and place.host != coordinator]
    links = [place.link for place in (remote or places) if place.link is not None]
    return make_figure(
        id=f"placement-{run.header.name}",
        title=f"{run_label(run)}: {counted(len(places), 'participant')} on {counted(len(hosts), 'host')}, the "
        f"coordinator on {coordinator}{_links_in_words(links, is_remote=bool(remote))}",
        alt="Participants on the left, grouped by host, each joined to the coordinator on the right by its link, with "
        "the round trip and the rate in both directions as they were measured at the start of the run.",
        head=("participant", "host", "round trip", "up", "down"),
        rows=[(place.label, place.host, *_link_cells(place.link)) for place in places],
        chart=lambda: _chart(len(drawn), list(dict.fromkeys(place.kind for place in drawn))),
        datasets=_rows(drawn, coordinator),
        notes=notes,
    )


def _places(run: RunRecord) -> list[Place]:
    links = {} if run.start is None else {link.participant: link for link in run.start.links}
    found = [
        Place(
            clean(device.host, limit=40), participant_label(run, index), clean(device.kind, limit=40), links.get(index)
        )
        for index, device in enumerate(run.devices)
    ]
    order = {host: place for place, host in enumerate(dict.fromkeys(one.host for one in found))}
    return sorted(found, key=lambda one: order[one.host])


def _by_host(places: Sequence[Place]) -> list[Place]:
    groups: dict[str, list[Place]] = {}
    for place in places:
        groups.setdefault(place.host, []).append(place)
    return [
        min(members, key=_speed)._replace(
            label=counted(len(members), "participant"),
            kind=", ".join(dict.fromkeys(one.kind for one in members))[:40],
            num_participants=len(members),
        )
        for members in groups.values()
    ]


def _speed(place: Place) -> float:
    return math.inf if place.link is None else min(place.link.up_bytes_per_s, place.link.down_bytes_per_s)


def _links_in_words(links: Sequence[Link], *, is_remote: bool) -> str:
    """Say the median link between hosts, or within the one host that there is."""
    if not links:
        return ""
    rate = statistics.median(min(link.up_bytes_per_s, link.down_bytes_per_s) for link in links)
    trip_s = statistics.median(link.round_trip_s for link in links)
    where = "between hosts" if is_remote else "within the host"
    return f"; median link {where} {units.format_rate(rate)}, {units.format_duration(trip_s)} there and back"


def _link_cells(link: Link | None) -> tuple[str, str, str]:
    if link is None:
        return ("not measured",) * 3
    rates = (units.format_rate(rate) for rate in (link.up_bytes_per_s, link.down_bytes_per_s))
    up, down = rates
    return units.format_duration(link.round_trip_s), up, down


def _rows(places: Sequence[Place], coordinator: str) -> "dict[str, list[Row]]":
    """Lay places out from top to bottom, hosts as bands; the coordinator stands in the middle of the right side."""
    middle = (len(places) - 1) / 2
    bands: dict[str, list[int]] = {}
    for y, place in enumerate(places):
        bands.setdefault(place.host, []).append(y)
    return {
        "places": [{"y": y, "label": place.label, "kind": place.kind} for y, place in enumerate(places)],
        "links": [
            {"y": y, "y2": middle, "text": _edge(place.link), "is_known": place.link is not None}
            for y, place in enumerate(places)
        ],
        "hosts": [
            {"low": min(ys) - 0.45, "high": max(ys) + 0.45, "y": min(ys), "host": host} for host, ys in bands.items()
        ],
        "coordinator": [{"y": middle, "text": "coordinator", "host": f"on {coordinator}"}],
    }


def _edge(link: Link | None) -> str:
    if link is None:
        return "link not measured"
    trip, up, down = _link_cells(link)
    return f"{trip}, up {up}, down {down}"


def _chart(num_places: int, kinds: Sequence[str]) -> "alt.TopLevelMixin":
    import altair as alt

    def of(name: str) -> alt.Chart:
        return alt.Chart(alt.NamedData(name))

    scale = alt.Scale(domain=[-0.6, num_places - 0.4], reverse=True, nice=False, zero=False)
    y = alt.Y("y:Q", axis=None, scale=scale)
    left, near, text, right = 262, 275, 290, 600
    shapes = alt.Scale(domain=list(kinds), range=[SERIES_SHAPES[i % len(SERIES_SHAPES)] for i in range(len(kinds))])
    return alt.layer(
        of("hosts").mark_rect(color=BLUE, opacity=0.12, cornerRadius=4).encode(
            x=alt.value(0), x2=alt.value(left + 8), y=alt.Y("low:Q", axis=None, scale=scale), y2="high:Q"
        ),
        of("hosts").mark_text(align="left", fontWeight="bold").encode(x=alt.value(6), y=y, text="host:N"),
        of("links").mark_rule(color=AMBER, opacity=0.7, strokeWidth=1.5).encode(
            x=alt.value(near + 235), x2=alt.value(right - 12), y=y, y2="y2:Q"
        ),
        of("links").mark_rule(color=AMBER, opacity=0.7, strokeWidth=1.5).encode(
            x=alt.value(left), x2=alt.value(text - 4), y=y
        ),
        of("links").mark_text(align="left", fontSize=11).encode(x=alt.value(text), y=y, text="text:N"),
        of("places").mark_text(align="right").encode(x=alt.value(left - 22), y=y, text="label:N"),
        of("places").mark_point(filled=True, size=90, color=BLUE, opacity=1).encode(
            x=alt.value(left - 10), y=y, shape=alt.Shape("kind:N", scale=shapes, legend=alt.Legend(title=None))
        ),
        of("coordinator").mark_point(filled=True, shape="diamond", size=220, color=VERMILION, opacity=1).encode(
            x=alt.value(right), y=y
        ),
        of("coordinator").mark_text(align="left", dx=14, dy=-7).encode(x=alt.value(right), y=y, text="text:N"),
        of("coordinator").mark_text(align="left", dx=14, dy=8, fontWeight="bold", color=INK).encode(
            x=alt.value(right), y=y, text="host:N"
        ),
    ).properties(width=right, height=max(60, 26 * num_places))  # fmt: skip
