"""From what a plan needs to the lines that `--passmark-plan` prints. Knows no terminal."""

import textwrap
from collections.abc import Iterator

from pytest_mixgpu import units
from pytest_mixgpu.marks.parity_beside import chances_in_words
from pytest_mixgpu.marks.planning import MOST_RUNS, MarkNeed, PlanNeeds, RoleNeed, Spreading
from pytest_mixgpu.marks.statistics import LEVEL_IN_WORDS, share_covered_by_range
from pytest_mixgpu.report.sanitise import clean_for_log
from pytest_mixgpu.report.verdict_rows import COMPARATORS


def need_lines(needs: PlanNeeds, *, command: str, width: int = 120) -> list[str]:
    """Write what a suite needs, one fact an entry.

    Args:
        needs: of the suite.
        command: with which the suite is started: `pytest suites/e1`.
        width: of the terminal.
    """
    lines = [f"{needs.suite}: what its marks need (no run is made, no device is touched)"]
    lines += [f"  {text}" for text in _planned(needs)]
    for need in needs.marks:
        lines += [f"  {_title(need)}", *(f"    {text}" for text in _mark_lines(need))]
    if needs.num_claims:
        claims = "1 claim asks" if needs.num_claims == 1 else f"{needs.num_claims} claims ask"
        lines.append(f"  {claims} for no further run: they are about the records of the runs above")
    lines += [f"  {text}" for text in _sessions(needs, command)]
    return [part for line in lines for part in _wrapped(clean_for_log(line), width)]


def _wrapped(line: str, width: int) -> list[str]:
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def _planned(needs: PlanNeeds) -> Iterator[str]:
    if needs.num_repeats is None:
        yield "no plan (benchmark.toml): each mark is judged on the samples of one run"
        return
    seeds = range(needs.first_seed or 0, (needs.first_seed or 0) + needs.num_repeats)
    named = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    yield f"planned: {_runs(needs.num_repeats)} of each role, seed {named}"
    yield from (_role_line(role) for role in needs.roles)
    open_runs = sum(max(0, role.num_runs - role.num_made) for role in needs.roles)
    yield f"in all: {_runs(sum(role.num_runs for role in needs.roles))}, {open_runs} of them not registered yet"


def _role_line(role: RoleNeed) -> str:
    made = f", {role.num_made} registered so far" if role.num_made else ""
    legs = " (before and after the fleet, and with an exchange)" if role.role == "baseline" else ""
    return f"  {role.name} on {role.pool}: {_runs(role.num_runs)}{legs}{made}"


def _title(need: MarkNeed) -> str:
    mark = need.mark
    frozen = "" if need.is_frozen else " (not frozen)"
    bound = need.origin if need.bound is None else f"{units.format_exact(need.bound)} {mark.unit}"
    origin = f" ({need.origin})" if need.bound is not None and need.origin else ""
    return f"{mark.id}{frozen}: {mark.metric} {COMPARATORS[mark.comparator]} {bound}{origin}"


def _mark_lines(need: MarkNeed) -> Iterator[str]:
    mark, planned = need.mark, need.num_planned
    yield f"asks for at least {_runs(mark.least_runs)}, {planned} planned; straddling={mark.straddling!r}"
    yield from need.lacks
    if planned == 1:
        yield "one run has no interval: whatever it says, no difference can be shown by it"
    else:
        covered = 100 * share_covered_by_range(planned)
        yield f"the range of {planned} runs covers the true median with a chance of {covered:.0f} %"
    for one in need.spreadings:
        yield from _spreading_lines(need, one)
    if need.spreadings:
        yield f"differences are told {LEVEL_IN_WORDS}; the interval of a median needs about half as many runs again"


def _spreading_lines(need: MarkNeed, one: Spreading) -> Iterator[str]:
    unit = need.mark.unit
    deviation = f"at a standard deviation of {one.deviation:.3g} {unit} ({one.where})"
    resolved = "no difference" if one.resolvable is None else f"a difference of {one.resolvable:.3g} {unit}"
    needed = f"more than {MOST_RUNS:,} runs are" if one.runs_needed is None else f"{one.runs_needed} runs are"
    if need.design is None:
        goal = f"to lie on one side of the bound, {one.margin:.3g} {unit} away"
    else:
        goal = f"to show that it is not worse by {one.margin:g} {unit}, where it is as good (one-sided)"
    yield f"{deviation} {_runs(need.num_planned)} can show {resolved}; {needed} needed {goal}"
    if need.design is not None and need.design.tolerance > 0:
        yield f"  there the rule passes {chances_in_words(need.design, one.deviation)}"


def _sessions(needs: PlanNeeds, command: str) -> Iterator[str]:
    if needs.sessions:
        yield "sessions that make them:"
    for pool, names in needs.sessions:
        yield f"  {command} --gpus={pool}   ({', '.join(names)})"
    if needs.rehearsal_pool:
        yield f"  {command}   (rehearsal on {needs.rehearsal_pool}: answers nothing, and counts for no mark)"


def _runs(num: int) -> str:
    return "1 run" if num == 1 else f"{num} runs"
