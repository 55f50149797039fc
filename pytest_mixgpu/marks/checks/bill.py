"""Item 8: the whole cost of one completed result."""

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.cost import ITEMS, Bill, cost_of
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.git import parse_moment
from pytest_mixgpu.marks.soundness import time_faults

SPANS = ("setup", "training", "teardown")


def lease_to_release_timed(evidence: Evidence) -> Finding:
    """Every run states its time from lease to release, parted into setup, training and the rest."""
    missing = []
    for run in evidence.attempts:
        if run.outcome is None:
            missing.append(f"run {run.id} never closed: what it cost is not known")
            continue
        if run.outcome.leased_s <= 0:
            missing.append(f"run {run.id} does not state how long its devices were leased")
        names = {span.name for span in run.outcome.spans}
        if run.status == "completed" and not set(SPANS) <= names:
            missing.append(f"run {run.id} does not state the time of {', '.join(sorted(set(SPANS) - names))}")
    missing += [
        f"run {lost.run_id} ({lost.name}) is registered and cannot be read: what it cost is not known"
        for lost in evidence.lost
    ]
    missing += [text for run in evidence.completed for text in time_faults(run)]
    firsts = [
        worker.first_step_s
        for run in evidence.completed
        for worker in (run.start.workers if run.start else ())
        if worker.device_id is not None and worker.first_step_s is not None
    ]
    stated = (
        (f"first training step {min(firsts):.2g} to {max(firsts):.2g} s after a device's worker was asked for",)
        if firsts
        else ()
    )
    return Finding(missing=tuple(missing), stated=stated)


def cost_items_listed(evidence: Evidence) -> Finding:
    """Every item is there, with its amount or with the words `not stated`."""
    bill = cost_of(evidence).whole
    names = {item.name for item in bill.items}
    missing = tuple(f"the bill has no item {name!r}" for name in ITEMS if name not in names)
    wrong = tuple(
        f"{item.name} costs {item.amount!r}: no amount"
        for item in bill.items
        if item.amount is not None and not 0 <= item.amount < float("inf")
    )
    return Finding(missing=(*missing, *wrong), stated=_lines(bill, cost_of(evidence).currency))


def prices_sourced(evidence: Evidence) -> Finding:
    """Prices carry date, currency and source, and there is one for every kind that was leased."""
    prices = evidence.prices
    if prices is None:
        return Finding(
            missing=("no prices are stated",),
            remedy="write `prices` into benchmark.toml, with date, currency and source",
        )
    missing = []
    if (
        not prices.currency.strip()
        or not prices.source.strip()
        or parse_moment(f"{prices.date}T00:00:00+00:00") is None
    ):
        missing.append(f"prices lack currency, date or source: {prices.currency!r}, {prices.date!r}, {prices.source!r}")
    missing += [f"the price of an hour of {kind} is not stated" for kind in cost_of(evidence).unpriced_kinds]
    return Finding(
        missing=tuple(missing),
        stated=(f"prices in {prices.currency} of {prices.date}; source: {prices.source}",),
        remedy="fill in `prices` in benchmark.toml, then amend the plan" if missing else "",
    )


def cost_per_result(evidence: Evidence) -> Finding:
    """The sum is divided by the runs that met the target, with and without controls and baseline."""
    cost = cost_of(evidence)
    if cost.num_results == 0:
        failed = evidence.first_failed("fleet", "mixed")
        text = "no run of fleet or mixed pool met the target: there is no result to divide the cost by"
        return Finding(missing=(evidence.undescribed or text,), word="UNJUDGED", follows_from=failed)
    whole, bare = cost.per_result_whole, cost.per_result_bare
    if whole is None or bare is None:
        return Finding(
            missing=("the cost of one result cannot be worked out: the price or lease of a device is not stated",)
        )
    return Finding(
        stated=(
            f"one completed result costs {whole:.4g} {cost.currency} with baseline, reference and controls",
            f"without them {bare:.4g} {cost.currency}",
            f"divided by {cost.num_results} runs that met the target",
            f"not stated and in no sum: {', '.join(cost.whole.not_stated) or 'nothing'}",
        )
    )


def _lines(bill: Bill, currency: str) -> tuple[str, ...]:
    return tuple(
        f"{item.name}: "
        + ("not stated" if item.quantity is None else f"{item.quantity:.4g} {item.unit}")
        + (", price not stated" if item.amount is None and item.quantity is not None else "")
        + (f", {item.amount:.4g} {currency}" if item.amount is not None else "")
        for item in bill.items
    )


CHECKS = (
    Check(
        name="lease-to-release-timed", about="every attempt is timed from lease to release", look=lease_to_release_timed
    ),
    Check(name="cost-items-listed", about="every item has an amount or is not stated", look=cost_items_listed),
    Check(name="prices-sourced", about="prices have date, currency and source", look=prices_sourced),
    Check(name="cost-per-result", about="divided by runs that met the target", look=cost_per_result),
)
