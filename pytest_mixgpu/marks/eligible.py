"""Which runs are one experiment: from records and the conditions in force to those that count and those that do not."""

from collections.abc import Mapping, Sequence

import msgspec

from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.marks.differences import short
from pytest_mixgpu.marks.lock import Lock, digests_since
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan, RolePlan, RunSettings, Seeds

OURS = "one of the plugin"
"""What a run was made by that names no job."""

DECISIVE_LEGS = ("", "before", "after", "with-exchange")
"""Other legs, such as a measurement of solo speed before shares are cut, serve a run and are none of the experiment."""


class Superseded(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that does not count, and a reason why; a run with several reasons has one of these for each."""

    run_id: str
    field: str
    """`lock`, `code`, `settings.batch_size`, `recipe`, `pool`, `repeat`."""
    found: str
    expected: str

    def __str__(self) -> str:
        return f"run {self.run_id} does not count: {self.field} is {self.found}, expected {self.expected}"


class Conditions(msgspec.Struct, frozen=True, kw_only=True):
    """What runs must agree in to be joined. An empty value accepts what is there."""

    plan: str
    locks: tuple[str, ...]
    """Digests that the lock had since the last change that concerns every mark, today's last."""
    code: str
    evaluator: str
    data: str
    job: str | None = None
    """The user's own job; empty for ours, None leaves it to the plan."""
    recipes: Mapping[str, str]
    """As the lock binds them, by workload; a workload that is not named may have any."""


class Joined(msgspec.Struct, frozen=True, kw_only=True):
    """Records sorted out."""

    runs: tuple[RunRecord, ...]
    superseded: tuple[Superseded, ...]
    departures: tuple[str, ...]


def in_force(runs: Sequence[RunRecord], *, plan_digest: str, lock: Lock | None, code_digest: str) -> Conditions:
    """Work out the conditions that runs are held to.

    The plan is that of now, the lock that of now or of any time since what all marks are bound to was last changed:
    a mark that is added later takes no run from those that were there. Code, evaluator and data are those that the
    lock holds, as long as any run has them; else those of the newest run, and the judge notes that the code has
    changed. So editing the code never drops a run that was made with the code that the lock names.

    Args:
        runs: of this experiment, in the order of registration.
        plan_digest: of the plan as it is now.
        lock: as it is now.
        code_digest: of the code as it is now; decides where the lock names none.
    """
    locks = ("",) if lock is None else digests_since(lock, lock.last_change())
    bound = [run for run in runs if run.header.digests.plan == plan_digest and run.header.digests.lock in locks]
    codes = [run.header.digests.code for run in bound]
    evaluators = [run.header.digests.evaluator for run in bound]
    data = [run.start.data_digest for run in bound if run.start is not None]
    workloads = {run.header.settings.workload for run in bound}
    data_frozen = [digest for name, digest in lock.bindings.data.items() if name in workloads] if lock else []
    return Conditions(
        plan=plan_digest,
        locks=locks,
        code=_choose(codes, [lock.bindings.code, code_digest] if lock else [code_digest]),
        evaluator=_choose(evaluators, [lock.bindings.evaluator] if lock else []),
        data=_choose(data, data_frozen),
        recipes=lock.bindings.recipes if lock else {},
    )


def join(
    runs: Sequence[RunRecord], conditions: Conditions, plan: Plan | None, seeds: Seeds, *, rehearsal: bool
) -> Joined:
    """Sort out which runs count.

    Args:
        runs: of this experiment, in the order of registration.
        conditions: in force.
        plan: as it is now; without one, pools and settings are not compared.
        seeds: number of runs and seed base in force.
        rehearsal: a rehearsal judges whatever its session ran; where that departs from the plan it says so.
    """
    kept: list[RunRecord] = []
    dropped: list[Superseded] = []
    departures: list[str] = []
    for run in runs:
        if run.header.leg not in DECISIVE_LEGS:
            continue
        faults = _differences(run, conditions)
        departing = _departures(run, plan, seeds, conditions.recipes, rehearsal=rehearsal)
        if not faults and rehearsal:
            holders = ("lock" if one.field == "recipe" else "plan" for one in departing)
            departures += [
                f"{one.field} is {one.found}, the {holder} says {one.expected}"
                for one, holder in zip(departing, holders, strict=True)
            ]
            departing = []
        faults = faults or departing
        dropped += faults
        if not faults:
            kept.append(run)
    if not rehearsal:
        unlike = [one for run in kept for one in _unlike_first(run, kept)]
        dropped += unlike
        kept = [run for run in kept if run.id not in {one.run_id for one in unlike}]
    return Joined(runs=tuple(kept), superseded=tuple(dropped), departures=tuple(dict.fromkeys(departures)))


def _unlike_first(run: RunRecord, kept: Sequence[RunRecord]) -> list[Superseded]:
    """Return in what a completed run differs from the first of its role that counts, where the plan leaves it open."""
    mates = (one for one in kept if (one.header.name, one.header.leg) == (run.header.name, run.header.leg))
    first = next((one for one in mates if one.status == "completed"), run)
    if run.status != "completed" or first is run:
        return []
    settings, others = run.header.settings, first.header.settings
    pairs: list[tuple[str, object, object]] = [
        ("settings.shares", settings.shares, others.shares),
        ("settings.evaluate_every", settings.evaluate_every, others.evaluate_every),
        ("coordinator", run.header.coordinator, first.header.coordinator),
    ]
    if run.start is not None and first.start is not None:
        pairs += [
            ("parameters", run.start.num_parameters, first.start.num_parameters),
            ("bytes of an update", run.start.update_bytes, first.start.update_bytes),
            ("samples of each split", _counts(run.start.data_counts), _counts(first.start.data_counts)),
        ]
    return [
        Superseded(run_id=run.id, field=field, found=str(found), expected=f"{expected} as in run {first.id}")
        for field, found, expected in pairs
        if found != expected
    ]


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(counts.items()))


def canonical_pool(request: str) -> str:
    """Bring a request for devices into the form that a pool prints."""
    return str(PoolSpec.parse(request))


def _kinds(request: str) -> set[str]:
    return {term.name for term in PoolSpec.parse(request).terms}


def _choose(found: Sequence[str], preferred: Sequence[str]) -> str:
    return next((digest for digest in preferred if digest in found), found[-1] if found else "")


def _differences(run: RunRecord, conditions: Conditions) -> list[Superseded]:
    digests = run.header.digests
    locks = conditions.locks
    pairs = [
        ("plan", digests.plan, conditions.plan),
        ("lock", digests.lock, digests.lock if digests.lock in locks else locks[-1]),
    ]
    made_with = [
        ("code", digests.code, conditions.code),
        ("evaluator", digests.evaluator, conditions.evaluator),
    ]
    if run.start is not None:
        made_with.append(("data", run.start.data_digest, conditions.data))
    pairs += [(field, found, expected) for field, found, expected in made_with if expected]
    if conditions.job is not None:
        pairs.append(("job", run.header.job or OURS, conditions.job or OURS))
    return [
        Superseded(run_id=run.id, field=field, found=short(found), expected=short(expected))
        for field, found, expected in pairs
        if found != expected
    ]


def _departures(
    run: RunRecord, plan: Plan | None, seeds: Seeds, recipes: Mapping[str, str], *, rehearsal: bool
) -> list[Superseded]:
    """Return the fields in which a run is not what the plan asks for, or its recipe not what the lock binds."""
    if plan is None:
        return []
    stand_in = plan.rehearsal if rehearsal else None
    roles = plan.roles if stand_in is None else stand_in.roles
    role = next((role for role in roles if role.name == run.header.name), None)
    if role is None:
        return [Superseded(run_id=run.id, field="role", found=run.header.name, expected="a role of the plan")]
    recipe = plan.workload.recipe if stand_in is None else stand_in.workload.recipe
    shared = plan.settings if stand_in is None else stand_in.settings
    trained = run.header.settings.workload
    digest = canonical_digest(run.header.settings.recipe)
    # Another workload has another recipe: that is one departure.
    bound = recipes.get(trained, digest) if trained == recipe else digest
    wanted = [
        ("settings.workload", trained, recipe),
        ("recipe", short(digest), short(bound)),
        ("job", run.header.job or OURS, plan.own_job or OURS),
        *_wanted(run, role, roles, shared, seeds),
    ]
    return [
        Superseded(run_id=run.id, field=field, found=str(found), expected=str(expected))
        for field, found, expected in wanted
        if found != expected
    ]


def _wanted(
    run: RunRecord, role: RolePlan, roles: Sequence[RolePlan], shared: RunSettings, seeds: Seeds
) -> list[tuple[str, object, object]]:
    header, settings = run.header, run.header.settings
    steps = shared.round_steps if role.round_steps is None else role.round_steps
    warmups = shared.warmup_rounds if role.warmup_rounds is None else role.warmup_rounds
    wanted: list[tuple[str, object, object]] = [
        ("role", header.role, role.role),
        ("seed", header.seed, seeds.base + header.repeat),
        ("settings.number_format", settings.number_format, shared.number_format),
        ("settings.batch_size", settings.batch_size, shared.batch_size),
        ("settings.round_steps", settings.round_steps, steps),
        ("settings.rounds", settings.rounds, shared.rounds if role.rounds is None else role.rounds),
        ("settings.warmup_rounds", settings.warmup_rounds, warmups),
        ("settings.num_threads", settings.num_threads, shared.num_threads),
        ("settings.payload", settings.payload, shared.payload),
        ("settings.to_finish", settings.to_finish, role.to_finish),
    ]
    if role.role == "baseline":
        # Its devices work one after the other, each with the whole round, and may be of all kinds of the fleet.
        kinds = _kinds(role.pool)
        found = set(header.pool.kinds)
        is_fine = kinds <= found <= kinds.union(*(_kinds(other.pool) for other in roles if other.role == "fleet"))
        wanted.append(("pool", header.pool.spec, header.pool.spec if is_fine else f"devices of {role.pool}"))
    else:
        wanted += [
            ("pool", header.pool.spec, canonical_pool(role.pool)),
            ("settings.split", settings.split, shared.split),
        ]
    if role.role not in {"baseline", "reference"}:
        wanted.append(("settings.exchange", settings.exchange, shared.exchange))
    if header.repeat >= seeds.runs:
        planned = "0, the only one that is planned" if seeds.runs == 1 else f"one of {seeds.runs} planned, from 0 on"
        wanted.append(("repeat", header.repeat, planned))
    return wanted
