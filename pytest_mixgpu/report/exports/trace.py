"""`trace.json`: the phases of all runs as Chrome trace events, for Perfetto (ui.perfetto.dev) or chrome://tracing.

A process a run, in the order of registration; in it a track for the run from lease to release, one for the coordinator,
and one a participant. Runs follow each other after a pause of a second, whatever time lay between them; when each was
registered stands in its arguments. Times are microseconds on the coordinator's clock. A participant's round is placed
there by the estimated start of its own clock, with its uncertainty in `uncertainty_us`: longer than a gap between two
tracks, and the gap shows nothing. Durations inside a track are measured, not estimated.

Events are written as they are made, so that memory grows with the participants and not with the rounds. Perfetto takes
JSON up to some hundred megabytes: beyond `MAX_EVENTS` only every n-th round is drawn, evenly over each run, and what is
not drawn stands as a stretch of its own on the coordinator's track.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.exports.jsontext import inert_json
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.stated import stated_verdicts
from pytest_mixgpu.report.exports.trace_run import RunTrace
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.whole_files import replace_stream

MAX_EVENTS: Final = 400_000
"""About 60 MB."""
PAUSE_NS: Final = 1_000_000_000
"""Between two runs."""


def write_trace(material: Material, path: Path) -> None:
    """Write the trace beside the page."""
    replace_stream(path, trace_pieces(material))


def trace_pieces(material: Material, *, max_events: int = MAX_EVENTS) -> Iterator[str]:
    """Write the trace, piece by piece.

    Args:
        material: whose records are drawn and whose verdicts are stated beside.
        max_events: about how many events there may be.
    """
    every = stride(material.records, max_events=max_events)
    yield '{"displayTimeUnit":"ms","otherData":' + inert_json(_about(material, every)) + ',"traceEvents":[\n'
    separator = ""
    start_ns, pid = 0, 1
    for record in material.records:
        run = RunTrace(record, pid=pid, start_ns=start_ns, every=every)
        for event in run.events():
            yield f"{separator}{event}"
            separator = ",\n"
        start_ns, pid = run.end_ns + PAUSE_NS, run.next_pid
    yield "\n]}\n"


def stride(records: Sequence[RunRecord], *, max_events: int) -> int:
    """Say that every n-th round is drawn: all where there are few enough."""
    num_events = sum(len(segments) + 1 for record in records for line in record.rounds for segments in line.segments)
    return max(1, -(-num_events // max_events))


def _about(material: Material, every: int) -> dict[str, object]:
    return {
        "made_by": "pytest-mixgpu",
        "suite": clean(material.occasion.suite),
        "session": clean(material.occasion.session),
        "made_at": clean(material.occasion.made_at),
        "clock": "microseconds on the coordinator's clock; participants by an offset that was estimated in each round",
        "drawn": "every round" if every == 1 else f"1 of {every:,} rounds; the others as one stretch between them",
        "verdicts": stated_verdicts(material.verdicts),
    }
