"""Single Chrome trace events as lines of JSON. Times go in as nanoseconds and come out as microseconds, exactly.

Perfetto drops slices of one track that cross: they may only touch or nest. A `Track` sees to that.
"""

from collections.abc import Mapping
from typing import Literal

from pytest_mixgpu.report.exports.jsontext import inert_json
from pytest_mixgpu.report.exports.trace_time import Stretch

Name = Literal["process_name", "process_labels", "thread_name"]
_ARGUMENT: Mapping[str, str] = {"process_labels": "labels"}


class Track:
    """One row of the trace: a thread of a process."""

    def __init__(self, pid: int, tid: int) -> None:
        self._where = f'"pid":{pid},"tid":{tid}'
        self.end_ns = 0
        """End of its last slice."""
        self._inner_ns = 0

    def name(self, kind: Name, text: str) -> str:
        """Name the track or its process."""
        return f'{{"ph":"M","name":"{kind}",{self._where},"args":{inert_json({_ARGUMENT.get(kind, "name"): text})}}}'

    def order(self, place: int, *, of_process: bool = False) -> str:
        """Say at which place the track, or its process, is shown."""
        kind = "process_sort_index" if of_process else "thread_sort_index"
        return f'{{"ph":"M","name":"{kind}",{self._where},"args":{{"sort_index":{place}}}}}'

    def slice(self, name: str, where: Stretch, args: Mapping[str, object]) -> str:
        """Draw a slice; it begins where the one before ended, if it would cross that."""
        start_ns = self._inner_ns = max(where.start_ns, self.end_ns)
        self.end_ns = max(where.end_ns, start_ns)
        return self._complete(inert_json(name), start_ns, self.end_ns, inert_json(args))

    def inner(self, name: str, where: Stretch, args: str) -> str:
        """Draw a slice within the last one, and after what was drawn in it before.

        Args:
            name: one of our own words.
            where: it lies; cut to what is free in the outer slice.
            args: as JSON.
        """
        start_ns = min(max(where.start_ns, self._inner_ns), self.end_ns)
        self._inner_ns = min(max(where.end_ns, start_ns), self.end_ns)
        return self._complete(f'"{name}"', start_ns, self._inner_ns, args)

    def instant(self, name: str, at_ns: int, args: Mapping[str, object]) -> str:
        """Mark an instant."""
        shown = f'"name":{inert_json(name)},"ts":{_microseconds(at_ns)},"args":{inert_json(args)}'
        return f'{{"ph":"i","s":"t",{self._where},{shown}}}'

    def _complete(self, name: str, start_ns: int, end_ns: int, args: str) -> str:
        times = f'"ts":{_microseconds(start_ns)},"dur":{_microseconds(end_ns - start_ns)}'
        return f'{{"ph":"X","name":{name},{self._where},{times},"args":{args}}}'


def _microseconds(nanoseconds: int) -> str:
    return f"{nanoseconds // 1000}.{nanoseconds % 1000:03d}"
