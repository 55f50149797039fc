"""Where git can say nothing of the lock, the first claim is UNJUDGED with the reason; the others stand."""

import shutil

from tests.plugin.bench import Bench

RECORDS = "--mixgpu-records=reports"


def first_claim_is_unjudged(bench: Bench, why: str) -> None:
    """Judge the records and look at the first claim."""
    result = bench.pytest(RECORDS)

    assert 1 == result.ret
    assert {"passed": 7, "rehearsed": 2, "failed": 1} == result.parseoutcomes(), result.stdout.str()
    verdict = bench.verdicts()["e1-recorded-first"]
    assert "UNJUDGED" == verdict.word
    assert why in " ".join([verdict.reason, *verdict.details])


def test_archive(e1: Bench) -> None:
    """An archive holds no history."""
    shutil.rmtree(e1.folder / ".git")

    first_claim_is_unjudged(e1, "no git repository")


def test_shallow_clone(e1: Bench) -> None:
    """A shallow clone may have cut off the commit that brought the lock."""
    e1.commit()
    shallow = Bench(e1.folder.parent / "shallow")
    e1.git("clone", "--quiet", "--depth=1", e1.folder.as_uri(), str(shallow.folder))
    shutil.copytree(e1.folder / "reports", shallow.folder / "reports")

    first_claim_is_unjudged(shallow, "shallow clone")


def test_uncommitted_lock(e1: Bench) -> None:
    """A lock that was never committed was seen by nobody."""
    e1.git("rm", "--quiet", "--cached", "passmarks.lock")
    e1.git("commit", "--quiet", "--message", "Without the lock")

    first_claim_is_unjudged(e1, "not under version control")
