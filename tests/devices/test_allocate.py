"""Choosing devices for requests."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.allocate import allocate, subpool
from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import PoolShortfallError, SpecError
from tests.fakes import FakeMachine, fake_core, fake_gpu

A40 = "NVIDIA A40"
RTX4090 = "NVIDIA GeForce RTX 4090"
MI300X = "AMD Instinct MI300X"
NAMES = (A40, RTX4090, MI300X, "NVIDIA A40-48Q", "AMD Radeon Graphics", "NVIDIA Something New")


def _machine(*names: str, num_cores: int = 2) -> Inventory:
    return FakeMachine(*names, num_cores=num_cores).look()


def _pool(*devices: Device) -> Pool:
    return Pool(devices=devices)


def _ids(pool: Pool) -> list[str]:
    return [device.id for device in pool.devices]


def test_a_mixed_request_is_answered_in_the_canonical_order() -> None:
    """Participants stand in the order of the sorted request, whatever order it was typed in."""
    pool = allocate(PoolSpec.parse("rtx4090:1,mi300x:1,a40:1"), _machine(MI300X, RTX4090, A40))

    assert ["a40", "mi300x", "rtx4090"] == [device.kind for device in pool.devices]


def test_the_answer_keeps_the_order_of_ordinals_within_a_kind() -> None:
    """Equal devices are taken from the first one on."""
    pool = allocate(PoolSpec.parse("a40:2"), _machine(RTX4090, A40, A40, A40))

    assert ["GPU-fake-1", "GPU-fake-2"] == _ids(pool)


def test_devices_to_avoid_are_taken_last() -> None:
    """What others have leased is chosen only if nothing else is left."""
    machine = _machine(num_cores=3)

    assert ["cpu:fake:1", "cpu:fake:2"] == _ids(allocate(PoolSpec.parse("cpu:2"), machine, avoid={"cpu:fake:0"}))
    assert 3 == len(allocate(PoolSpec.parse("cpu:3"), machine, avoid={"cpu:fake:0"}))


@pytest.mark.parametrize("count", [15, 16, 17])
def test_a_request_is_met_in_full_or_not_at_all(count: int) -> None:
    """One device too few is an error that says how many there are."""
    machine = _machine(*[A40] * 16)
    spec = PoolSpec.parse(f"a40:{count}")

    if count <= 16:
        assert count == len(allocate(spec, machine))
        return
    with pytest.raises(PoolShortfallError, match=r"a40:17 was asked for.*a40:16 \(16x NVIDIA A40"):
        allocate(spec, machine)


def test_a_shortfall_on_a_machine_without_gpus_says_what_is_there_instead() -> None:
    """The message names what is here and what to do."""
    with pytest.raises(PoolShortfallError, match=r"has cpu:2 and no GPU.*--mixgpu-devices"):
        allocate(PoolSpec.parse("a40:16"), _machine())


def test_a_shortfall_repeats_why_gpus_could_not_be_looked_at() -> None:
    """A driver without torch is not the same as no GPU."""
    machine = msgspec.structs.replace(_machine(), notes=("a driver of nvidia is here, but torch is not",))

    with pytest.raises(PoolShortfallError, match="A driver of nvidia is here, but torch is not"):
        allocate(PoolSpec.parse("cuda:1"), machine)


@pytest.mark.parametrize(
    ("request_text", "names", "complaint"),
    [
        ("h100:1", ("NVIDIA H100 PCIe",), "h100 is a family.*h100-sxm, h100-pcie, h100-nvl.*h100-pcie:1"),
        ("h100:1", (A40,), "No part of it is here.*a40:1"),
        ("a4o:16", (A40,), "no kind a4o.*a40:1"),
        ("rtx4900", (A40,), "Did you mean .*rtx4090"),
        ("zzz:1", (A40,), "cuda:N or rocm:N"),
        ("unresolved:1", ("AMD Radeon Graphics",), "is no kind.*cuda:N or rocm:N"),
        ("unknown:1", ("NVIDIA Something New",), "is no kind"),
    ],
)
def test_what_is_no_kind_cannot_be_asked_for(request_text: str, names: tuple[str, ...], complaint: str) -> None:
    """Families, slips of the keyboard and devices without a kind are refused as such."""
    with pytest.raises(SpecError, match=complaint):
        allocate(PoolSpec.parse(request_text), _machine(*names))


@pytest.mark.parametrize("name", ["NVIDIA A40-48Q", "NVIDIA A10", "AMD Instinct MI300X VF", "NVIDIA Something New"])
@pytest.mark.parametrize("request_text", ["a40:1", "mi300x:1"])
def test_nothing_but_the_bare_card_is_the_card(name: str, request_text: str) -> None:
    """Shares, guests and neighbours do not count."""
    with pytest.raises(PoolShortfallError):
        allocate(PoolSpec.parse(request_text), _machine(name))


def test_a_share_can_be_asked_for_as_what_it_is() -> None:
    """A vGPU is measurable under its own kind."""
    assert "a40-48q:1" == allocate(PoolSpec.parse("a40-48q"), _machine("NVIDIA A40-48Q", A40)).spec


def test_a_card_with_slices_is_not_the_card() -> None:
    """With MIG on, the whole card's name stands for a slice."""
    card = fake_gpu(A40)
    sliced = msgspec.structs.replace(card, flags=("mig",))

    with pytest.raises(PoolShortfallError, match="MIG is on"):
        allocate(PoolSpec.parse("a40:1"), Inventory(devices=(sliced,)))


def test_a_vendor_word_takes_what_the_kinds_beside_it_leave() -> None:
    """Exact kinds are served first, whatever comes first in the alphabet."""
    pool = allocate(PoolSpec.parse("rtx4090:1,cuda:1"), _machine(RTX4090, A40))

    assert ["a40", "rtx4090"] == [device.kind for device in pool.devices]


def test_all_of_a_vendor_needs_at_least_one() -> None:
    """`all` of nothing is a shortfall, not an empty pool."""
    with pytest.raises(PoolShortfallError, match="No GPU of amd"):
        allocate(PoolSpec.parse("rocm:all"), _machine(A40))


def test_auto_is_every_gpu_else_every_core() -> None:
    """The machine decides, and never mixes both."""
    assert "a40:1,mi300x:1" == allocate(PoolSpec.parse("auto"), _machine(A40, MI300X)).spec
    assert "cpu:2" == allocate(PoolSpec.parse("auto"), _machine()).spec


def test_auto_on_nothing_is_a_shortfall() -> None:
    """There is no empty pool."""
    with pytest.raises(PoolShortfallError, match="neither"):
        allocate(PoolSpec.parse("auto"), Inventory(devices=()))


def _twins(*gibibytes: int) -> Inventory:
    return Inventory(
        devices=tuple(
            msgspec.structs.replace(fake_gpu("NVIDIA GeForce RTX 3080", ordinal=index), memory_bytes=size * 2**30)
            for index, size in enumerate(gibibytes)
        )
    )


@pytest.mark.parametrize(
    ("sizes", "count", "ordinals"),
    [((10, 12, 12), 2, [1, 2]), ((12, 10), 1, [0]), ((10, 10, 12, 12), 2, [0, 1]), ((10, 10), 2, [0, 1])],
)
def test_memory_twins_are_chosen_of_one_size(sizes: tuple[int, ...], count: int, ordinals: list[int]) -> None:
    """As many as share one size can serve together; the first such size is taken."""
    pool = allocate(PoolSpec.parse(f"rtx3080:{count}"), _twins(*sizes))

    assert ordinals == [device.ordinal for device in pool.devices]


@pytest.mark.parametrize(("sizes", "count"), [((10, 12), "2"), ((10, 12), "all"), ((10, 10, 12), "3")])
def test_memory_twins_of_two_sizes_are_refused(sizes: tuple[int, ...], count: str) -> None:
    """One name with two memory sizes is not one kind in one pool."""
    with pytest.raises(PoolShortfallError, match="one name for two memory sizes"):
        allocate(PoolSpec.parse(f"rtx3080:{count}"), _twins(*sizes))


def test_a_shortfall_of_twins_is_a_shortfall() -> None:
    """Too few of both sizes together is told as too few."""
    with pytest.raises(PoolShortfallError, match="was asked for"):
        allocate(PoolSpec.parse("rtx3080:3"), _twins(10, 12))


@given(
    names=st.lists(st.sampled_from(NAMES), max_size=8),
    counts=st.dictionaries(
        st.sampled_from(["a40", "rtx4090", "mi300x", "cuda", "cpu", "cpu-portable"]),
        st.integers(min_value=1, max_value=4),
        min_size=1,
    ),
)
def test_a_pool_holds_exactly_what_was_asked_for_and_no_device_twice(names: list[str], counts: dict[str, int]) -> None:
    """Either every term is met by devices of its own, or nothing is chosen."""
    spec = PoolSpec.parse(",".join(f"{name}:{count}" for name, count in counts.items()))
    try:
        pool = allocate(spec, _machine(*names, num_cores=4))
    except PoolShortfallError:
        return
    assert sum(counts.values()) == len(set(_ids(pool)))
    for kind, count in counts.items():
        if kind != "cuda":
            assert count <= pool.kinds[kind]


@given(names=st.lists(st.sampled_from(NAMES), max_size=8))
def test_a_pools_own_text_is_a_canonical_request(names: list[str]) -> None:
    """What a pool is called and what was asked for can be compared as text."""
    pool = allocate(PoolSpec.parse("auto"), _machine(*names))

    assert pool.spec == str(PoolSpec.parse(pool.spec))


def test_a_core_of_the_pool_serves_as_any_cpu_kind() -> None:
    """The device that is returned has the kind's name and variables, and is the same core."""
    session = allocate(PoolSpec.parse("cpu:2"), _machine())

    mixed = subpool(session, PoolSpec.parse("cpu-portable:1,cpu:1"))

    assert ["cpu", "cpu-portable"] == [device.kind for device in mixed.devices]
    assert [kind.environment for kind in CPU_KINDS.values()] == [device.environment for device in mixed.devices]
    assert _ids(session) == _ids(mixed)


def test_a_core_can_be_taken_back_to_its_own_kernels() -> None:
    """Kinds do not stick to cores."""
    session = allocate(PoolSpec.parse("cpu-portable:2"), _machine())

    assert ((), ()) == tuple(device.environment for device in subpool(session, PoolSpec.parse("cpu:2")).devices)


def test_a_role_takes_no_more_than_the_session_has() -> None:
    """The message speaks of the session's pool and of the request that would hold the role's."""
    session = _pool(fake_gpu(A40), fake_core(0))

    with pytest.raises(PoolShortfallError, match=r"a40:2 was asked for, and the session's pool has.*--gpus=a40:2"):
        subpool(session, PoolSpec.parse("a40:2"))


def test_a_role_can_take_the_whole_session() -> None:
    """`auto` is the pool itself."""
    session = _pool(fake_gpu(A40), fake_core(0))

    assert session == subpool(session, PoolSpec.parse("auto"))
