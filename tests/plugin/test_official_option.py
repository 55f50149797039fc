"""`--mixgpu-official`: no qualifier, and nothing frozen that was left out."""

import re

from tests.plugin.bench import Bench, prose
from tests.plugin.suite_texts import VALUE

RECORDS = "--mixgpu-records=reports"
OFFICIAL = "--mixgpu-official"
SKIPPED = '@pytest.mark.skip(reason="not today")\n@pytest.mark.claim("e1-wait"'


def test_rehearsals_fail(e1: Bench) -> None:
    """Eight claims about the record stand; the two marks were met by a stand-in."""
    result = e1.pytest(RECORDS, OFFICIAL)

    assert 1 == result.ret
    assert {"passed": 8, "failed": 2} == result.parseoutcomes(), result.stdout.str()
    result.stdout.fnmatch_lines(["*--mixgpu-official: it is rehearsal*"])


def test_deselected_mark_fails(e1: Bench) -> None:
    """Leaving a frozen claim out is no way to pass."""
    chosen = ("-k", "wait")
    plain = e1.pytest(RECORDS, *chosen)
    official = e1.pytest(RECORDS, OFFICIAL, *chosen)

    assert (0, 1) == (plain.ret, official.ret)
    for result in (plain, official):
        assert {"passed": 1, "deselected": 9} == result.parseoutcomes()
        assert re.search(r"UNJUDGED .*\be1-speedup\b.*: frozen in passmarks.lock", prose(result))
    assert "an official session fails on what was left out" in prose(official)


def test_deleted_mark_fails(e1: Bench) -> None:
    """A claim whose test is gone is still in the lock."""
    text = (e1.folder / "test_e1.py").read_text("utf-8")
    e1.write("test_e1.py", text.partition('@pytest.mark.claim("e1-wait"')[0])

    result = e1.pytest(RECORDS, OFFICIAL, "-k", "not speed and not quality and not fast")

    assert 1 == result.ret
    assert "failed" not in result.parseoutcomes(), result.stdout.str()
    assert re.search(r"UNJUDGED .*\be1-wait: frozen in passmarks.lock", prose(result))


def test_skipped_mark_fails(e1: Bench) -> None:
    """A frozen claim that is skipped fails an official session, and is UNJUDGED in any."""
    e1.edit("test_e1.py", '@pytest.mark.claim("e1-wait"', SKIPPED)

    result = e1.pytest(RECORDS, OFFICIAL, "-k", "wait")

    assert 1 == result.ret, result.stdout.str()
    assert "UNJUDGED" == e1.verdicts()["e1-wait"].word


def test_unfrozen_mark_fails(bench: Bench) -> None:
    """A bound that nobody froze is exploratory; frozen and committed it passes."""
    bench.write("test_latency.py", VALUE)
    loose = bench.pytest(OFFICIAL)
    bench.freeze()
    frozen = bench.pytest(OFFICIAL)

    loose.assert_outcomes(failed=1)
    loose.stdout.fnmatch_lines(["*--mixgpu-official: it is exploratory*"])
    frozen.assert_outcomes(passed=1)
    assert 0 == frozen.ret
