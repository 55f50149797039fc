"""Sessions that share a host: nobody touches an excluded device, or one that somebody else holds."""

import os
import signal
import time
from pathlib import Path
from typing import IO

import psutil
import pytest

from tests.fake_kernel import write_amd_host
from tests.fake_nvml import slice_uuid, uuid_of
from tests.plugin.bench import TIMEOUT_S, USAGE_ERROR, Bench
from tests.plugin.shared_hosts import SharedHost, environment_of

WORKERS = ("-n", "8", "test_takers.py")


@pytest.fixture
def host(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> SharedHost:
    """Four A40."""
    return SharedHost(bench, monkeypatch)


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ("", [0, 1, 2, 3]),
        ("CUDA_VISIBLE_DEVICES=2,0", [2, 0]),
        ("CUDA_VISIBLE_DEVICES=0,-1,1", [0]),
        (f"CUDA_VISIBLE_DEVICES={uuid_of(3)[:12]}", [3]),
        (f"CUDA_VISIBLE_DEVICES={uuid_of(1)},{uuid_of(2)} CUDA_DEVICE_ORDER=PCI_BUS_ID", [1, 2]),
        ("CUDA_VISIBLE_DEVICES=", []),
        ("CUDA_VISIBLE_DEVICES=1,1", []),
    ],
)
def test_eight_workers_stay_within_the_callers_list(host: SharedHost, environment: str, allowed: list[int]) -> None:
    """Each test has a device alone, as many work at once as there are devices, and no other device is touched."""
    host.under(environment_of(environment) | {"TOGETHER": str(len(allowed))})

    result = host.bench.pytest(*WORKERS, "--gpus=cuda:1")

    if not allowed:
        assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
        assert [] == host.used
        return
    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    result.assert_outcomes(passed=10)
    assert {uuid_of(index) for index in allowed} == set(host.used)


def test_a_slice_is_all_there_is(host: SharedHost) -> None:
    """Its card, and the other cards, are not touched."""
    host.of_nvidia("mig_host()")
    host.under({"CUDA_VISIBLE_DEVICES": slice_uuid(1)})

    result = host.bench.pytest(*WORKERS, "--gpus=cuda:1")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert {slice_uuid(1)} == set(host.used)


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ("ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=0", 1),
        ("ROCR_VISIBLE_DEVICES=1 HIP_VISIBLE_DEVICES=1", 0),
    ],
)
def test_amds_lists_are_kept_to(host: SharedHost, environment: str, allowed: int) -> None:
    """HIP counts within what ROCr left."""
    write_amd_host(host.bench.folder / "kernel")
    host.of_amd()
    host.under(environment_of(environment))

    result = host.bench.pytest(*WORKERS, "--gpus=rocm:1")

    assert (0 if allowed else USAGE_ERROR) == result.ret, f"{result.stdout}\n{result.stderr}"
    assert allowed == len(set(host.used))


def test_large_pools_and_small_ones_wait_for_each_other(host: SharedHost) -> None:
    """Eight workers that want three of four devices each work one after the other, and none fails."""
    result = host.bench.pytest(*WORKERS, "--gpus=a40:3")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert 30 == len(host.used)


def test_the_second_session_is_told_who_holds_the_device(host: SharedHost) -> None:
    """Process, user, test, time and program; nothing ran."""
    with host.holder("--gpus=a40:4") as (holder, held):
        result = host.bench.pytest("test_takers.py", "--gpus=a40:1", "--mixgpu-wait=0")

    assert {uuid_of(index) for index in range(4)} == set(held)
    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    text = " ".join(result.stderr.lines)
    assert all(uuid_of(index) in text for index in range(4))
    result.stderr.fnmatch_lines([f"*held by process {holder.pid} of user * since 20* for test_holds*--mixgpu-wait=*"])
    assert [] == host.used


def test_the_second_session_takes_what_is_left(host: SharedHost) -> None:
    """Where there is one more of the kind, nobody waits."""
    with host.holder("--gpus=a40:3") as (_, held):
        result = host.bench.pytest("test_takers.py", "--gpus=a40:1", "--mixgpu-wait=0")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert len(set(host.used)) == 1
    assert not set(host.used) & set(held)


def test_workers_refuse_what_a_stranger_holds(host: SharedHost) -> None:
    """Siblings are waited for, strangers only as long as the flag says."""
    with host.holder("--gpus=a40:4") as (holder, _):
        result = host.bench.pytest(*WORKERS, "--gpus=auto", "--mixgpu-wait=0")

    assert 0 != result.ret
    assert f"held by process {holder.pid}" in f"{result.stdout}{result.stderr}"
    assert [] == host.used


def test_killing_the_holder_frees_its_devices(host: SharedHost) -> None:
    """The second session waits, says for whom, and goes on when the first one is killed."""
    with host.holder("--gpus=a40:4") as (holder, _), host.bench.session("test_takers.py", "--gpus=a40:4") as second:
        assert second.stdout is not None
        before = _read_until(second.stdout, f"process {holder.pid}")
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        out, err = second.communicate(timeout=TIMEOUT_S)

    assert "waiting up to" in before
    assert 0 == second.returncode, f"{before}{out}\n{err}"
    assert 40 == len(host.used)


def test_a_stopped_holder_still_holds(host: SharedHost) -> None:
    """It is named as stopped; nobody takes its device from it."""
    with host.holder("--gpus=a40:4") as (holder, _):
        holder.send_signal(signal.SIGSTOP)
        deadline_s = time.monotonic() + TIMEOUT_S
        while psutil.Process(holder.pid).status() != psutil.STATUS_STOPPED:
            assert time.monotonic() < deadline_s
        result = host.bench.pytest("test_takers.py", "--gpus=a40:1", "--mixgpu-wait=0")
        os.kill(holder.pid, signal.SIGCONT)

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    result.stderr.fnmatch_lines([f"*process {holder.pid} *is stopped: SIGCONT*"])


def test_the_flag_names_another_folder(host: SharedHost, tmp_path: Path) -> None:
    """It beats the variable; sessions with two folders do not meet."""
    with host.holder("--gpus=a40:4"):
        result = host.bench.pytest(
            "test_takers.py", "--gpus=a40:4", "--mixgpu-wait=0", f"--mixgpu-leases={tmp_path / 'mine'}"
        )

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert any((tmp_path / "mine").glob("*.lock"))


def test_the_list_of_devices_says_who_holds_them(host: SharedHost) -> None:
    """`--mixgpu-devices` looks in the same folder."""
    with host.holder("--gpus=a40:4") as (holder, _):
        result = host.bench.pytest("--mixgpu-devices")

    result.stdout.fnmatch_lines([f"*{uuid_of(2)} is leased: held by process {holder.pid} *"])


def _read_until(stream: IO[str], word: str) -> str:
    seen = ""
    for line in stream:
        seen += line
        if word in seen:
            return seen
    raise AssertionError(f"{word!r} was never said:\n{seen}")
