"""The kinds of CPU."""

import subprocess
import sys

import pytest

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.spec import PoolSpec


def test_the_machines_own_kernels_need_no_variables() -> None:
    """`cpu` is torch as it is."""
    assert () == CPU_KINDS["cpu"].environment


def test_variables_are_sorted_by_name() -> None:
    """Two devices of one kind are equal as values."""
    for kind in CPU_KINDS.values():
        assert tuple(sorted(kind.environment)) == kind.environment


def test_every_cpu_kind_can_be_asked_for() -> None:
    """Its name follows the grammar of requests."""
    assert [f"{name}:1" for name in CPU_KINDS] == [str(PoolSpec.parse(name)) for name in CPU_KINDS]


def test_portable_kernels_are_what_torch_reports() -> None:
    """The variables reach torch when they are set before it is imported."""
    pytest.importorskip("torch")
    program = "import torch; print(torch.backends.cpu.get_cpu_capability())"

    done = subprocess.run(
        [sys.executable, "-c", program],
        env=dict(CPU_KINDS["cpu-portable"].environment),
        capture_output=True,
        text=True,
        check=True,
    )

    assert "DEFAULT" == done.stdout.strip()
