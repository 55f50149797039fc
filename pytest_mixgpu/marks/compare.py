"""Are two runs comparable: from two records to the numeric fields in which they differ. Pure.

Baseline and fleet may differ in the pool only; a control may differ from the mixed run in its kind only.
"""

from collections.abc import Iterable, Iterator, Sequence

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.records.model import HostFacts, RunRecord, WorkerFacts
from pytest_mixgpu.records.plan import EvaluationPlan

VISIBILITY = frozenset({"CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "KMP_AFFINITY"})
"""Variables that choose a device or a core and not how it computes."""
_FREE_FOR_BASELINE = frozenset(
    {"shares", "rounds", "warmup_rounds", "to_finish", "exchange", "split", "evaluate_every"}
)
"""A baseline is timed and not finished, has no exchange and no shares: that is what it is for."""


def baseline_differences(baseline: RunRecord, fleet: RunRecord) -> tuple[str, ...]:
    """Return in what a baseline differs from the fleet beyond its pool, one sentence a field."""
    return tuple(_naming(baseline, fleet, [
        *_setting_differences(baseline, fleet, _FREE_FOR_BASELINE),
        *_digest_differences(baseline, fleet),
        *_kernel_differences(baseline, fleet),
    ]))  # fmt: skip


def control_differences(control: RunRecord, mixed: RunRecord) -> tuple[str, ...]:
    """Return in what a control differs numerically from the mixed run beyond its kind, one sentence a field."""
    found = [
        *_setting_differences(control, mixed, frozenset()),
        *_digest_differences(control, mixed),
        *_kernel_differences(control, mixed),
    ]
    if len(control.header.pool) != len(mixed.header.pool):
        found.append(("participants", str(len(control.header.pool)), str(len(mixed.header.pool))))
    if control.header.seed != mixed.header.seed:
        found.append(("seed", str(control.header.seed), str(mixed.header.seed)))
    work = [tuple(line.samples for line in run.rounds) for run in (control, mixed)]
    if work[0] != work[1]:
        found.append(("samples a round", str(work[0][:1]), str(work[1][:1])))
    found += _foreign_kind_differences(control, mixed)
    found += _evaluation_differences(control, mixed)
    return tuple(_naming(control, mixed, found))


def numeric_differences(one: RunRecord, two: RunRecord) -> tuple[tuple[str, str, str], ...]:
    """Return in what two runs that stand for the same differ beyond pool and place: field, and both values.

    Shares follow the number of devices and, where they are cut by speed, the devices: else they are a setting.
    """
    own, other = one.header, two.header
    is_free = len(own.pool) != len(other.pool) or {own.settings.split, other.settings.split} == {"speed"}
    found = [
        *((f"settings.{name}", *values) for name, *values in _setting_differences(
            one, two, frozenset({"shares"} if is_free else ())
        )),
        *_digest_differences(one, two),
        *_evaluation_differences(one, two),
    ]  # fmt: skip
    if own.repeat == other.repeat and own.seed != other.seed:
        found.append(("seed", str(own.seed), str(other.seed)))
    return tuple((field, here, there) for field, here, there in found)


def evaluator_differences(run: RunRecord, declared: EvaluationPlan | None) -> tuple[str, ...]:
    """Return where a run was scored otherwise than declared: another device, format, thread count or evaluator."""
    test = run.test
    if test is None:
        return ()
    pairs = [("evaluator", test.evaluator_digest, run.header.digests.evaluator)]
    if declared is not None:
        pairs += [
            ("device", test.device, declared.device),
            ("number format", test.number_format, declared.number_format),
            ("threads", str(test.num_threads), str(declared.num_threads)),
        ]
    return tuple(
        f"run {run.id} was scored with {field} {found[:16] or 'unknown'}, declared is {expected[:16]}"
        for field, found, expected in pairs
        if found != expected or not found
    )


def kernels_of(run: RunRecord, kind: str) -> set[tuple[str | None, tuple[tuple[str, str], ...]]]:
    """Return how the workers on one kind computed: instruction set and the variables that decide about kernels."""
    return {
        (worker.cpu_capability, tuple(sorted((k, v) for k, v in worker.environment.items() if k not in VISIBILITY)))
        for worker, found in workers_with_kinds(run)
        if found == kind
    }


def workers_with_kinds(run: RunRecord) -> Iterator[tuple[WorkerFacts, str]]:
    """Yield each participant's worker with the kind of its device."""
    kinds = {device.id: device.kind for device in run.devices}
    for worker in () if run.start is None else run.start.workers:
        if worker.device_id is not None and worker.device_id in kinds:
            yield worker, kinds[worker.device_id]


def environment_differences(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return which versions, drivers and hosts differ among joined runs: noted, never a reason to drop one."""
    seen = environment_facts(runs)
    found = [f"{name}: {', '.join(sorted(values))}" for name, values in sorted(seen.items()) if len(values) > 1]
    for name, kind in sorted({(run.header.name, kind) for run in runs for kind in run.header.pool.kinds}):
        kernels = [kernels_of(run, kind) for run in runs if run.header.name == name and run.start is not None]
        texts = sorted({_kernels(one) for one in kernels})
        if len(texts) > 1:
            found.append(f"kernels of {kind} in {name}: {'; '.join(texts)}")
    places = {tuple(sorted({device.host for device in run.devices})) for run in runs}
    if len(places) > 1:
        found.append(f"hosts: {'; '.join(' and '.join(place) for place in sorted(places))}")
    return tuple(found)


def environment_facts(runs: Sequence[RunRecord]) -> dict[str, set[str]]:
    """Return every value that versions and drivers had in these runs, by what they are of."""
    seen: dict[str, set[str]] = {}
    for run in runs:
        hosts = {run.header.host.host: run.header.host, **({h.host: h for h in run.start.hosts} if run.start else {})}
        for host in hosts.values():
            for name, value in host_facts_of(host).items():
                seen.setdefault(name, set()).add(value)
        for worker in () if run.start is None else run.start.workers:
            if worker.torch is not None:
                seen.setdefault("torch of the workers", set()).add(worker.torch)
                seen.setdefault("accelerator", set()).add(str(worker.accelerator))
    return seen


def host_facts_of(host: HostFacts) -> dict[str, str]:
    """Return what of a host can change a number, by name."""
    facts = {
        "driver": host.driver,
        "python": host.python,
        "kernel": host.kernel,
        "cpu": host.cpu_model,
        **host.packages,
    }
    return {name: str(value) for name, value in facts.items()}


def _setting_differences(one: RunRecord, two: RunRecord, free: frozenset[str]) -> list[tuple[str, str, str]]:
    return [
        (name, str(found), str(expected))
        for name in one.header.settings.__struct_fields__
        if name not in free
        and (found := getattr(one.header.settings, name)) != (expected := getattr(two.header.settings, name))
    ]


def _digest_differences(one: RunRecord, two: RunRecord) -> list[tuple[str, str, str]]:
    pairs = [
        ("code", one.header.digests.code, two.header.digests.code),
        ("evaluator", one.header.digests.evaluator, two.header.digests.evaluator),
        ("job", one.header.job or "one of the plugin", two.header.job or "one of the plugin"),
    ]
    if one.start is not None and two.start is not None:
        pairs += [
            ("data", one.start.data_digest, two.start.data_digest),
            ("split sizes", str(sorted(one.start.data_counts.items())), str(sorted(two.start.data_counts.items()))),
            ("parameters", str(one.start.num_parameters), str(two.start.num_parameters)),
        ]
    return [(name, found[:60], expected[:60]) for name, found, expected in pairs if found != expected]


def _kernel_differences(one: RunRecord, two: RunRecord) -> list[tuple[str, str, str]]:
    """Workers on one kind must compute alike in both runs, and on as many threads."""
    found = []
    for kind in sorted(set(one.header.pool.kinds) & set(two.header.pool.kinds)):
        here, there = kernels_of(one, kind), kernels_of(two, kind)
        if here != there:
            found.append((f"kernels of {kind}", _kernels(here), _kernels(there)))
    threads = [sorted({worker.num_threads for worker, _ in workers_with_kinds(run)}) for run in (one, two)]
    if threads[0] != threads[1]:
        found.append(("threads", str(threads[0]), str(threads[1])))
    return found


def _foreign_kind_differences(control: RunRecord, mixed: RunRecord) -> list[tuple[str, str, str]]:
    """A control on a kind that the mixture lacks must have the variables that the mixture has: no twin tells it."""
    there = {variables for _, kind in workers_with_kinds(mixed) for variables in _variables(mixed, kind)}
    found = []
    for kind in sorted(set(control.header.pool.kinds) - set(mixed.header.pool.kinds)):
        others = _variables(control, kind) - there
        if others and there:
            texts = (" and ".join(sorted(_named(one) for one in some)) for some in (others, there))
            found.append((f"variables of {kind}", *texts))
    return [(field, here, expected) for field, here, expected in found]


def _variables(run: RunRecord, kind: str) -> set[tuple[tuple[str, str], ...]]:
    """Return the variables that decide about kernels, without those that make a kind of CPU what it is."""
    own = {name for name, _ in CPU_KINDS[kind].environment} if kind in CPU_KINDS else set()
    return {tuple((k, v) for k, v in variables if k not in own) for _, variables in kernels_of(run, kind)}


def _named(variables: Iterable[tuple[str, str]]) -> str:
    return ", ".join(f"{name}={value}" for name, value in variables) or "no variables"


def _evaluation_differences(one: RunRecord, two: RunRecord) -> list[tuple[str, str, str]]:
    if one.test is None or two.test is None:
        return []
    fields = ("num_total", "device", "number_format", "num_threads", "evaluator_digest", "after_round", "samples_seen")
    return [
        (f"evaluation.{name}", str(found), str(expected))
        for name in fields
        if (found := getattr(one.test, name)) != (expected := getattr(two.test, name))
    ]


def _naming(one: RunRecord, two: RunRecord, found: Sequence[tuple[str, str, str]]) -> Iterator[str]:
    for field, here, there in found:
        yield f"{one.header.name} (run {one.id}) differs from {two.header.name} in {field}: {here}, not {there}"


def _kernels(found: set[tuple[str | None, tuple[tuple[str, str], ...]]]) -> str:
    texts = []
    for capability, environment in found:
        texts.append(f"{capability or 'unknown'} ({_named(environment)})")
    return " and ".join(sorted(texts)) or "unknown"
