"""The tables of device names, requests and visible devices in the cases folder, row by row. Skips without it."""

import csv
import os
import re
from collections import Counter
from pathlib import Path

import pytest

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.catalog import kind_of
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, Vendor
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.devices.visible import cuda_visible, rocm_visible
from pytest_mixgpu.errors import PoolShortfallError, SpecError
from tests.fakes import FakeMachine, fake_gpu

ASIDE = {"invented"}
"""Flags that speak of the table and not of the name."""

NUM_CORES = 3


def _rows(name: str) -> list[dict[str, str]]:
    path = Path(os.environ.get("MIXGPU_CASES", "")) / "devices" / name
    if not os.environ.get("MIXGPU_CASES") or not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def _flags(text: str) -> set[str]:
    return {flag.strip() for flag in text.split(";")} - {""} - ASIDE


@pytest.mark.parametrize("row", _rows("names.tsv"), ids=lambda row: row["name_string"] or "empty")
def test_a_name_gets_its_kind_and_flags(row: dict[str, str]) -> None:
    """Names of the field are read as the table says."""
    naming = kind_of(row["name_string"], vendor=row["vendor"])

    assert (row["kind"], _flags(row["flags"])) == (naming.kind, set(naming.flags))


@pytest.mark.parametrize("row", _rows("names.tsv"), ids=lambda row: row["name_string"] or "empty")
def test_a_near_request_is_answered_as_it_must_be(row: dict[str, str]) -> None:
    """What a person might type for a device is met, or refused for the right reason."""
    naming = kind_of(row["name_string"], vendor=row["vendor"])
    vendor: Vendor = "amd" if row["vendor"] == "amd" else "nvidia"
    device = Device(
        id="x",
        kind=naming.kind,
        name=row["name_string"],
        vendor=vendor,
        host="h",
        ordinal=0,
        flags=naming.flags,
    )

    assert row["near_request_must"] == _answer(row["near_request"], device)


def _answer(request: str, device: Device) -> str:
    try:
        allocate(PoolSpec.parse(request), Inventory(devices=(device,)))
    except (PoolShortfallError, SpecError) as error:
        if "unresolved" in str(error):
            return "error-unresolved"
        return "error-ambiguous" if "is a family" in str(error) and "No part of it" not in str(error) else "no-match"
    return "match"


@pytest.mark.parametrize("row", _rows("requests.tsv"), ids=lambda row: f"{row['gpus_option']} of {row['found']}")
def test_a_request_is_served_or_refused(row: dict[str, str]) -> None:
    """Requests meet a machine as the table says; a refusal says what was found."""
    machine = Inventory(devices=(*_found(row["found"]), *FakeMachine(num_cores=NUM_CORES).devices))
    spec = PoolSpec.parse(row["gpus_option"])

    if row["outcome"].startswith("ok"):
        kinds = allocate(spec, machine).kinds
        assert _expected_kinds(row["outcome"], spec) == kinds
        return
    with pytest.raises((PoolShortfallError, SpecError)) as caught:
        allocate(spec, machine)
    for word in _expected_words(row["outcome"]):
        assert word in str(caught.value)


def _found(text: str) -> tuple[Device, ...]:
    devices: list[Device] = []
    for part in () if text == "none" else text.split("; "):
        match = re.fullmatch(r"(\d+)x (.+?)(?: \((\d+) MiB\))?(?: \((gfx\w+)\))?( with MIG on)?", part)
        assert match is not None, part
        for _ in range(int(match[1])):
            device = fake_gpu(match[2], ordinal=len(devices))
            fields = {name: getattr(device, name) for name in device.__struct_fields__}
            fields["memory_bytes"] = int(match[3]) * 2**20 if match[3] else None
            fields["architecture"] = match[4]
            fields["flags"] = (*device.flags, "mig") if match[5] else device.flags
            devices.append(Device(**fields))
    return tuple(devices)


def _expected_kinds(outcome: str, spec: PoolSpec) -> Counter[str]:
    kinds = re.findall(r"([a-z][a-z0-9-]*):(\d+|<cores>)", outcome)
    if not kinds:
        return Counter({term.name: term.count or 0 for term in spec.terms})
    return Counter({kind: NUM_CORES if count == "<cores>" else int(count) for kind, count in kinds})


def _expected_words(outcome: str) -> list[str]:
    """The kinds with their counts, and the reason, that a message must hold."""
    words = re.findall(r"[a-z][a-z0-9-]*:\d+", outcome)
    if "ambiguous" in outcome:
        words += ["is a family", *outcome.partition(": ")[2].split(", ")]
    if "unresolved" in outcome:
        words += ["unresolved", *filter(None, outcome.partition("unresolved: ")[2].split(", "))]
    if "MIG" in outcome:
        words.append("MIG is on")
    if "two memory sizes" in outcome:
        words.append("one name for two memory sizes")
    return words


@pytest.mark.parametrize("row", _rows("visible.tsv"), ids=lambda row: row["environment"])
def test_the_callers_lists_are_read_as_the_runtime_reads_them(row: dict[str, str]) -> None:
    """Which devices are left, and in which order, is what the table says."""
    environ = dict(re.findall(r"(\w+)=(\S*)", row["environment"]))
    num_gpus = re.search(r"(\d+) \w+ GPUs", row["machine"])
    uuids = [f"GPU-{number:08x}-0000" for number in range(int(num_gpus[1]) if num_gpus else 4)]
    for prefix, index in re.findall(r"start with (\w+) \(index (\d+)\)", row["machine"]):
        uuids[int(index)] = f"GPU-{prefix}-0000"
    is_slice = "MIG" in row["machine"]
    slices = dict(zip(environ.values(), environ.values(), strict=True)) if is_slice else {}

    visible = rocm_visible(environ, uuids) if "AMD" in row["machine"] else cuda_visible(environ, uuids, slices=slices)

    if is_slice:
        assert (tuple(environ.values()), ()) == (visible.slices, visible.indices)
        return
    assert [int(number) for number in re.findall(r"\d+", row["visible"])] == list(visible.indices)
    assert "warn" not in row["why"] or "together hide every AMD GPU" in visible.note
