"""Whether participants ran beside their devices: from a record to those that did not. What is unknown blames nobody."""

from collections.abc import Iterator

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.numa import read_list, write_list
from pytest_mixgpu.records.model import RunRecord, WorkerFacts


def misplaced(run: RunRecord) -> list[str]:
    """Say which participants had cores or memory that are not those of their device's NUMA node.

    Args:
        run: with its start.
    """
    if run.start is None:
        return []
    hosts = (run.header.host, *run.start.hosts)
    near = {facts.device_id: facts.near_cores for host in hosts for facts in host.devices}
    workers = {worker.device_id: worker for worker in run.start.workers}
    return [
        f"run {run.id}: the participant on {device.id} of {device.host} {sentence}"
        for device in run.devices
        if device.id in workers
        for sentence in _sentences(device, workers[device.id], near.get(device.id, ""))
    ]


def _sentences(device: Device, worker: WorkerFacts, near_cores: str) -> Iterator[str]:
    wanted = {device.ordinal} if device.vendor == "cpu" else set(read_list(near_cores))
    if wanted and worker.cores and not set(worker.cores) <= wanted:
        what = "is core" if device.vendor == "cpu" else "is next to cores"
        yield f"ran on cores {write_list(worker.cores)}, and its device {what} {write_list(wanted)}"
    nodes = read_list(worker.memory_nodes)
    # Memory that may come from more nodes than the device's comes from the nearest first.
    if device.numa_node is not None and nodes and device.numa_node not in nodes:
        yield f"had memory of node {write_list(nodes)}, and its device is on node {device.numa_node}"
