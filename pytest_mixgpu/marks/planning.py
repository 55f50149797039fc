"""What frozen marks need, before any run: from lock, plan and earlier spreads to numbers of runs. Pure; runs nothing.

Where no spread was seen, stated ones are assumed; what follows from these is as good as they are.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.marks.comparison import share_of
from pytest_mixgpu.marks.equivalence import Design
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import PassMark, Straddling
from pytest_mixgpu.marks.parity_beside import ASSUMED_SHARES
from pytest_mixgpu.marks.quality import MIN_CONTROLS
from pytest_mixgpu.marks.seen import Seen
from pytest_mixgpu.marks.statistics import resolvable_in_deviations
from pytest_mixgpu.records.plan import Plan, RolePlan

ASSUMED_OF_BOUND = (0.01, 0.02, 0.05)
"""Standard deviations to assume where none was seen, as shares of the bound."""
ASSUMED_MARGIN_SHARE = 0.05
"""How far from its bound a value is assumed to lie, where nothing was seen, as a share of the bound."""
MOST_RUNS = 1_000
"""Where the search for a number of runs ends."""


class Spreading(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one standard deviation between runs would mean for a mark, in its unit."""

    deviation: float
    where: str
    """`assumed`, or of which runs it was seen."""
    resolvable: float | None
    """What the planned number of runs could show; None for one run."""
    margin: float
    """How far the truth is taken to lie from the bound."""
    runs_needed: int | None
    """So that the interval can be expected on one side of the bound; None where not even `MOST_RUNS` are enough."""


class MarkNeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one mark needs."""

    mark: PassMark
    is_frozen: bool
    bound: float | None
    """As far as it is known before any run; None where it hangs on what is measured."""
    origin: str = ""
    num_planned: int
    lacks: tuple[str, ...] = ()
    """What keeps the plan from ever meeting the mark's own rules, a sentence each."""
    spreadings: tuple[Spreading, ...] = ()
    design: Design | None = None
    """Of a comparison with controls."""


class RoleNeed(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many runs of one role."""

    name: str
    role: str
    pool: str
    num_runs: int
    num_made: int = 0
    """That the ledger has registered already, whatever became of them."""


class PlanNeeds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a suite needs before it can be judged."""

    suite: str
    num_repeats: int | None
    """None for a suite without a plan."""
    first_seed: int | None = None
    marks: tuple[MarkNeed, ...]
    num_claims: int
    roles: tuple[RoleNeed, ...] = ()
    sessions: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Requests for `--gpus`, each with the names of the roles that it serves and no earlier one does."""
    rehearsal_pool: str = ""


def mark_need(
    mark: PassMark, plan: Plan | None, *, is_frozen: bool, num_repeats: int, seen: Sequence[Seen] = ()
) -> MarkNeed:
    """Work out what one mark needs.

    Args:
        mark: as it was frozen, or as it is written where it was not.
        plan: of the suite; without one a mark is judged on one run.
        is_frozen: whether the lock holds it.
        num_repeats: planned runs of each role.
        seen: what earlier runs say of it, if there are any.
    """
    metric = METRICS.get(mark.metric)
    is_of_one = plan is None or metric is None or metric.is_of_whole
    num_planned = 1 if is_of_one else num_repeats
    bound, origin = _bound(mark, plan)
    design: Design | None = None
    spreadings: tuple[Spreading, ...] = ()
    if mark.of == "controls" and plan is not None:
        num_controls = sum(role.role == "control" for role in plan.roles)
        design = Design(tolerance=mark.bound, num_controls=max(num_controls, MIN_CONTROLS), num_repeats=num_planned)
        spreadings = _of_parity(design, seen)
    elif not is_of_one:
        spreadings = _of_value(bound, num_planned, seen)
    return MarkNeed(
        mark=mark,
        is_frozen=is_frozen,
        bound=bound,
        origin=origin,
        num_planned=num_planned,
        lacks=_lacks(mark, plan, num_planned),
        spreadings=spreadings,
        design=design,
    )


def role_needs(plan: Plan, num_repeats: int, made: Mapping[str, int]) -> tuple[RoleNeed, ...]:
    """Count the runs of each role: a baseline is taken before and after the fleet, and once with an exchange."""
    return tuple(
        RoleNeed(
            name=role.name,
            role=role.role,
            pool=role.pool,
            num_runs=num_repeats * (3 if role.role == "baseline" else 1),
            num_made=made.get(role.name, 0),
        )
        for role in plan.roles
    )


def sessions_for(roles: Sequence[RolePlan]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Choose the requests that serve all roles: a larger pool first, and none that an earlier one holds."""
    chosen: list[tuple[str, list[str]]] = []
    for role in sorted(roles, key=lambda one: -_size(one.pool)):
        home = next((names for pool, names in chosen if _holds(pool, role.pool)), None)
        if home is None:
            chosen.append((str(PoolSpec.parse(role.pool)), [role.name]))
        else:
            home.append(role.name)
    return tuple((pool, tuple(role.name for role in roles if role.name in names)) for pool, names in chosen)


def runs_needed(deviation: float, margin: float, *, one_sided: bool = False) -> int | None:
    """Return how many runs show a difference of this margin with a power of 80 %; None beyond `MOST_RUNS`.

    Args:
        deviation: of one run.
        margin: in the same unit.
        one_sided: whether only one direction is tested, at 5 %; else both, at 5 % together.
    """
    if margin <= 0 or not math.isfinite(deviation):
        return None
    enough = (
        n for n in range(2, MOST_RUNS + 1) if resolvable_in_deviations(n, one_sided=one_sided) * deviation <= margin
    )
    return next(enough, None)


def _bound(mark: PassMark, plan: Plan | None) -> tuple[float | None, str]:
    """Return the bound in the mark's unit as far as the plan tells it: the ideal of one kind is its number."""
    if mark.of == "controls":
        return mark.bound, "or the controls' own gap where that is larger"
    if mark.of is None:
        return mark.bound, ""
    fleets = [] if plan is None else [PoolSpec.parse(role.pool) for role in plan.roles if role.role == "fleet"]
    if len(fleets) == 1 and len(fleets[0].terms) == 1 and fleets[0].terms[0].count is not None:
        num_devices = fleets[0].terms[0].count
        return share_of(mark.bound, float(num_devices)), f"{mark.bound:g} of the ideal {num_devices}"
    return None, f"{mark.bound:g} of an ideal that is the sum of measured rates"


def _lacks(mark: PassMark, plan: Plan | None, num_planned: int) -> tuple[str, ...]:
    said = []
    metric = METRICS.get(mark.metric)
    if plan is None or metric is None:
        kind = "samples of one run, however many there are: n = 1 and no interval"
    elif metric.is_of_whole:
        kind = "one number of the whole experiment: n = 1 and no interval"
    else:
        kind = ""
    remedy = (
        "it can never be met as it is" if kind else "raise `runs` under [seeds] in benchmark.toml before the freeze"
    )
    if kind:
        said.append(kind)
    if mark.least_runs > num_planned:
        said.append(f"asks for at least {mark.least_runs} runs, and {num_planned} will be there: {remedy}")
    rule: Straddling = mark.straddling
    if rule != "decide" and num_planned == 1:
        said.append(f"straddling={rule!r} needs an interval, and one run has none: {remedy}")
    return tuple(said)


def _of_value(bound: float | None, num_planned: int, seen: Sequence[Seen]) -> tuple[Spreading, ...]:
    """A spread that was seen comes with a value, whose distance from the bound is what is to be shown."""
    cases = [(*_deviation_and_margin(one, bound), one.where) for one in seen]
    if not cases and bound:
        margin = ASSUMED_MARGIN_SHARE * abs(bound)
        cases = [(share * abs(bound), margin, "assumed") for share in ASSUMED_OF_BOUND]
    return tuple(
        Spreading(
            deviation=deviation,
            where=where,
            resolvable=_resolvable(num_planned, deviation),
            margin=margin,
            runs_needed=runs_needed(deviation, margin),
        )
        for deviation, margin, where in cases
    )


def _deviation_and_margin(seen: Seen, bound: float | None) -> tuple[float, float]:
    """Of a rehearsal only the relative spread is taken over: its value is that of another experiment."""
    if bound is None:
        return seen.deviation, ASSUMED_MARGIN_SHARE * abs(seen.value)
    if seen.is_of_rehearsal and seen.value:
        return seen.deviation / abs(seen.value) * abs(bound), ASSUMED_MARGIN_SHARE * abs(bound)
    return seen.deviation, abs(seen.value - bound)


def _of_parity(design: Design, seen: Sequence[Seen]) -> tuple[Spreading, ...]:
    """Differences are paired by seed: a mixed run minus the mean of its controls is noisier than a run alone."""
    noisier = math.sqrt(1 + 1 / design.num_controls)
    deviations = [(one.deviation, one.where) for one in seen] or [
        (share * design.tolerance, "assumed") for share in ASSUMED_SHARES
    ]
    return tuple(
        Spreading(
            deviation=deviation,
            where=where,
            resolvable=_resolvable(design.num_repeats, noisier * deviation),
            margin=design.tolerance,
            runs_needed=runs_needed(noisier * deviation, design.tolerance, one_sided=True),
        )
        for deviation, where in deviations
    )


def _resolvable(num_runs: int, deviation: float) -> float | None:
    return None if num_runs < 2 else resolvable_in_deviations(num_runs) * deviation


def _counts(pool: str) -> dict[str, int] | None:
    """Devices by kind, where CPU kinds are one, since a core can serve as any; None where the machine decides."""
    counts: dict[str, int] = {}
    for term in PoolSpec.parse(pool).terms:
        if term.is_vendor or term.count is None:
            return None
        name = "cpu" if term.name in CPU_KINDS else term.name
        counts[name] = counts.get(name, 0) + term.count
    return counts


def _holds(pool: str, request: str) -> bool:
    there, wanted = _counts(pool), _counts(request)
    if there is None or wanted is None:
        return PoolSpec.parse(pool) == PoolSpec.parse(request)
    return all(there.get(name, 0) >= count for name, count in wanted.items())


def _size(pool: str) -> int:
    return sum((_counts(pool) or {}).values())
