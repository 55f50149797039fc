"""From the judge's bill and the spans of each run, lease to release, to rows. Adds nothing up by itself but spans."""

from collections.abc import Sequence

from pytest_mixgpu import units
from pytest_mixgpu.marks.cost import Cost, CostItem
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan, Prices
from pytest_mixgpu.report.figures.made import run_label
from pytest_mixgpu.report.fold import folded
from pytest_mixgpu.report.model import Pair, Section, Table
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.stage import is_rehearsal

_SPANS = ("lease", "setup", "training", "evaluation", "teardown")


def cost_section(records: Sequence[RunRecord], plan: Plan | None, cost: Cost | None) -> Section:
    """Show the bill with and without what was compared with, the prices, and what each run held and moved."""
    prices = None
    if plan is not None:
        prices = plan.rehearsal.prices if is_rehearsal(records) and plan.rehearsal else plan.prices
    rows = tuple(_row(record) for record in records if record.outcome is not None)
    head = ("run", *_SPANS, "between", "leased", "device-hours", "moved", "people")
    return Section(
        title="Cost",
        lead="From lease to release. An amount that nobody stated is not counted as 0.",
        pairs=(*_result_pairs(cost), *_price_pairs(prices)),
        tables=(
            *(() if cost is None else (_bill_table(cost),)),
            *((folded(Table(head=head, rows=rows, caption="Where the leased time of each run went")),) if rows else ()),
        ),
    )


def _result_pairs(cost: Cost | None) -> tuple[Pair, ...]:
    if cost is None:
        return ()
    currency = clean(cost.currency)
    return (
        Pair(name="Results that met the target", text=units.format_count(cost.num_results)),
        Pair(name="One result, comparisons included", text=units.format_money(cost.per_result_whole, currency)),
        Pair(name="One result alone", text=units.format_money(cost.per_result_bare, currency)),
        Pair(name="Kinds without a price", text=clean(", ".join(cost.unpriced_kinds)) or "none"),
    )


def _bill_table(cost: Cost) -> Table:
    """Put both bills side by side: the same items, over all runs and over the runs under test alone."""
    currency = clean(cost.currency)
    bare = {item.name: item for item in cost.bare.items}
    rows = [
        (
            clean(item.name),
            *(
                text
                for one in (item, bare[item.name])
                for text in (_quantity(one), units.format_money(one.amount, currency))
            ),
        )
        for item in cost.whole.items
    ]
    sums = [
        text
        for bill in (cost.whole, cost.bare)
        for text in (_hours(bill.device_hours), units.format_money(bill.amount, currency))
    ]
    return Table(
        head=("item", "all runs", "amount, all runs", "fleet and mixed only", "amount, fleet and mixed only"),
        rows=(*rows, ("sum of what is stated", *sums)),
        caption="The bill, with and without baseline, reference and controls",
    )


def _quantity(item: CostItem) -> str:
    if item.quantity is None:
        return units.NOT_STATED
    return f"{units.format_number(item.quantity)} {clean(item.unit)}"


def _hours(device_hours: float | None) -> str:
    return units.NOT_STATED if device_hours is None else f"{units.format_number(device_hours)} device-hours"


def _row(record: RunRecord) -> tuple[str, ...]:
    outcome, header = record.outcome, record.header
    if outcome is None:
        raise ValueError(f"run {record.id} never closed: it has no spans")
    totals_s = dict.fromkeys(_SPANS, 0.0)
    for span in outcome.spans:
        totals_s[span.name] = totals_s.get(span.name, 0.0) + span.duration_s
    between_s = max(0.0, outcome.leased_s - sum(totals_s.values()))
    people = "not stated" if outcome.people_minutes is None else f"{units.format_number(outcome.people_minutes)} min"
    return (
        run_label(record),
        *(units.format_duration(totals_s[name]) for name in _SPANS),
        units.format_duration(between_s),
        units.format_duration(outcome.leased_s),
        units.format_number(outcome.leased_s * len(header.pool) / 3600),
        units.NOT_STATED if outcome.moved_bytes is None else units.format_bytes(outcome.moved_bytes),
        people,
    )


def _price_pairs(prices: Prices | None) -> tuple[Pair, ...]:
    if prices is None:
        return (Pair(name="Prices", text=units.NOT_STATED),)
    currency = prices.currency
    amounts = {
        "Coordinator, an hour": prices.coordinator_hour,
        "Other hosts, an hour": prices.host_hour,
        "Data moved, a gigabyte": prices.moved_gigabyte,
        "Storage, a gigabyte and month": prices.storage_gigabyte_month,
        "People, an hour": prices.person_hour,
    }
    by_kind: dict[str, float | None] = {
        f"{kind}, an hour": amount for kind, amount in sorted(prices.device_hour.items())
    }
    if not by_kind:
        by_kind = {"Devices, an hour": None}
    unstated = [name.partition(",")[0].lower() for name, amount in amounts.items() if amount is None]
    return (
        Pair(name="Price list", text=clean(f"{prices.source} ({prices.date}, {currency})")),
        *(Pair(name=clean(name), text=units.format_money(amount, currency)) for name, amount in by_kind.items()),
        *(
            Pair(name=name, text=units.format_money(amount, currency))
            for name, amount in amounts.items()
            if amount is not None
        ),
        *((Pair(name="Prices not stated", text=", ".join(unstated)),) if unstated else ()),
    )
