"""What stands beside parity: how often its rule passes, what seeds show, what images show; published figures first."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.marks.equivalence import (
    Design,
    discordance,
    non_inferiority,
    pass_chance,
    residual_deviation,
)
from pytest_mixgpu.marks.judge import judge_mark
from tests.judging import e1_marks, make_evidence, with_prices, with_runs
from tests.sample_doctors import Doctor, with_score
from tests.sample_timeline import MadeRun
from tests.samples import e1_plan

PARITY = e1_marks().mark("e1-parity")
E1 = Design(tolerance=0.5, num_controls=2, num_repeats=1)
RIGHT = {
    "mixed": (3405, 3400, 3410, 3402, 3398),
    "control-a": (3408, 3411, 3400, 3409, 3405),
    "control-b": (3412, 3402, 3409, 3401, 3410),
}
"""Images that each run got right, repeat by repeat."""


def by_repeat(run: MadeRun) -> MadeRun:
    """Give each repeat scores of its own."""
    name = run.header.name
    return with_score(run, RIGHT[name][run.header.repeat]) if name in RIGHT else run


def details_of(*, repeats: int = 1, doctor: Doctor | None = None) -> tuple[str, ...]:
    plan = with_prices(with_runs(e1_plan(), repeats))
    return judge_mark(PARITY, make_evidence(plan=plan, rehearsal=False, repeats=repeats, doctor=doctor)).details


def test_a_model_one_point_worse_passes_in_42_percent_at_a_deviation_of_0_7() -> None:
    """The gap clause rewards noise: E1's own rule, one mixed run and two controls, each with that deviation."""
    assert 42 == round(100 * pass_chance(E1, 1.0, 0.7))
    # Without the clause it would pass in 24 %.
    assert 24 == round(100 * without_gap_clause(1.0, 0.7))


def without_gap_clause(true_difference: float, deviation: float) -> float:
    from scipy.stats import norm

    spread = deviation * 1.5**0.5
    return float(norm.cdf(0.5, true_difference, spread) - norm.cdf(-0.5, true_difference, spread))


@pytest.mark.parametrize("repeats", [1, 3, 5])
@pytest.mark.parametrize("true_difference", [0.0, 0.5, 1.0])
def test_chance_is_that_of_the_rule_carried_out(repeats: int, true_difference: float) -> None:
    """Worked out, it is what 40,000 experiments give that are judged as the judge does: by medians over repeats."""
    import numpy as np

    runs = 0.6 * np.random.default_rng(11).normal(size=(40_000, repeats, 3))
    distance = np.abs(true_difference + runs[:, :, 0] - runs[:, :, 1:].mean(axis=2))
    gap = np.abs(runs[:, :, 1] - runs[:, :, 2])
    passes = np.median(distance, axis=1) <= np.maximum(0.5, np.median(gap, axis=1))

    design = Design(tolerance=0.5, num_repeats=repeats)

    assert design.is_integrated
    assert float(passes.mean()) == pytest.approx(pass_chance(design, true_difference, 0.6), abs=0.01)


@pytest.mark.parametrize("design", [Design(tolerance=0.5, num_repeats=2), Design(tolerance=0.5, num_controls=3)])
def test_other_designs_are_simulated_with_a_fixed_seed(design: Design) -> None:
    """An even number of repeats or a third control has no short form; the chance is the same every time."""
    assert not design.is_integrated
    assert pass_chance(design, 0.5, 0.6) == pass_chance.__wrapped__(design, 0.5, 0.6)
    assert pass_chance(design, 0.0, 0.6) > pass_chance(design, 0.5, 0.6) > pass_chance(design, 1.0, 0.6)


@settings(deadline=None, max_examples=25)
@given(
    true_difference=st.floats(min_value=0.0, max_value=3.0),
    deviation=st.floats(min_value=0.01, max_value=3.0),
    repeats=st.sampled_from([1, 3, 5]),
    unit=st.sampled_from([0.01, 100.0]),
)
def test_chance_is_one_and_knows_no_unit(true_difference: float, deviation: float, repeats: int, unit: float) -> None:
    """It lies between 0 and 1, takes no side, and is the same in shares and in points."""
    plain = Design(tolerance=0.5, num_repeats=repeats)
    chance = pass_chance(plain, true_difference, deviation)

    assert 0.0 <= chance <= 1.0
    assert chance == pytest.approx(pass_chance(plain, -true_difference, deviation))
    scaled = Design(tolerance=0.5 * unit, num_repeats=repeats)
    assert chance == pytest.approx(pass_chance(scaled, true_difference * unit, deviation * unit), abs=1e-6)


@pytest.mark.parametrize(("true_difference", "chance"), [(0.0, 1.0), (0.5, 1.0), (0.51, 0.0)])
def test_without_any_noise_the_rule_is_never_wrong(true_difference: float, chance: float) -> None:
    """Equal meets the tolerance."""
    assert chance == pass_chance(E1, true_difference, 0.0)


def test_deviation_within_a_seed_leaves_out_seeds_and_roles() -> None:
    """A hard seed and a better kind explain themselves; only what is left is chance, and exactly none is none."""
    explained = [[Fraction(seed + role) / 7 for role in (0, 3, 5)] for seed in (900, 930, 950)]
    noisy = [[Fraction(90), Fraction(91)], [Fraction(92), Fraction(91)]]

    assert 0.0 == residual_deviation(explained)
    assert 1.0 == residual_deviation(noisy)
    assert residual_deviation([[Fraction(90), Fraction(91)]]) is None


def test_non_inferiority_is_the_one_sided_test_of_the_books() -> None:
    """Differences of -0.1, 0 and 0.1 lie 8.66 standard errors above minus half a point."""
    test = non_inferiority([-0.1, 0.0, 0.1], 0.5)

    assert test is not None
    assert pytest.approx(test.p, abs=1e-4) == 0.0065
    assert test.is_shown
    assert non_inferiority([0.2], 0.5) is None
    assert non_inferiority([0.2, 0.2], 0.5) is None


def test_mcnemar_is_the_exact_binomial_of_the_discordant_images() -> None:
    """Nine to one of ten images on which only one is right: p = 22/1024, whatever the other images say."""
    first = [True] * 9 + [False] + [True] * 200
    second = [False] * 9 + [True] + [True] * 200
    found = discordance(first, second)

    assert (9, 1) == (found.only_first, found.only_second)
    assert found.p == pytest.approx(22 / 1024)
    assert 1.0 == discordance(first, first).p


def test_one_pair_of_seeds_has_no_interval_and_assumed_deviations() -> None:
    """At n = 1 nothing is known of the spread: chances are told at stated ones, and the published one is among them."""
    text = "\n".join(details_of())

    assert "no interval and no test against the tolerance, from one pair of seeds" in text
    assert "at a standard deviation of 0.7 points (assumed) this rule passes a true difference of 0 in 63 %" in text
    assert "of 1 in 42 % of such experiments (1 repeat, 2 controls)" in text
    assert "the clause of the controls' own gap passes the more, the noisier runs are" in text


def test_several_seeds_have_interval_test_and_the_deviation_that_was_seen() -> None:
    """The interval is on signed differences, paired by seed; the verdict's least difference is that of these too."""
    plan = with_prices(with_runs(e1_plan(), 5))
    evidence = make_evidence(plan=plan, rehearsal=False, repeats=5, doctor=by_repeat)
    verdict = judge_mark(PARITY, evidence)
    text = "\n".join(verdict.details)

    assert verdict.word == "PASS", verdict
    assert "mixed minus controls, paired by seed:" in text
    assert "95 % t interval" in text
    assert "(5 pairs)" in text
    assert "not to be worse by 0.5 points or more (one-sided t test, p = " in text
    assert "(seen between runs, beyond what seed and role explain) this rule passes" in text
    assert "assumed" not in text
    assert verdict.resolvable is not None
    assert f"could have shown a true difference of {verdict.resolvable:.3g} points" in text


@pytest.mark.parametrize(
    ("mixed", "a", "b", "says"),
    [
        pytest.param(440, 440, 440, "the clause of the tolerance passes: a distance of 0 points", id="tolerance"),
        pytest.param(440, 440, 446, "only the clause of the own gap passes: a distance of 0.667 points", id="own-gap"),
        pytest.param(430, 440, 440, "neither clause passes: a distance of 2.22 points", id="neither"),
    ],
)
def test_clause_that_passed_stands_beside_its_band(mixed: int, a: int, b: int, says: str) -> None:
    """Tolerance and own gap are both told, whichever was applied."""
    right = {"mixed": mixed, "control-a": a, "control-b": b}
    verdict = judge_mark(
        PARITY,
        make_evidence(doctor=lambda run: with_score(run, right[run.header.name]) if run.header.name in right else run),
    )

    assert any(text.startswith(says) and "tolerance 0.5, the controls' own gap" in text for text in verdict.details)


def test_images_are_told_apart_from_seeds() -> None:
    """McNemar's test is about these weights and this test set, for each control, and says so."""
    found = [text for text in details_of() if "McNemar" in text]

    assert 1 == len(found)
    assert found[0].startswith("these two models, this test set, and no part of the spread between seeds")
    assert 2 == found[0].count("McNemar, exact, p = ")


def test_a_mark_without_controls_has_nothing_of_this() -> None:
    """Speed is compared with no control."""
    verdict = judge_mark(e1_marks().mark("e1-speedup"), make_evidence())

    assert not [text for text in verdict.details if "McNemar" in text or "clause" in text]


def test_no_distance_is_shown_below_zero() -> None:
    """Of few runs that lie far apart the interval of the mean reaches below; what is shown ends at 0."""
    scores = {"mixed": (3405, 3500, 3410), "control-a": (3408,) * 3, "control-b": (3408,) * 3}
    plan = with_prices(with_runs(e1_plan(), 3))

    def doctor(run: MadeRun) -> MadeRun:
        name = run.header.name
        return with_score(run, scores[name][run.header.repeat]) if name in scores else run

    verdict = judge_mark(PARITY, make_evidence(plan=plan, rehearsal=False, repeats=3, doctor=doctor))

    assert verdict.interval is not None, verdict
    assert 0.0 == verdict.interval[0] < verdict.interval[1]
