"""Doctored experiments in which devices were disturbed, one kind of disturbance each, and records of what cannot be."""

from collections.abc import Callable

from msgspec.structs import replace

from pytest_mixgpu.devices.model import DeviceFacts, DeviceSeen
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.records.plan import Disturbance, Plan
from tests.judging import e1_marks, freeze_e1, make_evidence, with_prices
from tests.negative.doctoring import Case
from tests.sample_doctors import Doctor, only, with_start
from tests.sample_timeline import MadeRun
from tests.samples import e1_plan

QUIET = DeviceSeen(
    num_samples=4,
    foreign_pids=(),
    lowest_clock_mhz=1600.0,
    allowed_clock_mhz=1740.0,
    throttle_reasons=(),
    highest_temperature_c=71.0,
    highest_power_w=290.0,
    power_cap_w=300.0,
    new_ecc_errors=0,
    new_link_errors=0,
)
"""An honest record of a device that nobody disturbed."""
CAPPED = ("sw-power-cap",)


def refuses(mark: PassMark) -> PassMark:
    """Let the mark refuse what was disturbed."""
    return replace(mark, disturbed="refuse")


def seen(shown: DeviceSeen, *, pressure: float = 0.01) -> Doctor:
    """Let each device be seen quiet in every round, and the first of them otherwise in the last round."""

    def doctor(run: MadeRun) -> MadeRun:
        rounds = [
            replace(line, device_seen=(QUIET,) * len(line.participants), cpu_pressure=(0.01,) * len(line.participants))
            for line in run.rounds
        ]
        last = rounds[-1]
        rounds[-1] = replace(
            last,
            device_seen=(shown, *last.device_seen[1:]),
            cpu_pressure=(pressure, *last.cpu_pressure[1:]),
        )
        return run._replace(rounds=tuple(rounds))

    return doctor


def with_default_cap(run: MadeRun, cap_w: float = 300.0) -> MadeRun:
    """Let hosts say what the cards' own power cap is."""
    assert run.start is not None
    facts = tuple(DeviceFacts(device_id=one.id, default_power_cap_w=cap_w) for one in run.header.pool.devices)
    return with_start(run, hosts=tuple(replace(host, devices=facts) for host in run.start.hosts))


def experiment(
    shown: DeviceSeen,
    *,
    change: Callable[[PassMark], PassMark] = lambda mark: mark,
    limits: Disturbance | None = None,
    pressure: float = 0.01,
    rehearsal: bool = False,
) -> Callable[[], Evidence]:
    """Make the experiment, the fleet's first device seen like that."""

    def make() -> Evidence:
        plan: Plan = with_prices(e1_plan())
        if limits is not None:
            plan = replace(plan, disturbance=limits)
        marks = [change(mark) for mark in e1_marks().marks]

        def doctor(run: MadeRun) -> MadeRun:
            watched = seen(shown, pressure=pressure) if run.header.name == "fleet" else seen(QUIET)
            return watched(with_default_cap(run))

        return make_evidence(
            plan=plan,
            lock=lambda _: freeze_e1(plan, marks=marks),
            marks=marks,
            doctor=only(doctor),
            rehearsal=rehearsal,
        )

    return make


DISTURBANCES: dict[str, tuple[DeviceSeen, str]] = {
    "foreign-process": (replace(QUIET, foreign_pids=(4242,)), "foreign processes (4242) were on the device"),
    "thermal": (
        replace(QUIET, throttle_reasons=("hw-thermal-slowdown",)),
        "the driver held clocks back (hw-thermal-slowdown)",
    ),
    "power-brake": (
        replace(QUIET, throttle_reasons=("hw-power-brake-slowdown",)),
        "the driver held clocks back (hw-power-brake-slowdown)",
    ),
    "lowered-cap": (
        replace(QUIET, throttle_reasons=CAPPED, power_cap_w=200.0),
        "(sw-power-cap) at a cap of 200 W, below the card's own 300 W",
    ),
    "slow-clock": (
        replace(QUIET, lowest_clock_mhz=600.0),
        "a clock of 600 MHz was seen while it computed, 34 % of the 1740 MHz that it is allowed, the limit is 50 %",
    ),
    "memory-error": (replace(QUIET, new_ecc_errors=1), "1 new uncorrected memory errors were counted, the limit is 0"),
    "link-error": (replace(QUIET, new_link_errors=12), "12 new errors of links were counted, the limit is 0"),
}

CASES_OF_DEVICES = tuple(
    case
    for what, (shown, says) in DISTURBANCES.items()
    for case in (
        Case("e1-speedup", what, experiment(shown), "UNJUDGED", says),
        Case("e1-speedup", f"{what}-refused", experiment(shown, change=refuses), "UNJUDGED", says, refuses),
    )
)

IMPOSSIBLE: dict[str, tuple[DeviceSeen, str]] = {
    "negative-clock": (
        replace(QUIET, lowest_clock_mhz=-1.0),
        "lowest_clock_mhz of the device of participant 0 is said",
    ),
    "allowed-clock": (replace(QUIET, allowed_clock_mhz=1e9), "allowed_clock_mhz of the device"),
    "temperature": (replace(QUIET, highest_temperature_c=1e30), "highest_temperature_c of the device"),
    "power": (replace(QUIET, highest_power_w=-5.0), "highest_power_w of the device"),
    "cap": (replace(QUIET, power_cap_w=1e30), "power_cap_w of the device"),
    "samples": (replace(QUIET, num_samples=-1), "num_samples of the device"),
    "unlooked": (replace(QUIET, num_samples=0), "was not looked at and is said to have been seen"),
    "memory-errors": (replace(QUIET, new_ecc_errors=-1), "new_ecc_errors of the device"),
    "link-errors": (replace(QUIET, new_link_errors=-2), "new_link_errors of the device"),
    "process": (replace(QUIET, foreign_pids=(-1,)), "foreign_pids of the device"),
}
