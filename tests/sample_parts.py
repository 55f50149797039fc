"""Made-up devices, hosts, workers and links for `tests/samples.py`: plausible, and the same on every call."""

from hashlib import sha256
from typing import NamedTuple

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.model import Device, Pool, Vendor
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.records.model import HostFacts, Link, WorkerFacts

COORDINATOR_HOST = "gpu-host-1"
CPU_HOST = "laptop"


class Part(NamedTuple):
    """What one kind looks like, and how long one of its training steps takes."""

    name: str
    vendor: Vendor
    step_s: float
    host: str
    memory_bytes: int | None = None
    architecture: str | None = None
    torch: str = "2.14.1+cpu"
    accelerator: str | None = None
    cpu_capability: str = "AVX512"


PARTS = {
    "cpu": Part("Made-up CPU", "cpu", 0.0125, CPU_HOST),
    "cpu-portable": Part("Made-up CPU", "cpu", 0.0163, CPU_HOST, cpu_capability="DEFAULT"),
    "a40": Part("NVIDIA A40", "nvidia", 0.24, COORDINATOR_HOST, 47_608_692_736, "sm_86", "2.14.1+cu130", "13.0"),
    "rtx4090": Part(
        "NVIDIA GeForce RTX 4090", "nvidia", 0.13, "gpu-host-2", 25_250_627_584, "sm_89", "2.14.1+cu130", "13.0"
    ),
    "mi300x": Part(
        "AMD Instinct MI300X", "amd", 0.11, "gpu-host-3", 206_141_652_992, "gfx942", "2.14.1+rocm7.1", "7.1.25424"
    ),
}


def hex_of(text: str) -> str:
    """Return a made-up digest."""
    return sha256(text.encode()).hexdigest()


def make_pool(spec: str) -> Pool:
    """Return the devices that answer a request such as `a40:1,rtx4090:1`, participants in the order of kinds."""
    devices: list[Device] = []
    for term in PoolSpec.parse(spec).terms:
        devices += [make_device(term.name, len(devices) + index) for index in range(term.count or 1)]
    return Pool(devices=tuple(devices))


def make_device(kind: str, ordinal: int) -> Device:
    """Return one device; a CPU kind is a core, whichever kernels it computes with."""
    part = PARTS[kind]
    if part.vendor == "cpu":
        environment = CPU_KINDS[kind].environment
        device_id = f"cpu:{part.host}:{ordinal}"
        return Device(
            id=device_id,
            kind=kind,
            name=part.name,
            vendor="cpu",
            host=part.host,
            ordinal=ordinal,
            environment=environment,
        )
    digits = hex_of(f"{kind} {ordinal}")
    return Device(
        id=f"GPU-{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:32]}",
        kind=kind,
        name=part.name,
        vendor=part.vendor,
        host=part.host,
        ordinal=ordinal,
        memory_bytes=part.memory_bytes,
        architecture=part.architecture,
    )


def make_host(host: str) -> HostFacts:
    """Return the facts of a host."""
    is_cpu = host == CPU_HOST
    drivers = {"gpu-host-1": "nvidia 580.65.06", "gpu-host-2": "nvidia 580.65.06", "gpu-host-3": "amdgpu 6.14.14"}
    return HostFacts(
        host=host,
        boot_id=f"00000000-0000-4000-8000-{hex_of(host)[:12]}",
        os="Debian GNU/Linux 12 (bookworm)",
        kernel="6.1.0-31-amd64",
        cpu_model="Made-up CPU" if is_cpu else "Made-up Server CPU",
        num_cores=2 if is_cpu else 64,
        memory_bytes=(24 if is_cpu else 1024) * 1024**3,
        python="CPython 3.11.7",
        packages={"numpy": "2.4.6", "pytest-mixgpu": "0.1.0", "timm": "1.0.31", "torch": "2.14.1"},
        driver=drivers.get(host),
        environment={"OMP_NUM_THREADS": "1"},
        load_average_1min=0.2,
    )


def make_workers(pool: Pool, *, coordinator: str) -> tuple[WorkerFacts, ...]:
    """Return what each participant, and the coordinator if there is one, found when it was ready."""
    workers = []
    for index, device in enumerate(pool.devices):
        part = PARTS[device.kind]
        workers.append(
            WorkerFacts(
                worker=f"participant-{index}",
                host=device.host,
                pid=4100 + index,
                device_id=device.id,
                torch=part.torch,
                accelerator=part.accelerator,
                cpu_capability=part.cpu_capability,
                num_threads=1,
                cores=(device.ordinal,) if device.vendor == "cpu" else (),
                environment=dict(device.environment),
                spawned_s=0.21 + 0.01 * index,
                first_step_s=0.9 + 0.01 * index,
            )
        )
    if coordinator:
        workers.append(
            WorkerFacts(
                worker="coordinator", host=coordinator, pid=4099, num_threads=1, cpu_capability="AVX512", spawned_s=0.2
            )
        )
    return tuple(workers)


def make_links(pool: Pool, *, coordinator: str) -> tuple[Link, ...]:
    """Return the measured path of each participant to the coordinator: loopback on its host, 100 Gbit/s to others."""
    if not coordinator:
        return ()
    return tuple(
        Link(
            participant=index,
            from_host=device.host,
            to_host=coordinator,
            round_trip_s=0.00008 if device.host == coordinator else 0.0002,
            up_bytes_per_s=LINK_BYTES_PER_S,
            down_bytes_per_s=LINK_BYTES_PER_S,
            probe_bytes=16_777_216,
            num_probes=5,
        )
        for index, device in enumerate(pool.devices)
    )


LINK_BYTES_PER_S = 11.2e9
