"""Item 5: versions, number formats, settings."""

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.compare import environment_differences
from pytest_mixgpu.marks.evidence import Evidence

_CONDITIONS = frozenset({"role", "pool", "seed", "recipe"})
"""Conditions that stand beside the settings: who departs from one did not run what was planned."""


def versions_recorded(evidence: Evidence) -> Finding:
    """Python, packages, driver and torch of every worker are recorded."""
    missing = []
    for run in evidence.completed:
        if not run.header.host.python or not run.header.host.packages:
            missing.append(f"run {run.id} does not record the versions of Python and packages")
        missing += [
            f"run {run.id}: {worker.worker} does not record its version of torch"
            for worker in (run.start.workers if run.start else ())
            if worker.device_id is not None and not worker.torch
        ]
        on_gpu = any(device.vendor != "cpu" for device in run.devices)
        drivers = {host.driver for host in (run.header.host, *(run.start.hosts if run.start else ()))}
        if on_gpu and drivers <= {None, ""}:
            missing.append(f"run {run.id} ran on GPUs and does not record their driver")
        if not run.header.digests.code:
            missing.append(f"run {run.id} does not record the digest of the code")
    torches = sorted(
        {worker.torch for run in evidence.completed if run.start for worker in run.start.workers if worker.torch}
    )
    differing = [f"differs among runs: {text}" for text in environment_differences(evidence.completed)]
    return Finding(missing=tuple(missing), stated=(*(f"torch {version}" for version in torches), *differing))


def formats_recorded(evidence: Evidence) -> Finding:
    """Number format of training, of the payload and of the evaluation."""
    missing: list[str] = []
    formats: dict[str, None] = {}
    for run in evidence.completed:
        settings = run.header.settings
        if not settings.number_format or (settings.exchange != "none" and not settings.payload):
            missing.append(f"run {run.id} does not record its number formats")
        if run.test is not None and not run.test.number_format:
            missing.append(f"run {run.id} does not record the number format of its evaluation")
        formats[f"trained in {settings.number_format}, updates sent as {settings.payload}"] = None
    return Finding(missing=tuple(missing), stated=tuple(formats))


def settings_recorded(evidence: Evidence) -> Finding:
    """Batch, local steps, shares, rounds and the whole recipe are recorded, and are those of the plan."""
    missing: list[str] = []
    seen: dict[str, None] = {}
    for run in evidence.completed:
        settings = run.header.settings
        if (
            min(settings.batch_size, settings.round_steps, settings.rounds, settings.num_threads) < 1
            or not settings.shares
        ):
            missing.append(f"run {run.id} does not record batch, local steps, shares, rounds or threads")
        if not settings.recipe:
            missing.append(f"run {run.id} does not record its recipe")
        seen[
            f"{run.header.name}: batch {settings.batch_size}, {settings.round_steps} steps a round, "
            f"shares {'+'.join(map(str, settings.shares))}"
        ] = None
    missing += [
        str(one) for one in evidence.superseded if one.field.startswith("settings.") or one.field in _CONDITIONS
    ]
    # A further repeat than planned was made at the right settings; it is listed, and is no shortfall.
    further = tuple(str(one) for one in evidence.superseded if one.field == "repeat")
    departures = tuple(f"departs from the plan: {text}" for text in evidence.departures)
    return Finding(missing=tuple(missing), stated=(*seen, *further, *departures))


def kernels_recorded(evidence: Evidence) -> Finding:
    """Which kernels computed: instruction set on a CPU, architecture and accelerator version on a GPU, threads."""
    missing: list[str] = []
    seen: dict[str, None] = {}
    for run in evidence.completed:
        devices = {device.id: device for device in run.devices}
        workers = run.start.workers if run.start else ()
        for worker in workers:
            device = devices.get(worker.device_id or "")
            if device is None:
                continue
            how = worker.cpu_capability if device.vendor == "cpu" else worker.accelerator
            if not how or worker.num_threads < 1:
                missing.append(f"run {run.id}: {worker.worker} does not record which kernels computed on {device.kind}")
            seen[f"{device.kind} computed with {how}, {worker.num_threads} threads"] = None
    return Finding(missing=tuple(missing), stated=(*seen, "vendors and generations do not give identical bits"))


def seeds_recorded(evidence: Evidence) -> Finding:
    """Repeat k of every role has seed base + k."""
    base = evidence.seeds.base
    missing = [
        f"run {run.id} has seed {run.header.seed}, its repeat has {base + run.header.repeat}"
        for run in evidence.completed
        if run.header.seed != base + run.header.repeat
    ]
    return Finding(missing=tuple(missing), stated=(f"seed base {base}, plus the number of the repeat",))


CHECKS = (
    Check(name="versions-recorded", about="software of every run and worker", look=versions_recorded),
    Check(name="formats-recorded", about="number formats of training, payload and evaluation", look=formats_recorded),
    Check(
        name="settings-recorded", about="batch, steps, shares, rounds and recipe, as planned", look=settings_recorded
    ),
    Check(name="kernels-recorded", about="which kernels computed", look=kernels_recorded),
    Check(name="seeds-recorded", about="seeds follow the plan", look=seeds_recorded),
)
