"""What is here."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.devices.inventory import CpuSource, describe, identity, take_inventory
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
        "from pytest_mixgpu.devices.inventory import CpuSource\n"
        "print([device.ordinal for device in CpuSource().look().devices])"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert f"[{core}]" == done.stdout.strip()


def test_a_machine_without_gpus_imports_no_torch() -> None:
    """Looking for devices is cheap where there is no driver."""
    program = (
        "import sys\n"
        "from pytest_mixgpu.devices.inventory import CpuSource, take_inventory\n"
        "from pytest_mixgpu.devices.torch_source import DriverNodes, TorchSource\n"
        "take_inventory([TorchSource(nodes=DriverNodes()), CpuSource()])\n"
        "print('torch' in sys.modules, 'numpy' in sys.modules)"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "False False" == done.stdout.strip()


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
