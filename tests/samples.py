"""Whole experiments that never happened: valid, plausible, made without torch, sealed by the real store and ledger.

`make_run` makes one run, `make_records` an experiment in memory, `make_experiment` one in a report folder. Each takes a
`doctor`, which may change anything of a run before it is sealed; what doctors use stands in `sample_doctors`.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.records.assemble import assemble
from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.model import Digests, Header, RunRecord, Settings
from pytest_mixgpu.records.plan import Plan, Rehearsal, RolePlan
from pytest_mixgpu.records.plan_file import load_plan, plan_digest, settings_for
from pytest_mixgpu.records.store import RunStore
from tests.sample_doctors import Doctor
from tests.sample_parts import COORDINATOR_HOST, hex_of, make_host, make_pool
from tests.sample_timeline import MadeRun, Timeline

__all__ = [
    "E1_PLAN",
    "FIRST_MOMENT",
    "MadeRun",
    "as_record",
    "e1_digests",
    "e1_plan",
    "made_recipe",
    "made_settings",
    "make_experiment",
    "make_run",
    "make_runs",
    "pool_of",
    "recipe_digests",
    "seal",
    "stage_of",
]  # fmt: skip

E1_PLAN = Path(__file__).parent.parent / "suites" / "e1" / "benchmark.toml"
FIRST_MOMENT = datetime.fromisoformat("2026-11-29T12:00:00.000+00:00")


def e1_plan() -> Plan:
    """Return E1's own plan."""
    return load_plan(E1_PLAN)


def e1_digests(plan: Plan, *, lock: str = "") -> Digests:
    """Return digests of a plan, a lock and made-up code."""
    return Digests(plan=plan_digest(plan), lock=lock, code=hex_of("code"), evaluator=hex_of("evaluator"))


def make_run(
    *,
    role: str = "fleet",
    name: str = "",
    leg: str = "",
    repeat: int = 0,
    rehearsal: bool = True,
    plan: Plan | None = None,
    pool: Pool | None = None,
    digests: Digests | None = None,
    session: str = "session-1",
    seed: int | None = None,
    at: datetime = FIRST_MOMENT,
    speed: float = 1.0,
) -> MadeRun:
    """Make one run of E1.

    Args:
        role: why it is made.
        name: which of several with this role; the first, if not said.
        leg: part of a bracket; a baseline's is `before` if not said.
        repeat: counts from 0.
        rehearsal: whether the stand-in of the plan is run.
        plan: E1's own if not said.
        pool: the role's own pool if not said.
        digests: of plan, lock, code and evaluator.
        session: who makes it.
        seed: the plan's base plus the repeat if not said.
        at: when it is registered.
        speed: factor on the speed of every device.
    """
    plan = plan or e1_plan()
    own = next(one for one in stage_of(plan, rehearsal=rehearsal).roles if one.role == role and name in {"", one.name})
    leg = leg or ("before" if role == "baseline" else "")
    pool = pool or pool_of(own, leg=leg)
    settings = made_settings(plan, own, pool, rehearsal=rehearsal, leg=leg)
    seed = stage_of(plan, rehearsal=rehearsal).seeds.base + repeat if seed is None else seed
    label = f"{own.name}-{leg}" if leg else own.name
    run_id = f"{at:%Y%m%dT%H%M%S}-{plan.id}-{label}-{repeat}-{hex_of(f'{session} {at}')[:6]}"
    hosts = sorted({device.host for device in pool.devices})
    coordinator = "" if settings.exchange == "none" else (hosts[0] if pool.is_cpu else COORDINATOR_HOST)
    header = Header(
        run_id=run_id,
        suite=plan.id,
        session=session,
        role=own.role,
        name=own.name,
        leg=leg,
        repeat=repeat,
        seed=seed,
        rehearsal=rehearsal,
        registered_at=at.isoformat(timespec="milliseconds"),
        nonce=hex_of(run_id)[:32],
        digests=digests or e1_digests(plan),
        settings=settings,
        pool=pool,
        coordinator=coordinator,
        launcher="local",
        host=make_host(hosts[0]),
        command=("pytest", "suites/e1"),
    )
    return Timeline(header, at=at, speed=speed).run()


def made_settings(plan: Plan, role: RolePlan, pool: Pool, *, rehearsal: bool, leg: str) -> Settings:
    """Return what a run of this role is told to do, with equal shares and a recipe of few words."""
    stage = stage_of(plan, rehearsal=rehearsal)
    steps = stage.settings.round_steps if role.round_steps is None else role.round_steps
    count = 1 if role.role == "baseline" else len(pool)
    shares = tuple(steps // count + (index < steps % count) for index in range(count))
    return settings_for(stage.settings, role, recipe=made_recipe(stage.workload.recipe), shares=shares, leg=leg)


def made_recipe(workload: str) -> dict[str, object]:
    """Return a recipe of few words."""
    return {"name": workload, "model": "vit", "optimizer": {"name": "adamw", "learning_rate": 0.001}}


def recipe_digests(plan: Plan) -> dict[str, str]:
    """Return the digests of the recipes that a plan and its rehearsal name."""
    names = {stage.workload.recipe for stage in (plan, plan.rehearsal) if stage is not None}
    return {name: canonical_digest(made_recipe(name)) for name in sorted(names)}


def pool_of(role: RolePlan, *, leg: str = "") -> Pool:
    """Return the devices of a role; a baseline is taken on several of the fleet's, one after the other."""
    pool = make_pool(role.pool)
    if role.role == "baseline" and leg != "with-exchange":
        return make_pool(f"{pool.devices[0].kind}:{role.num_devices}")
    return pool


def stage_of(plan: Plan, *, rehearsal: bool) -> Plan | Rehearsal:
    """Return the part of a plan that is carried out: the experiment itself, or its rehearsal."""
    if not rehearsal:
        return plan
    assert plan.rehearsal is not None, "this plan has no rehearsal"
    return plan.rehearsal


def make_runs(
    *,
    rehearsal: bool = True,
    repeats: int = 1,
    plan: Plan | None = None,
    digests: Digests | None = None,
    session: str = "session-1",
    names: Sequence[str] = (),
    at: datetime = FIRST_MOMENT,
    first_repeat: int = 0,
    doctor: Doctor | None = None,
) -> list[MadeRun]:
    """Make all runs of an experiment in the order in which a session makes them.

    Args:
        rehearsal: whether the stand-in of the plan is run.
        repeats: how many runs of each role.
        plan: E1's own if not said.
        digests: of plan, lock, code and evaluator.
        session: who makes them.
        names: only the roles with these names.
        at: when the first is registered.
        first_repeat: number of the first repeat.
        doctor: changes a run before it is sealed.
    """
    plan = plan or e1_plan()
    legs = {"baseline": ("before", "after", "with-exchange")}
    roles = {role.name: role for role in stage_of(plan, rehearsal=rehearsal).roles}
    order = [(role, leg) for role in roles.values() for leg in legs.get(role.role, ("",))]
    # Baseline rounds are taken before and after the fleet's.
    order.sort(key=lambda one: ORDER.index((one[0].role, one[1])))
    made = []
    for repeat in range(first_repeat, first_repeat + repeats):
        for role, leg in order:
            if names and role.name not in names:
                continue
            run = make_run(
                role=role.role,
                name=role.name,
                leg=leg,
                repeat=repeat,
                rehearsal=rehearsal,
                plan=plan,
                digests=digests,
                session=session,
                at=at,
            )
            made.append(run if doctor is None else doctor(run))
            ends = [one.outcome.leased_s for one in (run, made[-1]) if one.outcome is not None]
            at += timedelta(seconds=1.0 + max(ends, default=0.0))
    return made


ORDER = [
    ("baseline", "before"),
    ("fleet", ""),
    ("baseline", "after"),
    ("baseline", "with-exchange"),
    ("reference", ""),
    ("control", ""),
    ("mixed", ""),
]


def seal(store: RunStore, runs: Sequence[MadeRun]) -> None:
    """Register, write and close runs, one after the other, each with a log of every worker."""
    for run in runs:
        writer = store.register(run.header)
        for line in list(run.lines())[1:]:
            writer.write(line)
        (writer.folder / "logs").mkdir()
        for worker in run.start.workers if run.start else ():
            (writer.folder / "logs" / f"{worker.worker}.log").write_text(
                f"{worker.worker} of {run.header.run_id}\n", "utf-8"
            )
        if run.outcome is None:
            writer.abandon()
        else:
            writer.close(run.outcome)


def make_experiment(
    folder: Path,
    *,
    rehearsal: bool = True,
    repeats: int = 1,
    plan: Plan | None = None,
    digests: Digests | None = None,
    session: str = "session-1",
    names: Sequence[str] = (),
    at: datetime = FIRST_MOMENT,
    first_repeat: int = 0,
    doctor: Doctor | None = None,
) -> RunStore:
    """Write a whole experiment into a report folder, or one session more of it; takes what `make_runs` takes."""
    store = RunStore(folder)
    runs = make_runs(
        rehearsal=rehearsal,
        repeats=repeats,
        plan=plan,
        digests=digests,
        session=session,
        names=names,
        at=at,
        first_repeat=first_repeat,
        doctor=doctor,
    )
    seal(store, runs)
    return store


def as_record(run: MadeRun) -> RunRecord:
    """Return the record that a run would have, without a folder."""
    lines = [*run.lines(), *([run.outcome] if run.outcome else [])]
    return assemble(b"".join(encode(line) + b"\n" for line in lines))
