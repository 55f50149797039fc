"""GPUs as torch reports them. A made-up torch stands in for a build with devices; the probe is the real program."""

import os
import re
import sys
import textwrap
from pathlib import Path

import pytest

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.torch_source import DriverNodes, Properties, TorchSource, devices_of, find_driver_nodes


def _properties(name: str = "NVIDIA A40", /, **changes: object) -> Properties:
    fields: dict[str, object] = {
        "name": name,
        "memory_bytes": 48 * 10**9,
        "capability": (8, 6),
        "architecture": None,
        "num_units": 84,
        "uuid": None,
        "bus": (None, None, None),
    }
    return Properties(**(fields | changes))  # type: ignore[arg-type]


def _devices(*found: Properties, vendor: str = "nvidia", **environ: str) -> tuple[Device, ...]:
    return devices_of(found, vendor="amd" if vendor == "amd" else "nvidia", environ=environ, host="h")


def test_a_device_carries_all_that_torch_says() -> None:
    """Name, kind, architecture, units and memory."""
    (device,) = _devices(_properties(uuid="8932f937-d72c-4106-c12f-20bd9faed9f6"))

    assert ("a40", "sm_86", 84, 48 * 10**9) == (
        device.kind,
        device.architecture,
        device.num_units,
        device.memory_bytes,
    )
    assert "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" == device.id
    assert "cuda:0" == device.torch_device


def test_without_a_list_an_nvidia_device_is_narrowed_by_its_uuid() -> None:
    """It names the same card in every order of devices."""
    (device,) = _devices(_properties(uuid="8932f937-0000"))

    assert (("CUDA_VISIBLE_DEVICES", "GPU-8932f937-0000"),) == device.environment


def test_entries_of_the_callers_list_are_handed_on() -> None:
    """The second device of `3,1` is narrowed by `1`, its entry in the caller's list, never by its new ordinal."""
    devices = _devices(_properties(uuid="a-1"), _properties(uuid="b-2"), CUDA_VISIBLE_DEVICES="3, 1")

    assert [(("CUDA_VISIBLE_DEVICES", "3"),), (("CUDA_VISIBLE_DEVICES", "1"),)] == [d.environment for d in devices]
    assert [0, 1] == [device.ordinal for device in devices]


def test_a_slice_keeps_its_entry_and_is_no_card() -> None:
    """A MIG slice is named by its own UUID, which is never read as a number."""
    name = "NVIDIA A100-SXM4-40GB MIG 1g.5gb"

    (device,) = _devices(_properties(name), CUDA_VISIBLE_DEVICES="MIG-c7384736")

    assert ("MIG-c7384736", "a100-mig-1g.5gb", ("mig",)) == (device.id, device.kind, device.flags)
    assert (("CUDA_VISIBLE_DEVICES", "MIG-c7384736"),) == device.environment


def test_a_card_seen_through_a_slices_entry_is_flagged() -> None:
    """Even where a runtime reports the card's bare name."""
    (device,) = _devices(_properties(), CUDA_VISIBLE_DEVICES="MIG-c7384736")

    assert ("mig",) == device.flags


def test_an_amd_device_is_narrowed_within_what_rocr_left() -> None:
    """HIP's list is set, ROCR's stays the caller's."""
    found = _properties("AMD Instinct MI300X", architecture="gfx942:sramecc+:xnack-", num_units=304, bus=(0, 0x1A, 0))

    devices = _devices(found, found, vendor="amd", ROCR_VISIBLE_DEVICES="4,5", HIP_VISIBLE_DEVICES="1,0")

    assert ("mi300x", "gfx942:sramecc+:xnack-") == (devices[0].kind, devices[0].architecture)
    assert [(("HIP_VISIBLE_DEVICES", "1"),), (("HIP_VISIBLE_DEVICES", "0"),)] == [d.environment for d in devices]


@pytest.mark.parametrize(
    ("changes", "vendor", "identifier"),
    [
        ({"uuid": "00000000-0000-0000-0000-000000000000", "bus": (0, 0x1A, 0)}, "nvidia", "nvidia:h:0000:1a:00"),
        ({"bus": (None, 0x1A, 0)}, "amd", "amd:h:0000:1a:00"),
        ({}, "amd", "amd:h:0"),
    ],
)
def test_a_device_without_a_uuid_is_named_by_its_place(
    changes: dict[str, object], vendor: str, identifier: str
) -> None:
    """The bus address, else the entry by which the caller's environment names it."""
    (device,) = _devices(_properties(**changes), vendor=vendor)

    assert identifier == device.id


@pytest.mark.parametrize(
    ("files", "nodes"),
    [
        ((), DriverNodes()),
        (("dev/nvidia0", "dev/nvidia1", "dev/nvidiactl", "dev/nvidia-uvm"), DriverNodes(nvidia=2)),
        (("dev/nvidiactl",), DriverNodes(nvidia=1)),
        (("dev/dxg",), DriverNodes(nvidia=1)),
        (("dev/kfd",), DriverNodes(amd=1)),
        (("dev/kfd", "dev/nvidia0"), DriverNodes(nvidia=1, amd=1)),
        (("sys/class/kfd/kfd/topology/nodes/1/gpu_id",), DriverNodes()),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, tuple) else "",
)
def test_drivers_are_seen_in_the_file_system(tmp_path: Path, files: tuple[str, ...], nodes: DriverNodes) -> None:
    """Torch is asked only where a driver shows its nodes."""
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="ascii")

    assert nodes == find_driver_nodes(tmp_path)


def test_amd_gpus_are_told_from_processors_in_the_drivers_topology(tmp_path: Path) -> None:
    """A node with the id 0 is a processor."""
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "kfd").touch()
    for node, gpu_id in enumerate(["0", "31226", "5150"]):
        folder = tmp_path / "sys/class/kfd/kfd/topology/nodes" / str(node)
        folder.mkdir(parents=True)
        (folder / "gpu_id").write_text(f"{gpu_id}\n", encoding="ascii")

    assert DriverNodes(amd=2) == find_driver_nodes(tmp_path)


def _fake_torch(folder: Path, body: str, *, cuda: str | None = "13.0", hip: str | None = None) -> dict[str, str]:
    """Write a module named torch and give the environment in which it is the one that is imported."""
    source = f"""
    class version: cuda = {cuda!r}; hip = {hip!r}
    __version__ = "0.made-up"
    class _P:
        name = "NVIDIA A40"; total_memory = 48 * 10**9; major = 8; minor = 6; multi_processor_count = 84
    class cuda:
        {body}
        @staticmethod
        def get_device_properties(index): return _P
    """
    (folder / "torch.py").write_text(textwrap.dedent(source), encoding="utf-8")
    return {"PYTHONPATH": str(folder), "PATH": os.environ.get("PATH", "")}


COUNT_2 = "device_count = staticmethod(lambda: 2)"
COUNT_0 = "device_count = staticmethod(lambda: 0)"
RAISES = "device_count = staticmethod(lambda: (_ for _ in ()).throw(RuntimeError('driver too old')))"


def test_the_probe_is_asked_in_a_process_of_its_own(tmp_path: Path) -> None:
    """What torch says there arrives here as devices, and torch is not imported here."""
    environ = _fake_torch(tmp_path, COUNT_2)
    before = "torch" in sys.modules

    inventory = TorchSource(nodes=DriverNodes(nvidia=2), environ=environ).look()

    assert ["a40", "a40"] == [device.kind for device in inventory.devices]
    assert () == inventory.notes
    assert before == ("torch" in sys.modules)


@pytest.mark.parametrize(
    ("body", "cuda", "hip", "extra", "complaint"),
    [
        (COUNT_0, None, None, {}, "built CPU only"),
        (COUNT_0, None, "6.4", {}, "driver of nvidia is here.*built for amd"),
        (COUNT_0, "13.0", None, {"CUDA_VISIBLE_DEVICES": ""}, "CUDA_VISIBLE_DEVICES= lets no GPU"),
        (RAISES, "13.0", None, {}, "driver too old"),
        ("raise ImportError('libcudart is missing')", "13.0", None, {}, "libcudart is missing"),
        ("print('noise'); device_count = staticmethod(lambda: 0)", "13.0", None, {}, "could not be read"),
        ("import os; os._exit(7)", "13.0", None, {}, "exit status 7"),
        ("import time; time.sleep(60)", "13.0", None, {}, "timed out"),
    ],
    ids=["cpu-build", "other-vendor", "hidden", "driver-error", "import-error", "noise", "dies", "hangs"],
)
def test_a_driver_whose_gpus_cannot_be_listed_is_noted(
    tmp_path: Path, *, body: str, cuda: str | None, hip: str | None, extra: dict[str, str], complaint: str
) -> None:
    """Not seeing a GPU that is here is said, with its reason, and is no error."""
    environ = _fake_torch(tmp_path, body, cuda=cuda, hip=hip) | extra
    timeout_s = 2.0 if "sleep" in body else 60.0

    inventory = TorchSource(nodes=DriverNodes(nvidia=1), environ=environ, timeout_s=timeout_s).look()

    assert () == inventory.devices
    assert re.search(complaint, " ".join(inventory.notes))


def test_hidden_amd_gpus_are_explained(tmp_path: Path) -> None:
    """Two lists that together hide everything are a common accident."""
    environ = _fake_torch(tmp_path, COUNT_0, cuda=None, hip="6.4")
    environ |= {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}

    inventory = TorchSource(nodes=DriverNodes(amd=2), environ=environ).look()

    assert "together hide every AMD GPU" in " ".join(inventory.notes)


def test_an_interpreter_that_is_not_there_is_a_note() -> None:
    """A broken set-up must not keep the cores from being listed."""
    inventory = TorchSource(nodes=DriverNodes(amd=1), environ={}, python="/nowhere/python").look()

    assert "torch could not be asked" in inventory.notes[0]


def test_without_a_driver_nothing_is_started() -> None:
    """No node, no probe."""
    inventory = TorchSource(nodes=DriverNodes(), python="/nowhere/python").look()

    assert ((), ()) == (inventory.devices, inventory.notes)
