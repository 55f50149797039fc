"""`--gpus`: exactly this pool, or exit status 4 with what was found; never less, never a skip."""

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench
from tests.plugin.suite_texts import SAMPLES

SHORTFALL = "--gpus=a40:16"


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param("a40:", "*--gpus=a40:: *", id="no count"),
        pytest.param("h100:8", "*--gpus=h100:8: *h100-sxm*", id="family"),
        pytest.param("a40:16", "*--gpus=a40:16: *a40:16*leave --gpus out*rehearses on cpu:2*", id="shortfall"),
        pytest.param("cpu:100000", "*--gpus=cpu:100000: *cpu:*", id="more cores than there are"),
    ],
)
def test_request_that_cannot_be_met(e1: Bench, spec: str, said: str) -> None:
    """The message says what was asked, what is here, and what to do; nothing is registered."""
    before = len(e1.registered())

    result = e1.pytest(f"--gpus={spec}")

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    result.stderr.fnmatch_lines([said])
    assert before == len(e1.registered())
    assert "torch" not in e1.modules()


def test_shortfall_under_xdist(e1: Bench) -> None:
    """The controller refuses before any worker starts."""
    result = e1.pytest(SHORTFALL, "-n", "2")

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    result.stderr.fnmatch_lines(["*--gpus=a40:16: *"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


def test_shortfall_without_a_plan(bench: Bench) -> None:
    """A suite of samples refuses likewise."""
    bench.write("test_sum.py", SAMPLES)

    result = bench.pytest(SHORTFALL)

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--gpus=a40:16: *"])


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["plain", "xdist"])
def test_collecting_touches_no_device(e1: Bench, workers: tuple[str, ...]) -> None:
    """`--collect-only` lists the tests whatever pool was asked for."""
    result = e1.pytest(SHORTFALL, "--collect-only", *workers)

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert "test_wait_for_gpus" in result.stdout.str()
    assert "torch" not in e1.modules()


def test_session_without_marks_asks_for_nothing(bench: Bench) -> None:
    """Tests that are not ours run whatever `--gpus` says."""
    bench.write("test_other.py", "def test_other(): pass\n")

    bench.pytest(SHORTFALL).assert_outcomes(passed=1)


def test_pool_is_the_fixture(bench: Bench) -> None:
    """`gpus` is the pool that was asked for."""
    bench.write("test_pool.py", "def test_pool(gpus):\n    assert gpus.spec == 'cpu-portable:1'\n")

    bench.pytest("--gpus=cpu-portable").assert_outcomes(passed=1)
