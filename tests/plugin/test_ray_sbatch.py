"""The batch script for Slurm: an `srun` on PATH stands in for Slurm's and starts the nodes on this machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.raynet import IN_A_ROOM, ROOT, why_not, without_ray

pytestmark = [
    pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can be started"),
    pytest.mark.xdist_group("ray"),
]

_SRUN = """#!/bin/bash
# Starts the command once a task, as one node each; ends them all when it is told to end.
num_tasks=1
while [ "${1#--}" != "$1" ]; do
  case $1 in --ntasks=*) num_tasks=${1#*=} ;; esac
  shift
done
trap 'kill $(jobs -p) 2>/dev/null; wait' TERM
for ((task = 0; task < num_tasks; task++)); do
  SLURM_PROCID=$task SLURMD_NODENAME=slurm-$task SLURM_CPUS_ON_NODE=1 "$@" &
done
wait
"""

_TEST = """
import os

def test_where(gpus):
    assert sorted(device.host for device in gpus.devices) == ["slurm-0", "slurm-1"]
    assert "RAY_AUTH_TOKEN" in os.environ
"""


def test_the_script_makes_one_cluster_of_all_nodes_and_ends_it(tmp_path: Path) -> None:
    """Pytest runs once, on the devices of every node; its exit status is the job's, and no node is left running."""
    tools = tmp_path / "bin"
    tools.mkdir()
    (tools / "srun").write_text(_SRUN)
    (tools / "srun").chmod(0o755)
    (tmp_path / "test_where.py").write_text(_TEST)
    environment = without_ray(os.environ) | {
        "PATH": f"{tools}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "SLURM_JOB_NUM_NODES": "2",
        "HEAD_ADDRESS": "127.0.0.1",
    }

    done = subprocess.run(
        [*IN_A_ROOM, "bash", str(ROOT / "suites" / "cluster.sbatch"), "test_where.py", "--gpus=cpu:2", "-q"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=300.0,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert _nodes_of(str(tools)) == []


def _nodes_of(mark: str) -> list[str]:
    """Processes that still carry the test's PATH."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdecimal() and mark.encode() in (folder / "environ").read_bytes():
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
