"""Users' own numbers: samples of a stopwatch and bare values, and what is said of what is not known of them."""

import math

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.lock import Bindings, Lock, freeze
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.stated import judge_samples, judge_value
from pytest_mixgpu.timing.model import Samples

MARK = PassMark(id="gemm", metric="gemm", comparator="at_most", bound=5.0, unit="ms", pool="a40:1")
ANYWHERE = replace(MARK, pool="")
SAMPLES = Samples(name="gemm", values_s=(0.004, 0.005, 0.006), warmups_s=(0.1,), devices=("GPU-1",), kinds=("a40",))


def lock_of(mark: PassMark) -> Lock:
    bindings = Bindings(plan="", code="", evaluator="")
    return freeze(None, [mark], [], suite="s", plan=None, bindings=bindings, now="2026-11-29T10:00:00+00:00")


def test_median_of_the_samples_is_compared_in_the_marks_unit() -> None:
    """Seconds become milliseconds; warm-ups are not in the median; samples of one run have no interval."""
    verdict = judge_samples(MARK, SAMPLES, lock=lock_of(MARK))

    assert ("PASS", 5.0, "a40:1", 1, None, ()) == (
        verdict.word, verdict.value, verdict.pool, verdict.n, verdict.interval, verdict.qualifiers,
    )  # fmt: skip
    assert (5.0,) == verdict.run_values
    assert "preliminary" in verdict.notes
    assert "median of 3 samples after 1 warm-ups" in verdict.details[0]


@pytest.mark.parametrize(
    ("mark", "samples", "word", "says"),
    [
        pytest.param(MARK, replace(SAMPLES, kinds=("a40", "a40")), "VOID", "taken on a40:2", id="two-devices"),
        pytest.param(MARK, replace(SAMPLES, kinds=("rtx4090",)), "VOID", "taken on rtx4090:1", id="another-kind"),
        pytest.param(
            MARK, replace(SAMPLES, kinds=()), "UNJUDGED", "do not say what they were taken on", id="devices-unstated"
        ),
        pytest.param(replace(MARK, unit="TFLOP/s"), SAMPLES, "UNJUDGED", "samples are durations", id="no-unit-of-time"),
        pytest.param(replace(MARK, metric="speedup"), SAMPLES, "UNJUDGED", "from run records", id="metric-of-records"),
        pytest.param(ANYWHERE, replace(SAMPLES, values_s=(0.0051,)), "FAIL", "is not at most 5 ms", id="too-slow"),
    ],
)
def test_samples_of_something_else_meet_no_mark(mark: PassMark, samples: Samples, word: str, says: str) -> None:
    """Readings of another pool are VOID, never a rehearsal; what is not stated is UNJUDGED."""
    verdict = judge_samples(mark, samples, lock=lock_of(mark))

    assert word == verdict.word, verdict
    assert says in verdict.reason


def test_a_stand_in_pool_rehearses() -> None:
    """A session on CPU cores alone rehearses a mark for GPUs, and says what it ran on."""
    verdict = judge_samples(MARK, replace(SAMPLES, kinds=("cpu",)), lock=lock_of(MARK), stands_in=True)

    assert ("PASS", ("rehearsal",), "cpu:1") == (verdict.word, verdict.qualifiers, verdict.pool)


def test_unfrozen_mark_is_exploratory_and_an_edited_one_tampered() -> None:
    """The lock binds users' marks as it binds ours."""
    assert ("exploratory",) == judge_samples(MARK, SAMPLES).qualifiers
    assert "TAMPERED" == judge_samples(replace(MARK, bound=50.0), SAMPLES, lock=lock_of(MARK)).word
    assert "TAMPERED" == judge_value(replace(MARK, bound=50.0), 3.0, lock=lock_of(MARK)).word


@pytest.mark.parametrize(
    ("value", "word"),
    [
        pytest.param(4.999, "PASS", id="under"),
        pytest.param(5.0, "PASS", id="equal"),
        pytest.param(5.001, "FAIL", id="over"),
        pytest.param(math.nan, "UNJUDGED", id="nan"),
        pytest.param(math.inf, "UNJUDGED", id="infinite"),
    ],
)
def test_bare_number_is_judged_and_noted(value: float, word: str) -> None:
    """It is recorded as what it is: stated by the test."""
    verdict = judge_value(ANYWHERE, value, lock=lock_of(ANYWHERE))

    assert word == verdict.word
    assert {"value-stated", "self-reported"} <= set(verdict.notes)


@pytest.mark.parametrize(
    ("devices", "word", "note"),
    [
        pytest.param((), "UNJUDGED", False, id="devices-unstated"),
        pytest.param(("a40",), "PASS", True, id="devices-stated"),
        pytest.param(("a40", "a40"), "VOID", True, id="other-devices-stated"),
    ],
)
def test_bare_number_for_a_pool_needs_its_devices(devices: tuple[str, ...], word: str, note: bool) -> None:  # noqa: FBT001
    """A mark for a pool is not met by a number from nowhere."""
    verdict = judge_value(MARK, 4.0, lock=lock_of(MARK), devices=devices)

    assert (word, note) == (verdict.word, "devices-stated" in verdict.notes)


def test_within_judges_the_distance_from_zero() -> None:
    """A difference of either sign."""
    mark = PassMark(id="gap", metric="gap", comparator="within", bound=0.5, unit="points")

    assert ["PASS", "PASS", "FAIL", "FAIL"] == [judge_value(mark, value).word for value in (0.5, -0.5, 0.51, -0.51)]
