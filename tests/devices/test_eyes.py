"""Eyes on devices: from what a vendor's counters say to a glance, with all that is not said unknown."""

from pathlib import Path

import pytest

from pytest_mixgpu.devices.amd_eye import AmdEye
from pytest_mixgpu.devices.core_eye import CoreEye
from pytest_mixgpu.devices.eyes import open_eyes
from pytest_mixgpu.devices.glance import Glance
from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.nvidia_eye import REASONS, NvidiaEye
from pytest_mixgpu.devices.nvml import Nvml, NvmlError, open_nvml
from pytest_mixgpu.devices.pressure import cpu_pressure_s
from tests.fake_nvml import GPU_IS_LOST, FakeLibrary, Fault, card_facts, mig_host, uuid_of

BUSY = {
    "nvmlDeviceGetComputeRunningProcesses": [{"pid": 40}, {"pid": 41}],
    "nvmlDeviceGetGraphicsRunningProcesses": [{"pid": 41}],
    "nvmlDeviceGetUtilizationRates": {"gpu": 97, "memory": 40},
    "nvmlDeviceGetPerformanceState": 0,
    ("nvmlDeviceGetClockInfo", 1): 1650,
    "nvmlDeviceGetCurrentClocksEventReasons": 0x4 | 0x40,
    "nvmlDeviceGetPowerUsage": 249_000,
    ("nvmlDeviceGetTotalEccErrors", 1, 0): 2,
    "nvmlDeviceGetPcieReplayCounter": 3,
    "fields": {(52, 0): 4, (59, 0): 1},
}
AMD_PCI = "0000:c1:00.0"


def a40(**changes: object) -> FakeLibrary:
    facts = card_facts("NVIDIA A40", 0, memory_gib=44.99, capability=(8, 6)) | BUSY | changes
    return FakeLibrary(facts)


def look(library: FakeLibrary) -> Glance:
    return NvidiaEye(Nvml(library), uuid_of(0)).look()


def test_a_busy_card_is_seen_whole() -> None:
    """Processes once each, watts, names of reasons, errors of all links together."""
    assert look(a40()) == Glance(
        pids=(40, 41),
        is_busy=True,
        clock_mhz=1650,
        allowed_clock_mhz=1740,
        throttle_reasons=("sw-power-cap", "hw-thermal-slowdown"),
        temperature_c=34,
        power_w=249.0,
        power_cap_w=250.0,
        ecc_errors=2,
        link_errors=8,
    )


@pytest.mark.parametrize(("bit", "name"), REASONS.items())
def test_each_reason_has_its_name(bit: int, name: str) -> None:
    """One bit, one word."""
    assert (name,) == look(a40(nvmlDeviceGetCurrentClocksEventReasons=bit)).throttle_reasons


def test_idle_and_chosen_clocks_hold_nothing_back() -> None:
    """A clock that somebody set is what the device is allowed."""
    library = a40(nvmlDeviceGetCurrentClocksEventReasons=0x1 | 0x2)
    library.facts(0)["nvmlDeviceGetApplicationsClock", 1] = 1200

    seen = look(library)

    assert ((), 1200) == (seen.throttle_reasons, seen.allowed_clock_mhz)


def test_a_state_that_allows_slow_clocks_shows_none() -> None:
    """P8 idles."""
    assert look(a40(nvmlDeviceGetPerformanceState=8)).clock_mhz is None


def test_a_driver_of_old_tells_reasons_under_their_old_name() -> None:
    """Before 535 they were called throttle reasons."""
    library = a40(nvmlDeviceGetCurrentClocksThrottleReasons=0x80)
    del library.facts(0)["nvmlDeviceGetCurrentClocksEventReasons"]

    assert ("hw-power-brake-slowdown",) == look(library).throttle_reasons


def test_a_card_that_says_nothing_is_unknown() -> None:
    """Not one value is made up."""
    assert Glance() == NvidiaEye(Nvml(FakeLibrary({"nvmlDeviceGetUUID": uuid_of(0)})), uuid_of(0)).look()


def test_a_card_that_is_lost_ends_the_looking() -> None:
    """It raises: there is nothing to be asked any more."""
    library = a40()
    eye = NvidiaEye(Nvml(library), uuid_of(0))
    library.facts(0)["nvmlDeviceGetUtilizationRates"] = Fault(GPU_IS_LOST)

    with pytest.raises(NvmlError, match="made up"):
        eye.look()


def test_a_slice_is_looked_at() -> None:
    """By its own name; what only the card knows may be unknown."""
    library = mig_host()
    with open_nvml(library) as nvml:
        uuid = "MIG-00000000-a75d-5afc-978f-d2f1294409fd"
        assert NvidiaEye(nvml, uuid).look().clock_mhz is None


def device(vendor: str, **changes: object) -> Device:
    fields = {"id": uuid_of(0), "kind": "a40", "name": "it", "vendor": vendor, "host": "here", "ordinal": 0}
    return Device(**(fields | changes))  # type: ignore[arg-type]


def test_only_devices_of_this_host_are_looked_at(tmp_path: Path) -> None:
    """What stands elsewhere is out of sight, and so is what no driver knows."""
    devices = [
        device("nvidia"),
        device("nvidia", id="GPU-gone"),
        device("cpu", id="core"),
        device("amd", id="no-address"),
        device("nvidia", id="far", host="there"),
    ]
    library = a40()
    with open_eyes(devices, library=library, sysfs=tmp_path, host="here") as eyes:
        assert {uuid_of(0), "core"} == set(eyes)
    assert library.num_open == 0


def test_without_the_library_cards_are_unknown(tmp_path: Path) -> None:
    """No driver, no eye, no error."""
    with open_eyes([device("nvidia")], library=FakeLibrary(driver=Fault(9)), sysfs=tmp_path, host="here") as eyes:
        assert {} == eyes


def made_amd(sysfs: Path) -> Path:
    """A card's files, as the kernel lays them out."""
    folder = sysfs / "bus/pci/devices" / AMD_PCI
    metrics = bytearray(120)
    metrics[2:4] = 1, 3
    metrics[112:120] = (1 << 36 | 1).to_bytes(8, "little")
    texts = {
        folder / "gpu_busy_percent": "93\n",
        folder / "pp_dpm_sclk": "0: 500Mhz\n1: 1200Mhz *\n2: 1700Mhz\n",
        folder / "pcie_replay_count": "6\n",
        folder / "ras/umc_err_count": "ue: 2\nce: 40\n",
        folder / "ras/sdma_err_count": "ue: 1\nce: 0\n",
        folder / "hwmon/hwmon3/temp1_input": "61000\n",
        folder / "hwmon/hwmon3/temp2_input": "74000\n",
        folder / "hwmon/hwmon3/power1_average": "310000000\n",
        folder / "hwmon/hwmon3/power1_cap": "560000000\n",
        sysfs / "class/kfd/kfd/topology/nodes/0/properties": "location_id 0\ndomain 0\n",
        sysfs / "class/kfd/kfd/topology/nodes/0/gpu_id": "0\n",
        sysfs / "class/kfd/kfd/topology/nodes/1/properties": f"location_id {0xC1 << 8}\ndomain 0\n",
        sysfs / "class/kfd/kfd/topology/nodes/1/gpu_id": "5511\n",
        sysfs / "class/kfd/kfd/proc/70/vram_5511": "4096\n",
        sysfs / "class/kfd/kfd/proc/71/vram_5511": "0\n",
        sysfs / "class/kfd/kfd/proc/72/vram_9": "4096\n",
    }
    for path, text in texts.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")
    (folder / "gpu_metrics").write_bytes(metrics)
    return folder


def test_an_amd_card_is_seen_whole(tmp_path: Path) -> None:
    """From the kernel's files alone; a process without memory on it is not on it."""
    made_amd(tmp_path)

    assert AmdEye(AMD_PCI, sysfs=tmp_path).look() == Glance(
        pids=(70,),
        is_busy=True,
        clock_mhz=1200.0,
        allowed_clock_mhz=1700.0,
        throttle_reasons=("power", "temperature"),
        temperature_c=74.0,
        power_w=310.0,
        power_cap_w=560.0,
        ecc_errors=3,
        link_errors=6,
    )


def test_reasons_of_another_revision_are_unknown(tmp_path: Path) -> None:
    """Their bits mean something else on each part."""
    folder = made_amd(tmp_path)
    metrics = bytearray((folder / "gpu_metrics").read_bytes())
    metrics[3] = 4
    (folder / "gpu_metrics").write_bytes(metrics)

    assert AmdEye(AMD_PCI, sysfs=tmp_path).look().throttle_reasons is None


def test_an_amd_card_without_files_is_unknown_and_one_that_is_gone_raises(tmp_path: Path) -> None:
    """An empty folder is a card of which the kernel says nothing."""
    (tmp_path / "bus/pci/devices" / AMD_PCI).mkdir(parents=True)

    assert Glance() == AmdEye(AMD_PCI, sysfs=tmp_path).look()
    with pytest.raises(FileNotFoundError, match="gone"):
        AmdEye("0000:c2:00.0", sysfs=tmp_path).look()


def test_a_core_that_heat_held_back_says_so_once(tmp_path: Path) -> None:
    """The kernel counts; what grew since the last look is a reason now."""
    counter = tmp_path / "devices/system/cpu/cpu1/thermal_throttle/core_throttle_count"
    counter.parent.mkdir(parents=True)
    counter.write_text("5\n", encoding="ascii")
    eye = CoreEye(1, sysfs=tmp_path)
    quiet = eye.look().throttle_reasons
    counter.write_text("6\n", encoding="ascii")

    assert ((), ("thermal-throttle",), ()) == (quiet, eye.look().throttle_reasons, eye.look().throttle_reasons)
    assert CoreEye(2, sysfs=tmp_path).look().throttle_reasons is None


def test_pressure_is_the_hosts_else_our_own_groups(tmp_path: Path) -> None:
    """Seconds; unknown where neither says it."""
    proc, cgroups = tmp_path / "proc", tmp_path / "cgroup"
    assert cpu_pressure_s(proc=proc, cgroups=cgroups) is None

    (proc / "self").mkdir(parents=True)
    (proc / "self/cgroup").write_text("0::/job\n", encoding="ascii")
    (cgroups / "job").mkdir(parents=True)
    (cgroups / "job/cpu.pressure").write_text("some avg10=0.00 avg60=0.00 avg300=0.00 total=7000000\n", "ascii")
    assert 7.0 == cpu_pressure_s(proc=proc, cgroups=cgroups)

    (proc / "pressure").mkdir()
    text = "some avg10=0.00 avg60=0.00 avg300=0.00 total=1500000\nfull avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    (proc / "pressure/cpu").write_text(text, encoding="ascii")
    assert 1.5 == cpu_pressure_s(proc=proc, cgroups=cgroups)
