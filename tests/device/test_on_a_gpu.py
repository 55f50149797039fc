"""What only a machine with a GPU can show: inventory, leases, the clock, and two rounds of E1's own workload.

Skips where no driver shows a GPU. Pictures and weights are random: this is about time and devices, not about quality.
Where `MIXGPU_DEVICE_OUT` names a folder, listing and records are kept there.
"""

import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_mixgpu.devices.inventory import take_inventory
from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.jobs.workloads.recipe import load_recipe
from pytest_mixgpu.plugin.measure import package_root
from tests.plugin.bench import Bench
from tests.workloads.workload_parts import write_pets

GPUS = take_inventory().gpus
OUT = os.environ.get("MIXGPU_DEVICE_OUT")

pytestmark = pytest.mark.skipif(not GPUS, reason="no driver shows a GPU here")

RECIPE = "pets-vit-b16"

PLAN = """
schema = 1
id = "device"
question = "Does one GPU train E1's network, and does the record say on what?"

[workload]
recipe = "{recipe}"
description = "random pictures, random weights"
target = 0.01
done = "by rounds"

[settings]
batch_size = 16
round_steps = 8
rounds = 2
warmup_rounds = 1

[evaluation]

[seeds]
base = 1

[[roles]]
name = "control-a"
role = "control"
pool = "{pool}"
to_finish = true

[baseline]
description = "none: nothing is compared"
not_compared = ["everything"]

[placement]
coordinator = "local"
description = "everything on one machine"

[wait]
status = "out-of-scope"
reason = "the device is here"
"""

ROUNDS = '''
import pytest


@pytest.mark.claim("counted", checks=["attempts-counted"])
def test_control(claim, runs):
    """Every registered run is accounted for."""
    claim.judge(runs.of("control"))
'''

CLOCKED = '''
import torch


def test_the_clock_waits_for_the_device(gpus, stopwatch):
    """A product that takes the device a while takes as long by the clock as by the device's own events."""
    device = stopwatch.device.torch_device
    matrix = torch.rand(8192, 8192, device=device)
    samples = stopwatch(lambda: [matrix @ matrix for _ in range(8)])
    first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    first.record()
    for _ in range(8):
        matrix @ matrix
    last.record()
    last.synchronize()
    assert min(samples.values_s) > 0.8 * first.elapsed_time(last) / 1000
'''

HOLDS = """
import signal


def test_holds(gpus):
    print("HELD", ",".join(device.id for device in gpus.devices), flush=True)
    signal.pause()
"""


def request_for(device: Device) -> str:
    """Return what asks for one device like this."""
    if device.kind in {"unresolved", "unknown"}:
        return "cuda:1" if device.vendor == "nvidia" else "rocm:1"
    return f"{device.kind}:1"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """An empty suite, whose reports are kept if anybody asked for them."""
    bench = Bench.new(tmp_path / "suite")
    yield bench
    if OUT and (bench.folder / "reports").exists():
        shutil.copytree(bench.folder / "reports", Path(OUT) / "reports", dirs_exist_ok=True)


def test_what_is_here_is_listed(bench: Bench) -> None:
    """Every GPU is named, with an id that names the same hardware tomorrow."""
    result = bench.pytest("--mixgpu-devices")

    assert result.ret == 0
    assert all(device.id in str(result.stdout) for device in GPUS)
    if OUT:
        (Path(OUT) / "devices.txt").write_text(str(result.stdout), encoding="utf-8")


def test_a_gpu_serves_one_session(bench: Bench) -> None:
    """Whoever comes second is told who holds all of them."""
    everything = {"nvidia": "cuda:all", "amd": "rocm:all"}[GPUS[0].vendor]
    bench.write("test_holds.py", HOLDS)
    with bench.session("-s", f"--gpus={everything}") as first:
        assert first.stdout is not None
        assert any("HELD" in line for line in first.stdout)
        second = bench.pytest(f"--gpus={everything}", "--mixgpu-wait=0")
        assert second.ret == pytest.ExitCode.USAGE_ERROR
        assert f"pytest {first.pid}" in str(second.stderr)


def test_the_clock_waits_for_the_device(bench: Bench) -> None:
    """Samples of the stopwatch are not those of a clock that stops when work is handed over."""
    bench.write("test_clocked.py", CLOCKED)

    result = bench.pytest(f"--gpus={request_for(GPUS[0])}")

    assert result.ret == 0, f"{result.stdout}\n{result.stderr}"


def test_two_rounds_of_the_large_network(bench: Bench) -> None:
    """The record holds two measured rounds and names the device that torch computed on."""
    import timm
    import torch

    recipe = package_root() / "pytest_mixgpu" / "jobs" / "workloads" / "recipes" / f"{RECIPE}.toml"
    (bench.folder / "recipes").mkdir()
    text = re.sub(r"^validation_samples = .*$", "validation_samples = 8", recipe.read_text("utf-8"), flags=re.MULTILINE)
    bench.write(f"recipes/{RECIPE}.toml", text)
    data = bench.folder / "data"
    write_pets(data, num_trainval=160, num_test=16)
    weights = load_recipe(RECIPE).model.weights
    assert weights is not None
    torch.save(timm.create_model("vit_base_patch16_224").state_dict(), data / weights.any_of[-1])
    bench.write("benchmark.toml", PLAN.format(recipe=RECIPE, pool=request_for(GPUS[0])))
    bench.write("test_rounds.py", ROUNDS)
    bench.write(".gitignore", "reports*/\ndata/\nmodules/\n__pycache__/\n")
    bench.freeze()

    result = bench.pytest(f"--gpus={request_for(GPUS[0])}", f"--mixgpu-data={data}")

    assert result.ret == 0, f"{result.stdout}\n{result.stderr}"
    (record,) = bench.store().records("device")
    assert len(record.measured_rounds) == 2
    assert record.start is not None
    (worker,) = [one for one in record.start.workers if one.device_id]
    assert worker.device_id in {device.id for device in GPUS}
