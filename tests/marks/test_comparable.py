"""Two sessions are put side by side only if they are one experiment but for its pool; else the field is named."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.comparable import Side, obstacles
from pytest_mixgpu.records.plan_file import plan_digest
from tests.report.made_verdicts import claim, speedup
from tests.sample_doctors import with_digests, with_header, with_settings, with_start, with_workers
from tests.samples import MadeRun, as_record, e1_plan, make_run, pool_of

if TYPE_CHECKING:
    from pytest_mixgpu.records.model import Evaluation

Doctor = Callable[[MadeRun], MadeRun]
OTHER: dict[type, Callable[[Any], object]] = {
    str: lambda value: f"{value}-other",
    bool: lambda value: not value,
    int: lambda value: value + 1,
    tuple: lambda value: (*value[1:], value[0] + 1),
    dict: lambda value: value | {"model": "other"},
}
"""How a value of a setting becomes another."""


def side(name: str = "A", *, doctor: Doctor = lambda run: run, **changes: object) -> Side:
    """Make one side: a speed mark, a claim, and the runs behind them."""
    runs = [doctor(make_run(role=role, leg=leg, session=name)) for role, leg in (("baseline", "before"), ("fleet", ""))]
    made = Side(name=name, suite="e1", verdicts=(speedup(), claim("cost")), runs=tuple(as_record(run) for run in runs))
    return replace(made, **changes)


def fields(a: Side, b: Side) -> list[str]:
    return [one.field for one in obstacles(a, b)]


def test_two_sessions_of_one_experiment_may_be_compared() -> None:
    """Other sessions, hosts, versions, drivers, places and results are what is looked at."""

    def elsewhere(run: MadeRun) -> MadeRun:
        assert run.start is not None
        hosts = tuple(replace(host, host="other", driver="9", python="3.13") for host in run.start.hosts)
        moved = with_start(with_header(run, coordinator="other", launcher="other"), hosts=hosts)
        return with_workers(moved, torch="9.9", cpu_capability="AVX512")

    assert fields(side(), side("B")) == []
    assert fields(side(), side("B", doctor=elsewhere)) == []
    assert fields(side(), side("B", verdicts=(speedup(value=9.0, word="FAIL", n=3), claim("cost", word="VOID")))) == []


def test_another_pool_does_not_forbid_it() -> None:
    """Shares and the applied bound follow the number of devices."""
    pool = pool_of(next(role for role in e1_plan().roles if role.role == "fleet"))

    def larger(run: MadeRun) -> MadeRun:
        if run.header.role != "fleet":
            return run
        return with_settings(with_header(run, pool=pool), shares=tuple(range(1, len(pool) + 1)))

    more = speedup(bound=11.2, bound_origin="0.70 of the ideal 16", pool="a40:16")
    assert fields(side(), side("B", doctor=larger, verdicts=(more, claim("cost")))) == []


@pytest.mark.parametrize("name", make_run().header.settings.__struct_fields__)
def test_every_setting_forbids_it(name: str) -> None:
    """All of them are numeric, and part of the experiment."""

    def other(run: MadeRun) -> MadeRun:
        value = getattr(run.header.settings, name)
        return with_settings(run, **{name: OTHER[type(value)](value)})

    found = obstacles(side(), side("B", doctor=other))

    assert [f"settings.{name}" if name != "recipe" else "recipe.model"] == [one.field for one in found]
    assert str(found[0]).startswith(f"{found[0].field}: A has ")
    assert "B has" in str(found[0])


@pytest.mark.parametrize(
    ("field", "doctor"),
    [
        ("plan", lambda run: with_digests(run, plan="other")),
        ("code", lambda run: with_digests(run, code="other")),
        ("evaluator", lambda run: with_digests(run, evaluator="other")),
        ("data", lambda run: with_start(run, data_digest="other")),
        ("split sizes", lambda run: with_start(run, data_counts={"train": 7})),
        ("parameters", lambda run: with_start(run, num_parameters=7)),
        ("seed", lambda run: with_header(run, seed=99)),
        ("role", lambda run: with_header(run, role="mixed") if run.header.role == "fleet" else run),
    ],
)
def test_what_made_the_number_forbids_it(field: str, doctor: Doctor) -> None:
    """Digests of plan, code, evaluator and data, and what follows from them."""
    assert field in fields(side(), side("B", doctor=doctor))


@pytest.mark.parametrize("name", ["num_total", "device", "number_format", "num_threads", "evaluator_digest"])
def test_another_evaluation_forbids_it(name: str) -> None:
    """Scores of two devices or formats are not of one scale."""

    def other(run: MadeRun) -> MadeRun:
        changed: list[Evaluation] = []
        for one in run.evaluations:
            value = getattr(one, name)
            changed.append(replace(one, **{name: OTHER[type(value)](value)}) if one.split == "test" else one)
        return run._replace(evaluations=tuple(changed))

    def scored(doctor: Doctor) -> tuple[Any, ...]:
        return (as_record(doctor(make_run(role="mixed"))),)

    found = fields(side(runs=scored(lambda run: run)), side("B", runs=scored(other)))

    assert found == [f"evaluation.{name}"]


@pytest.mark.parametrize(
    ("field", "changes"),
    [
        ("e1-speedup.metric", {"metric": "round_s"}),
        ("e1-speedup.unit", {"unit": "times"}),
        ("e1-speedup.comparator", {"comparator": "at_most"}),
        ("e1-speedup.bound", {"bound_origin": "0.80 of the ideal 2"}),
        ("e1-speedup.bound", {"bound_origin": "", "bound": 1.5}),
        ("e1-speedup.kind", {"is_claim": True}),
        ("lock", {"lock_digest": "ef" * 32}),
        ("lock", {"lock_digest": ""}),
        ("stage", {"qualifiers": ()}),
        ("stage", {"qualifiers": ("emulated", "rehearsal")}),
    ],
)
def test_what_a_mark_asks_forbids_it(field: str, changes: dict[str, object]) -> None:
    """Another bound, unit or metric is another question; a rehearsal is not the experiment."""
    assert field in fields(
        side(runs=()), side("B", verdicts=(msgspec.structs.replace(speedup(), **changes), claim("cost")), runs=())
    )


def test_another_suite_forbids_it() -> None:
    """Two questions have no common answer; what else differs follows from that."""
    assert fields(side(), side("B", suite="e2")) == ["suite"]
    assert fields(side(), side("B", suite="e2", doctor=lambda run: with_digests(run, code="x", plan="x"))) == ["suite"]


def test_a_field_is_named_once() -> None:
    """However many runs show it."""
    found = obstacles(side(), side("B", doctor=lambda run: with_digests(run, code="other")))

    assert [one.field for one in found] == ["code"]
    assert "run " in found[0].where
    assert plan_digest(e1_plan()) not in str(found[0])
