"""What a run's header says of the devices of its host."""

from types import SimpleNamespace
from typing import Any

from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.devices.nvidia import NvidiaSource
from pytest_mixgpu.plugin.measure import _host_with
from tests.fake_nvml import a40_host, uuid_of
from tests.fakes import fake_core


def _measurement(inventory: Inventory) -> Any:
    return SimpleNamespace(look=lambda: inventory)


def test_the_host_says_how_the_runs_own_devices_are_set_up() -> None:
    """Others on the host are none of the run's business."""
    inventory = NvidiaSource(a40_host(), environ={}).look()

    host = _host_with(_measurement(inventory), Pool(devices=inventory.devices[:2]))

    assert [(uuid_of(0), 250.0), (uuid_of(1), 250.0)] == [(each.device_id, each.power_cap_w) for each in host.devices]
    assert ["nvlink:4"] == [link.path for link in host.device_links]


def test_a_run_on_cores_looks_for_no_device() -> None:
    host = _host_with(SimpleNamespace(), Pool(devices=(fake_core(0),)))  # type: ignore[arg-type]

    assert ((), ()) == (host.devices, host.device_links)
