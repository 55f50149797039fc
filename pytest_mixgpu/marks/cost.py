"""What a completed result cost: from evidence to items, sums and a quotient. Unknown is not stated, and never 0."""

import math
from collections.abc import Sequence

import msgspec

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.timings import reached_target
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.timing.phases import phase_totals

HOUR_S = 3600.0
GIGABYTE = 1e9
_OWN = frozenset({"fleet", "mixed"})
"""Roles under test; all others are there to be compared with."""
ITEMS = (
    "setup",
    "training",
    "idle",
    "evaluation",
    "teardown",
    "failures and reruns",
    "data moved",
    "coordinator",
    "other hosts",
    "storage",
    "people",
)


class CostItem(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item of the bill."""

    name: str
    quantity: float | None
    """None is not stated."""
    unit: str
    amount: float | None
    """In the plan's currency; None is not stated, and is in no sum."""


class Bill(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The items of some of the runs, and their sum."""

    items: tuple[CostItem, ...]
    device_hours: float | None
    """From lease to release, over all devices; None where a run's lease is not known."""

    @property
    def amount(self) -> float | None:
        """The sum of what is stated; None where the price of a device is missing, without which it is no cost."""
        own = [item for item in self.items if item.unit == "device-hours"]
        if any(item.amount is None for item in own):
            return None
        return math.fsum(item.amount for item in self.items if item.amount is not None)

    @property
    def not_stated(self) -> tuple[str, ...]:
        """Names of the items that are in no sum."""
        return tuple(item.name for item in self.items if item.amount is None)


class Cost(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The cost of one completed result, with and without what it was compared with."""

    currency: str
    priced_at: str
    source: str
    num_results: int
    """Runs of fleet and mixed pool that met the target."""
    whole: Bill
    """All runs: baseline, reference and controls too."""
    bare: Bill
    """Fleet and mixed runs only, with their failures and reruns."""
    unpriced_kinds: tuple[str, ...]

    @property
    def per_result_whole(self) -> float | None:
        """With baseline, reference and controls; None is not stated, or no run met the target."""
        return _per(self.whole.amount, self.num_results)

    @property
    def per_result_bare(self) -> float | None:
        """Without them."""
        return _per(self.bare.amount, self.num_results)


def cost_of(evidence: Evidence) -> Cost:
    """Add up what all attempts of the experiment cost."""
    prices = evidence.prices
    counted = {run.id for run in evidence.completed}
    results = [
        run
        for run in evidence.completed
        if run.header.role in _OWN and evidence.workload is not None and reached_target(run, evidence.workload.target)
    ]
    own = [run for run in evidence.attempts if run.header.role in _OWN]
    kinds = {device.kind for run in evidence.attempts for device in run.devices}
    priced = {} if prices is None else prices.device_hour
    return Cost(
        currency="" if prices is None else prices.currency,
        priced_at="" if prices is None else prices.date,
        source="" if prices is None else prices.source,
        num_results=len(results),
        whole=_bill(evidence, evidence.attempts, counted, num_lost=len(evidence.lost)),
        bare=_bill(evidence, own, counted, num_lost=sum(lost.role in _OWN for lost in evidence.lost)),
        unpriced_kinds=tuple(sorted(kinds - set(priced))),
    )


def comparison_bills(evidence: Evidence) -> dict[str, Bill]:
    """Return what each kind of run cost that is there to be compared with, by role; with them the bare bill is whole.

    Attempts whose records cannot be read stand with their role.
    """
    roles = [*(run.header.role for run in evidence.attempts), *(lost.role for lost in evidence.lost)]
    counted = {run.id for run in evidence.completed}
    return {
        role: _bill(
            evidence,
            [run for run in evidence.attempts if run.header.role == role],
            counted,
            num_lost=sum(lost.role == role for lost in evidence.lost),
        )
        for role in dict.fromkeys(roles)
        if role not in _OWN
    }


def _bill(evidence: Evidence, runs: Sequence[RunRecord], counted: set[str], *, num_lost: int) -> Bill:
    """Add up runs; attempts whose records cannot be read cost something that is not known."""
    prices = evidence.prices
    lost: list[float | None] = [None] * num_lost
    done = [run for run in runs if run.id in counted]
    vain = [run for run in runs if run.id not in counted]
    parts = {"setup": ("lease", "setup"), "evaluation": ("evaluation",), "teardown": ("teardown",)}
    items = [_devices(evidence, name, [(run, _span_s(run, *spans)) for run in done]) for name, spans in parts.items()]
    items.insert(1, _devices(evidence, "training", [(run, _training_s(run)) for run in done]))
    items.insert(2, _devices(evidence, "idle", [(run, _idle_s(run)) for run in done]))
    failures = _devices(evidence, "failures and reruns", [(run, _leased_s(run)) for run in vain])
    items.append(msgspec.structs.replace(failures, quantity=None, amount=None) if lost else failures)
    moved = _sum([*(None if run.outcome is None else run.outcome.moved_bytes for run in runs), *lost], per=GIGABYTE)
    items.append(_priced("data moved", moved, "GB", None if prices is None else prices.moved_gigabyte))
    hours = _hours([*(_leased_s(run) for run in runs if run.header.coordinator), *lost])
    items.append(_priced("coordinator", hours, "host-hours", None if prices is None else prices.coordinator_hour))
    hours = _hours([*_other_hosts_s(runs), *lost])
    items.append(_priced("other hosts", hours, "host-hours", None if prices is None else prices.host_hour))
    items.append(_priced("storage", None, "GB-months", None if prices is None else prices.storage_gigabyte_month))
    people = _sum([*(None if run.outcome is None else run.outcome.people_minutes for run in runs), *lost], per=60)
    # Nobody says of no run at all that people did nothing for it.
    items.append(
        _priced("people", people if runs else None, "person-hours", None if prices is None else prices.person_hour)
    )
    leased = [None if (seconds := _leased_s(run)) is None else seconds * len(run.devices) for run in runs]
    return Bill(items=tuple(items), device_hours=_hours([*leased, *lost]))


def _devices(evidence: Evidence, name: str, spent: Sequence[tuple[RunRecord, float | None]]) -> CostItem:
    """Price seconds of a run's devices, each kind at its own rate. `spent` holds the mean seconds of a device."""
    rates = {} if evidence.prices is None else evidence.prices.device_hour
    seconds = [None if each is None else each * len(run.devices) for run, each in spent]
    amounts = [
        None if each is None or device.kind not in rates else each / HOUR_S * rates[device.kind]
        for run, each in spent
        for device in run.devices
    ]
    return CostItem(name=name, quantity=_hours(seconds), unit="device-hours", amount=_sum(amounts))


def _priced(name: str, quantity: float | None, unit: str, price: float | None) -> CostItem:
    amount = None if quantity is None or price is None else quantity * price
    return CostItem(name=name, quantity=quantity, unit=unit, amount=amount)


def _span_s(run: RunRecord, *names: str) -> float | None:
    if run.outcome is None:
        return None
    return math.fsum(span.duration_s for span in run.outcome.spans if span.name in names)


def _idle_s(run: RunRecord) -> float:
    """Mean time of a device in which it waited: for slower ones, for the coordinator, or for its turn in a baseline."""
    busy_s = math.fsum(
        line.round_s - totals["wait"] - totals["queue"]
        for line in run.rounds
        for totals in (phase_totals(segments) for segments in line.segments)
    )
    all_s = math.fsum(line.round_s for line in run.rounds) * len(run.devices)
    return max(0.0, (all_s - busy_s) / len(run.devices))


def _training_s(run: RunRecord) -> float | None:
    """Mean time of a device in training that was not idle."""
    whole_s = _span_s(run, "training")
    return None if whole_s is None else max(0.0, whole_s - _idle_s(run))


def _leased_s(run: RunRecord) -> float | None:
    return None if run.outcome is None else run.outcome.leased_s


def _other_hosts_s(runs: Sequence[RunRecord]) -> list[float | None]:
    """Seconds of each host on which neither a participant nor the coordinator ran; None where it is not known."""
    seconds: list[float | None] = []
    for run in runs:
        places = {device.host for device in run.devices} | {run.header.coordinator}
        seconds += [_leased_s(run)] * len({run.header.host.host} - places)
    return seconds


def _hours(seconds: Sequence[float | None]) -> float | None:
    return _sum(seconds, per=HOUR_S)


def _sum(values: Sequence[float | None], *, per: float = 1.0) -> float | None:
    """Add up what is known; with anything unknown the sum is unknown."""
    known = [each for each in values if each is not None]
    return math.fsum(known) / per if len(known) == len(values) else None


def _per(amount: float | None, count: int) -> float | None:
    return None if amount is None or count == 0 else amount / count
