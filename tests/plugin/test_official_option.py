"""`--mixgpu-official`: no qualifier, and nothing frozen that was left out."""

import re

from tests.plugin.bench import Bench, prose
from tests.plugin.suite_texts import VALUE

RECORDS = "--mixgpu-records=reports"
OFFICIAL = "--mixgpu-official"
SKIPPED = '@pytest.mark.skip(reason="not today")\n@pytest.mark.claim("e1-wait"'


def test_rehearsals_fail(e1: Bench) -> None:
    """Stand-ins met the two marks, and nothing vouches for the runs of claims; one claim is on the plan alone."""
    result = e1.pytest(RECORDS, OFFICIAL)

    assert 1 == result.ret
    assert result.parseoutcomes()["failed"] >= 9, result.stdout.str()
    result.stdout.fnmatch_lines(["REFUSED e1-phases by --mixgpu-official: no head that is kept outside*"])
    result.stdout.fnmatch_lines(["REFUSED e1-speedup by --mixgpu-official: it is rehearsal*"])
    assert {"e1-wait"} >= {id_ for id_, verdict in e1.verdicts().items() if "unanchored" not in verdict.notes}


def test_deselected_mark_fails(e1: Bench) -> None:
    """Leaving a frozen claim out is no way to pass."""
    chosen = ("-k", "wait")
    plain = e1.pytest(RECORDS, *chosen)
    official = e1.pytest(RECORDS, OFFICIAL, *chosen)

    assert (0, 1) == (plain.ret, official.ret)
    for result in (plain, official):
        assert 9 == result.parseoutcomes()["deselected"]
        assert re.search(r"UNJUDGED .*\be1-speedup\b.*: frozen in passmarks.lock", prose(result))
    assert "an official session fails on what was left out" in prose(official)


def test_deleted_mark_fails(bench: Bench) -> None:
    """A mark whose test is gone is still in the lock, and no test is left that could fail for it."""
    bench.write("test_latency.py", VALUE)
    bench.write("test_delay.py", VALUE.replace("latency", "delay"))
    bench.freeze()
    (bench.folder / "test_delay.py").unlink()

    result = bench.pytest(OFFICIAL)

    assert 1 == result.ret
    assert {"passed": 1} == result.parseoutcomes(), result.stdout.str()
    assert re.search(r"UNJUDGED delay: frozen in passmarks.lock", prose(result))


def test_skipped_mark_fails(e1: Bench) -> None:
    """A frozen claim that is skipped fails an official session, and is UNJUDGED in any."""
    e1.edit("test_e1.py", '@pytest.mark.claim("e1-wait"', SKIPPED)

    result = e1.pytest(RECORDS, OFFICIAL, "-k", "wait")

    assert 1 == result.ret, result.stdout.str()
    assert "UNJUDGED" == e1.verdicts()["e1-wait"].word


def test_unfrozen_mark_fails(bench: Bench) -> None:
    """A bound that nobody froze is exploratory, one that is in no commit has no witness; committed it passes."""
    bench.write("test_latency.py", VALUE)
    loose = bench.pytest(OFFICIAL)
    bench.pytest("--passmark-freeze")
    frozen = bench.pytest(OFFICIAL)
    bench.commit()
    committed = bench.pytest(OFFICIAL)

    loose.assert_outcomes(failed=1)
    loose.stdout.fnmatch_lines(["*--mixgpu-official: it is exploratory*"])
    frozen.assert_outcomes(failed=1)
    frozen.stdout.fnmatch_lines(["*--mixgpu-official: git does not show*", "*unwitnessed: git cannot witness it: *"])
    committed.assert_outcomes(passed=1)
    assert 0 == committed.ret
