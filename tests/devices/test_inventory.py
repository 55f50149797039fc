"""What is here."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.devices.amd import AmdSource
from pytest_mixgpu.devices.cpu import CpuSource
from pytest_mixgpu.devices.inventory import Inventory, describe, facts_about, identity, own_sources, take_inventory
from pytest_mixgpu.devices.nvidia import NvidiaSource
from tests.fake_kernel import write_amd_host, write_nodes
from tests.fake_nvml import DRIVER_NOT_LOADED, FakeLibrary, Fault, a40_host, uuid_of, vgpu_host
from tests.fakes import FakeMachine, fake_gpu


def test_the_cores_of_this_process_are_here() -> None:
    """A core that this process may not run on cannot be leased."""
    cores = take_inventory([CpuSource()]).cores

    assert os.sched_getaffinity(0) == {core.ordinal for core in cores}
    assert {"cpu"} == {core.kind for core in cores}
    assert len(cores) == len({core.id for core in cores})


def test_the_affinity_of_the_caller_is_kept() -> None:
    """A process pinned to one core sees one."""
    core = min(os.sched_getaffinity(0))
    program = (
        f"import os; os.sched_setaffinity(0, {{{core}}})\n"
        "from pytest_mixgpu.devices.cpu import CpuSource\n"
        "print([device.ordinal for device in CpuSource().look().devices])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert f"[{core}]" == done.stdout.strip()


def test_looking_imports_no_torch() -> None:
    """Torch uses devices and never lists them."""
    program = (
        "import sys\n"
        "from pytest_mixgpu.devices.inventory import take_inventory\n"
        "take_inventory()\n"
        "print('torch' in sys.modules, 'numpy' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "False False" == done.stdout.strip()


def test_all_vendors_are_looked_for() -> None:
    """GPUs first, then cores."""
    assert ["NvidiaSource", "AmdSource", "CpuSource"] == [type(source).__name__ for source in own_sources()]


def _write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text, encoding="utf-8")


def test_the_second_thread_of_a_physical_core_comes_last(tmp_path: Path) -> None:
    """Two participants on one physical core would fight, so that its siblings are chosen last."""
    cores = sorted(os.sched_getaffinity(0))
    for core in cores:
        # As if the first two hardware threads were one physical core.
        siblings = ",".join(map(str, cores[:2])) if core in cores[:2] else str(core)
        _write(tmp_path, f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list", siblings)

    devices = CpuSource(root=tmp_path).look().devices

    expected = [*cores[:1], *cores[2:], *cores[1:2]]
    assert expected == [device.ordinal for device in devices]


def test_the_processors_name_is_what_the_kernel_says(tmp_path: Path) -> None:
    """Unchanged; where the kernel says none, the machine's architecture stands for it."""
    assert "CPU" in CpuSource(root=tmp_path).look().devices[0].name

    _write(tmp_path, "proc/cpuinfo", "processor\t: 0\nmodel name\t: Some CPU @ 2.00GHz\n")

    assert "Some CPU @ 2.00GHz" == CpuSource(root=tmp_path).look().devices[0].name


@pytest.mark.parametrize(
    ("files", "is_noted"),
    [
        ({}, False),
        ({"cpu.max": "max 100000\n"}, False),
        ({"cpu.max": "50000 100000\n"}, True),
        ({"cpu.max": "99900000 100000\n"}, False),
        ({"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, False),
        ({"cpu/cpu.cfs_quota_us": "50000\n", "cpu/cpu.cfs_period_us": "100000\n"}, True),
    ],
    ids=["no-group", "no-limit", "half-a-core", "ample", "old-no-limit", "old-half-a-core"],
)
def test_a_container_with_less_time_than_cores_is_noted(
    tmp_path: Path, files: dict[str, str], *, is_noted: bool
) -> None:
    """It would be slow without anybody to blame."""
    for name, text in files.items():
        _write(tmp_path, f"sys/fs/cgroup/{name}", text)

    assert is_noted == bool(CpuSource(root=tmp_path).look().notes)


def test_a_core_knows_its_node(tmp_path: Path) -> None:
    """Where the kernel does not say, it is unknown."""
    core = min(os.sched_getaffinity(0))
    assert {None} == {device.numa_node for device in CpuSource(root=tmp_path).look().devices}

    write_nodes(tmp_path, "9000", f"{core}")

    nodes = {device.ordinal: device.numa_node for device in CpuSource(root=tmp_path).look().devices}
    assert 1 == nodes.pop(core)
    assert {None} >= set(nodes.values())


def test_a_broken_driver_of_one_vendor_leaves_the_others(tmp_path: Path) -> None:
    write_amd_host(tmp_path)
    broken = NvidiaSource(FakeLibrary(driver=Fault(DRIVER_NOT_LOADED, "no driver")), environ={}, root=tmp_path)

    inventory = take_inventory([broken, AmdSource(environ={}, root=tmp_path), FakeMachine(num_cores=1)])

    assert ["mi300x", "mi300x", "rx7900xtx", "cpu"] == [device.kind for device in inventory.devices]
    assert "no driver" in inventory.notes[0]


def test_facts_are_those_of_the_devices_that_are_asked_about() -> None:
    inventory = NvidiaSource(a40_host(), environ={}).look()

    facts, links = facts_about(inventory.devices[:2], inventory)

    assert [uuid_of(0), uuid_of(1)] == [each.device_id for each in facts]
    assert ["nvlink:4"] == [link.path for link in links]


def test_the_list_for_people_says_how_devices_are_set_up_and_joined() -> None:
    text = "\n".join(describe(NvidiaSource(a40_host(2), environ={}, root=Path("/nowhere")).look()))

    for part in (
        "PCI 0000:01:00.0",
        "NUMA node 0 (cores 0-7)",
        "driver 550.90.07",
        "power cap 250 W of 300 W by default",
        "clock 210 MHz of 1740 MHz",
        "temperature 34 °C",
        "ECC on",
        "persistence on",
        "firmware 94.02.5C.00.03",
        "nvidia 0 - nvidia 1: nvlink:4",
    ):
        assert part in text


def test_the_list_for_people_says_what_is_unknown() -> None:
    """Never zero."""
    text = "\n".join(describe(NvidiaSource(vgpu_host(), environ={}, root=Path("/nowhere")).look()))

    for part in ("NUMA node unknown", "power cap unknown of unknown", "ECC unknown", "temperature unknown"):
        assert part in text
    assert " 0 W" not in text


def test_kinds_that_a_device_may_be_are_shown() -> None:
    """For people; nothing is matched by them."""
    device = msgspec.structs.replace(fake_gpu("AMD Radeon Graphics"), inferred=("mi300x",))

    assert "it may be mi300x" in "\n".join(describe(Inventory(devices=(device,))))


def test_sources_are_joined_in_their_order() -> None:
    """GPUs come before cores."""
    inventory = take_inventory([FakeMachine("NVIDIA A40", num_cores=0), FakeMachine(num_cores=2)])

    assert ["a40", "cpu", "cpu"] == [device.kind for device in inventory.devices]
    assert (1, 2) == (len(inventory.gpus), len(inventory.cores))


def test_the_list_for_people_names_kinds_exact_names_and_what_could_not_be_seen() -> None:
    """`--mixgpu-devices` prints it."""
    inventory = FakeMachine("NVIDIA A40", "AMD Radeon Graphics", "", num_cores=2).look()
    text = "\n".join(describe(msgspec.structs.replace(inventory, notes=("something was not seen",))))

    for part in ("a40:1,unresolved:2", "NVIDIA A40", "AMD Radeon Graphics", "a device without a name", "generic-name"):
        assert part in text
    assert "2 x Fake CPU on fake, cores 0-1" in text
    assert "cpu-portable" in text
    assert "Note: something was not seen" in text


def test_a_machine_without_gpus_says_so() -> None:
    """An empty list would leave open whether it was looked for."""
    assert "  no GPU" in describe(FakeMachine(num_cores=1).look())


def test_what_is_unknown_of_a_device_is_said_to_be_unknown() -> None:
    """Unknown is not zero."""
    assert "NVIDIA A40, unknown architecture, unknown number of units, unknown memory" == identity(
        fake_gpu("NVIDIA A40")
    )
