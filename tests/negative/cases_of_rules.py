"""Doctored experiments for the rules that a mark freezes beside its bound: too few runs, an interval on both sides."""

from collections.abc import Callable

from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.model import PassMark, Straddling
from tests.judging import e1_marks, freeze_e1, make_evidence, with_prices, with_runs
from tests.negative.doctoring import Case
from tests.sample_doctors import Doctor, only, with_speed
from tests.sample_timeline import MadeRun
from tests.samples import e1_plan

Change = Callable[[PassMark], PassMark]

CLEAR = (1.0, 1.01, 0.99)
"""How fast the fleet is, repeat by repeat, where its interval lies above the bound: 15 times one device, 11.2 asked."""
APART = (0.75, 0.95, 0.74)
"""Where the median is just above the bound and the interval on both sides of it."""


def fleet_at(speeds: tuple[float, ...]) -> Doctor:
    """Let the fleet be that fast in each repeat."""

    def doctor(run: MadeRun) -> MadeRun:
        return with_speed(run, speeds[run.header.repeat])

    return only(doctor, name="fleet")


def experiment(change: Change, speeds: tuple[float, ...], *, rehearsal: bool = False) -> Callable[[], Evidence]:
    """Make the runs of an experiment whose marks were frozen with a rule."""

    def make() -> Evidence:
        marks = [change(mark) for mark in e1_marks().marks]
        plan = with_prices(with_runs(e1_plan(), len(speeds)))
        return make_evidence(
            plan=plan,
            lock=lambda _: freeze_e1(plan, marks=marks),
            marks=marks,
            doctor=None if rehearsal else fleet_at(speeds),
            rehearsal=rehearsal,
            repeats=len(speeds),
        )

    return make


def least(num_runs: int) -> Change:
    """Ask for this many runs."""
    return lambda mark: replace(mark, least_runs=num_runs)


def straddling(rule: Straddling) -> Change:
    """Say what becomes of an interval on both sides of the bound."""
    return lambda mark: replace(mark, straddling=rule)


CASES_OF_RULES = (
    Case(
        "e1-speedup",
        "fewer-runs-than-the-mark-asks-for",
        experiment(least(3), CLEAR[:2]),
        "UNJUDGED",
        "2 runs stand behind the value, the mark asks for at least 3",
        least(3),
    ),
    Case(
        "e1-parity",
        "one-run-where-the-mark-asks-for-two",
        experiment(least(2), CLEAR[:1]),
        "UNJUDGED",
        "1 run stands behind the value, the mark asks for at least 2",
        least(2),
    ),
    Case(
        "e1-speedup",
        "interval-on-both-sides-leaves-it-open",
        experiment(straddling("unjudged"), APART),
        "UNJUDGED",
        "lies on both sides of 11.2; the mark was frozen with straddling='unjudged'",
        straddling("unjudged"),
    ),
    Case(
        "e1-speedup",
        "interval-on-both-sides-fails",
        experiment(straddling("fail"), APART),
        "FAIL",
        "lies on both sides of 11.2; the mark was frozen with straddling='fail'",
        straddling("fail"),
    ),
    *(
        Case(
            "e1-speedup",
            f"no-interval-under-{rule}",
            experiment(straddling(rule), CLEAR[:1]),
            "UNJUDGED",
            "no interval: one run, so nothing shows on which side of the bound the truth lies",
            straddling(rule),
        )
        for rule in ("unjudged", "fail")
    ),
)
