"""What a worker finds of itself: from the process to `WorkerFacts`. Imports torch only if it is loaded."""

import os
import sys
import time

import msgspec

from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.devices.inventory import take_inventory
from pytest_mixgpu.jobs.code import CodeSeen, code_seen, own_modules
from pytest_mixgpu.jobs.used_device import check_used, used_device
from pytest_mixgpu.launch.binding import memory_nodes
from pytest_mixgpu.launch.isolation import DECIDING, set_aside
from pytest_mixgpu.records.environment import host_facts, kernel_environment
from pytest_mixgpu.records.model import HostFacts, WorkerFacts


def worker_facts(
    worker: str,
    *,
    device_id: str | None,
    spawned_s: float | None,
    first_step_s: float | None,
    code: CodeSeen | None = None,
) -> WorkerFacts:
    """Describe the process that calls this.

    Args:
        worker: its name.
        device_id: the device that it has.
        spawned_s: from the request to its first word.
        first_step_s: from the request to the end of its first step.
        code: what the one who asked for it saw of the code.

    Raises:
        RunFailedError: torch computes on another device than the one that this worker was given.
    """
    capability = accelerator = version = None
    num_threads = 1
    used = None
    if "torch" in sys.modules:
        import torch

        version = str(torch.__version__)
        accelerator = torch.version.cuda or torch.version.hip
        capability = torch.backends.cpu.get_cpu_capability()
        num_threads = torch.get_num_threads()
        used = used_device(torch)
        if used is not None and device_id is not None:
            check_used(used, device_id, worker=worker)
    seen = code_seen(code)
    return WorkerFacts(
        worker=worker,
        host=host_name(),
        pid=os.getpid(),
        device_id=device_id,
        torch=version,
        accelerator=accelerator,
        cpu_capability=capability,
        num_threads=num_threads,
        cores=tuple(sorted(os.sched_getaffinity(0))),
        memory_nodes=memory_nodes(),
        device_seen_as="" if used is None else str(used),
        environment=kernel_environment(os.environ) | _caller_environment(),
        spawned_s=spawned_s,
        first_step_s=first_step_s,
        code_digest=seen.digest,
        code_touched=seen.touched,
        own_modules=own_modules(),
    )


def _caller_environment() -> dict[str, str]:
    """Variables of the interpreter that the caller had set; they have no effect here, and whoever reads may ask why."""
    return kernel_environment(set_aside(os.environ), names=DECIDING)


class Asked(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The moment at which a worker was asked for, as the one who asked knew it."""

    host: str
    clock_s: float
    """The monotonic clock there. It counts from the boot of that host, so it says nothing elsewhere."""
    code: CodeSeen | None = None
    """The code, as it lay there; None if nobody looked."""

    @classmethod
    def now(cls, *, code: CodeSeen | None = None) -> "Asked":
        """This moment, here, and what the code was when somebody looked."""
        return cls(host=host_name(), clock_s=time.perf_counter(), code=code)

    def age_s(self) -> float | None:
        """Seconds since then; None on another host, where nobody can tell."""
        return time.perf_counter() - self.clock_s if self.host == host_name() else None

    def other_host_facts(self, device_id: str | None = None) -> HostFacts | None:
        """Facts of this host, if it is not the one that asked and knows them itself.

        Args:
            device_id: the device of this worker, whose facts stand among them.
        """
        if self.host == host_name():
            return None
        facts = () if device_id is None else take_inventory().facts
        own = tuple(each for each in facts if each.device_id == device_id)
        return msgspec.structs.replace(host_facts(), devices=own)
