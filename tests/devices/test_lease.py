"""Exclusive use of devices, between real processes."""

import os
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pytest_mixgpu.devices.lease import busy_ids, lease, lock_path
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.errors import DeviceBusyError
from tests.fakes import fake_core

HOLD = """
import sys
from pathlib import Path
from pytest_mixgpu.devices.lease import lease
from pytest_mixgpu.devices.model import Device, Pool
devices = tuple(
    Device(id=name, kind="cpu", name="Fake CPU", vendor="cpu", host="fake", ordinal=0) for name in sys.argv[2:]
)
with lease(Pool(devices=devices), folder=Path(sys.argv[1]), holder="a run elsewhere"):
    print("held", flush=True)
    sys.stdin.read()
"""


def _pool(*ordinals: int) -> Pool:
    return Pool(devices=tuple(fake_core(ordinal) for ordinal in ordinals))


@contextmanager
def _held_elsewhere(folder: Path, pool: Pool) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds these devices until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder), *(device.id for device in pool.devices)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout is not None
        assert "held" == process.stdout.readline().strip()
        try:
            yield process
        finally:
            process.kill()


def test_a_device_is_leased_once(tmp_path: Path) -> None:
    """A second lease is refused even in the same process, and names the holder."""
    with (
        lease(_pool(0), folder=tmp_path, holder="the first"),
        pytest.raises(DeviceBusyError, match=rf"cpu:fake:0.*process {os.getpid()}.*the first"),
    ):
        lease(_pool(0), folder=tmp_path, holder="the second")


def test_a_device_that_another_process_holds_is_busy(tmp_path: Path) -> None:
    """The message has the holder's process and what it said."""
    with (
        _held_elsewhere(tmp_path, _pool(0)) as process,
        pytest.raises(DeviceBusyError, match=rf"process {process.pid} of user .* since .* for a run elsewhere"),
    ):
        lease(_pool(0), folder=tmp_path, holder="me")


def test_the_lease_of_a_killed_process_frees_itself(tmp_path: Path) -> None:
    """The kernel drops the lock with the process."""
    with _held_elsewhere(tmp_path, _pool(0)) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()

        with lease(_pool(0), folder=tmp_path, holder="me") as mine:
            assert mine.is_held


def test_waiting_takes_the_device_once_it_is_free(tmp_path: Path) -> None:
    """The wait is told once, with what is waited for."""
    told: list[str] = []
    with _held_elsewhere(tmp_path, _pool(0)) as process:
        assert process.stdin is not None
        timer = threading.Timer(0.6, process.stdin.close)
        timer.start()
        with lease(_pool(0), folder=tmp_path, wait_s=60, holder="me", on_wait=told.append) as mine:
            assert mine.is_held
        timer.join()

    assert 1 == len(told)
    assert f"process {process.pid}" in told[0]


def test_waiting_ends(tmp_path: Path) -> None:
    """A device that stays busy is refused after the stated time."""
    with lease(_pool(0), folder=tmp_path, holder="me"), pytest.raises(DeviceBusyError, match="--mixgpu-wait"):
        lease(_pool(0), folder=tmp_path, wait_s=0.4, holder="me too")


def test_all_devices_are_leased_or_none(tmp_path: Path) -> None:
    """What was taken before the busy one is given back."""
    with lease(_pool(1), folder=tmp_path, holder="me"):
        with pytest.raises(DeviceBusyError):
            lease(_pool(0, 1, 2), folder=tmp_path, holder="me too")

        assert {"cpu:fake:1"} == busy_ids(_pool(0, 1, 2), folder=tmp_path)


def test_different_devices_do_not_meet(tmp_path: Path) -> None:
    """Two sessions on two cores run beside each other."""
    with lease(_pool(0), folder=tmp_path, holder="a"), lease(_pool(1), folder=tmp_path, holder="b") as second:
        assert second.is_held


def test_kinds_of_one_core_are_one_device(tmp_path: Path) -> None:
    """A core that computes with portable kernels is still that core."""
    core = fake_core(0)
    portable = Device(
        id=core.id, kind="cpu-portable", name=core.name, vendor="cpu", host=core.host, ordinal=core.ordinal
    )

    with lease(_pool(0), folder=tmp_path, holder="a"), pytest.raises(DeviceBusyError):
        lease(Pool(devices=(portable,)), folder=tmp_path, holder="b")


def test_a_lease_is_given_back_once(tmp_path: Path) -> None:
    """Releasing twice is harmless, also when somebody else has it by then."""
    first = lease(_pool(0), folder=tmp_path, holder="a")
    first.release()
    second = lease(_pool(0), folder=tmp_path, holder="b")
    first.release()

    assert {"cpu:fake:0"} == busy_ids(_pool(0), folder=tmp_path)
    second.release()
    assert frozenset() == busy_ids(_pool(0), folder=tmp_path)


def test_another_thread_can_give_a_lease_back(tmp_path: Path) -> None:
    """A timeout or a signal may end a session from elsewhere."""
    held = lease(_pool(0), folder=tmp_path, holder="a")
    thread = threading.Thread(target=held.release)
    thread.start()
    thread.join()

    assert frozenset() == busy_ids(_pool(0), folder=tmp_path)


def test_other_users_can_lease_what_this_one_leased(tmp_path: Path) -> None:
    """Folder and lock file are open to all, whatever the umask says, and the folder has no sticky bit."""
    folder = tmp_path / "leases"
    before = os.umask(0o077)
    try:
        with lease(_pool(0), folder=folder, holder="a"):
            modes = [stat.S_IMODE(path.stat().st_mode) for path in (folder, lock_path(folder, fake_core(0)))]
    finally:
        os.umask(before)

    assert [0o777, 0o666] == modes


def test_what_stands_in_the_way_of_the_folder_is_named(tmp_path: Path) -> None:
    """A file where the folder belongs is no folder."""
    (tmp_path / "leases").write_text("", encoding="ascii")

    with pytest.raises(DeviceBusyError, match="leases"):
        lease(_pool(0), folder=tmp_path / "leases", holder="a")


def test_a_link_is_no_folder(tmp_path: Path) -> None:
    """Another user's link must not move the locks elsewhere."""
    (tmp_path / "real").mkdir()
    (tmp_path / "leases").symlink_to(tmp_path / "real")

    with pytest.raises(DeviceBusyError, match="something else is there"):
        lease(_pool(0), folder=tmp_path / "leases", holder="a")


@pytest.mark.parametrize("word", [b"", b"{", b"[1]", b'{"pid": "x"}', b'{"pid":1}'])
def test_a_spoilt_word_of_the_holder_does_not_spoil_the_refusal(tmp_path: Path, word: bytes) -> None:
    """What a holder says is for people; the lock decides."""
    with lease(_pool(0), folder=tmp_path, holder="a"):
        lock_path(tmp_path, fake_core(0)).with_suffix(".json").write_bytes(word)

        with pytest.raises(DeviceBusyError, match="left no word"):
            lease(_pool(0), folder=tmp_path, holder="b")


@pytest.mark.parametrize(("first", "second"), [("a/b", "a:b"), ("../../etc", "....etc"), ("x" * 300, "x" * 301)])
def test_lock_files_of_two_ids_are_two_files_in_the_folder(tmp_path: Path, first: str, second: str) -> None:
    """No id leaves the folder, and none shares another's lock."""
    paths = [
        lock_path(tmp_path, Device(id=name, kind="a40", name="A40", vendor="nvidia", host="h", ordinal=0))
        for name in (first, second)
    ]

    assert paths[0] != paths[1]
    assert [tmp_path, tmp_path] == [path.resolve().parent for path in paths]
