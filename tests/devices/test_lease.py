"""Exclusive use of devices, between real processes."""

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.lease import busy_ids, lease, lease_folder, lock_path
from pytest_mixgpu.devices.lease_folder import narrowness
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.devices.nvidia import NvidiaSource
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import DeviceBusyError, PoolShortfallError
from tests.fake_nvml import a40_host, uuid_of
from tests.fakes import fake_core, fake_gpu

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


AS_NOBODY = """
import os, sys
from pathlib import Path
from pytest_mixgpu.devices.lease import lease
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.errors import DeviceBusyError
os.setgid(65534)
os.setuid(65534)
devices = [Device(id=f"cpu:fake:{n}", kind="cpu", name="F", vendor="cpu", host="fake", ordinal=n) for n in range(2)]
try:
    lease(Pool(devices=(devices[0],)), folder=Path(sys.argv[1]), holder="nobody")
except DeviceBusyError as error:
    print(error)
    if "chmod" not in str(error):
        print("then", lease(Pool(devices=(devices[1],)), folder=Path(sys.argv[1]), holder="nobody").pool.devices[0].id)
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


def test_a_free_device_of_the_same_part_serves_in_place_of_a_busy_one(tmp_path: Path) -> None:
    """The order of the pool is kept; another part never serves."""
    cards = [fake_gpu("NVIDIA A40", ordinal=index) for index in range(3)]
    stranger = fake_gpu("NVIDIA A10", ordinal=3)
    with lease(Pool(devices=(cards[0],)), folder=tmp_path, holder="a"):
        second = lease(Pool(devices=(cards[0], cards[1])), folder=tmp_path, holder="b", others=[*cards, stranger])

        assert [cards[2], cards[1]] == list(second.pool.devices)
        with pytest.raises(DeviceBusyError) as caught:
            lease(Pool(devices=(cards[0],)), folder=tmp_path, holder="c", others=[*cards, stranger])

    assert all(card.id in str(caught.value) for card in cards)
    assert stranger.id not in str(caught.value)


@pytest.mark.parametrize("plant", ["link", "dangling", "folder", "pipe", "second-name"])
def test_what_stands_in_the_way_of_a_lock_is_refused(tmp_path: Path, plant: str) -> None:
    """It is neither followed, opened nor changed."""
    victim = tmp_path / "victim"
    victim.write_text("mine", encoding="ascii")
    victim.chmod(0o600)
    folder = tmp_path / "leases"
    folder.mkdir()
    path = lock_path(folder, fake_core(0))
    if plant == "link":
        path.symlink_to(victim)
    elif plant == "dangling":
        path.symlink_to(tmp_path / "new")
    elif plant == "folder":
        path.mkdir()
    elif plant == "pipe":
        os.mkfifo(path)
    else:
        path.hardlink_to(victim)

    with pytest.raises(DeviceBusyError, match=r"is a link or no plain file"):
        lease(_pool(0), folder=folder, holder="a")

    assert ("mine", 0o600) == (victim.read_text(encoding="ascii"), stat.S_IMODE(victim.stat().st_mode))
    assert not (tmp_path / "new").exists()
    assert {"cpu:fake:0"} == busy_ids(_pool(0), folder=folder)


@pytest.mark.parametrize("plant", ["link", "pipe", "folder"])
def test_a_planted_word_is_not_read(tmp_path: Path, plant: str) -> None:
    """A pipe would be waited for without end."""
    with lease(_pool(0), folder=tmp_path, holder="a"):
        word = lock_path(tmp_path, fake_core(0)).with_suffix(".json")
        word.rename(tmp_path / "elsewhere")
        if plant == "link":
            word.symlink_to(tmp_path / "elsewhere")
        elif plant == "pipe":
            os.mkfifo(word)
        else:
            word.mkdir()

        with pytest.raises(DeviceBusyError, match="left no word"):
            lease(_pool(0), folder=tmp_path, holder="b")


def test_a_word_cannot_steer_the_readers_terminal(tmp_path: Path) -> None:
    """What another user wrote is shown without its control characters."""
    with (
        lease(_pool(0), folder=tmp_path, holder="\x1b]0;gone\x07 and \n more"),
        pytest.raises(DeviceBusyError) as caught,
    ):
        lease(_pool(0), folder=tmp_path, holder="b")

    assert str(caught.value).isprintable()


def test_siblings_are_waited_for_and_strangers_are_not(tmp_path: Path) -> None:
    """Of one session, a worker waits for the other; of another session, it is refused."""
    first = lease(_pool(0), folder=tmp_path, holder="a", session="one")
    timer = threading.Timer(0.6, first.release)
    timer.start()
    with lease(_pool(0), folder=tmp_path, holder="b", session="one", siblings_wait_s=60):
        timer.join()
        with pytest.raises(DeviceBusyError):
            lease(_pool(0), folder=tmp_path, holder="c", session="two", siblings_wait_s=60)


def test_who_has_no_time_goes_past_a_line(tmp_path: Path) -> None:
    """Somebody who waits for more than there is does not keep others from what is free."""
    with _held_elsewhere(tmp_path, _pool(0)):
        told = threading.Event()
        waiter = threading.Thread(
            target=lambda: lease(
                _pool(0, 1), folder=tmp_path, wait_s=60, holder="patient", on_wait=lambda _: told.set()
            ).release()
        )
        waiter.start()
        assert told.wait(60)
        with lease(_pool(1), folder=tmp_path, holder="in a hurry") as mine:
            assert mine.is_held
    waiter.join(60)

    assert not waiter.is_alive()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
@pytest.mark.parametrize("closes", [False, True])
def test_two_users_share_the_folder(*, closes: bool) -> None:
    """What one leased the other can lease later, sees while it is held, and is told of a folder that is closed."""
    with tempfile.TemporaryDirectory(dir="/tmp") as place:
        Path(place).chmod(0o755)
        folder = Path(place) / "leases"
        with lease(_pool(0, 1), folder=folder, holder="a"):
            pass
        if closes:
            folder.chmod(0o700)
        with lease(_pool(0), folder=folder, holder="the first user"):
            done = subprocess.run(
                [sys.executable, "-c", AS_NOBODY, str(folder)], capture_output=True, text=True, check=False
            )
        narrow = narrowness(folder)

    assert 0 == done.returncode, done.stderr
    if closes:
        assert "chmod 0777" in done.stdout
        assert "not open to all users" in narrow
    else:
        assert "of user root" in done.stdout
        assert "then cpu:fake:1" in done.stdout
        assert not narrow


def test_the_variable_names_the_folder(tmp_path: Path) -> None:
    """Schedulers set it for all jobs of a host; empty is unset."""
    assert tmp_path == lease_folder({"MIXGPU_LEASES": str(tmp_path)})
    assert lease_folder({}) == lease_folder({"MIXGPU_LEASES": ""})


def test_a_folder_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    """Nobody's own folder is opened to all."""
    tmp_path.chmod(0o750)
    with lease(_pool(0), folder=tmp_path, holder="a"):
        pass

    assert 0o750 == stat.S_IMODE(tmp_path.stat().st_mode)


@settings(deadline=None)
@given(
    visible=st.one_of(st.none(), st.lists(st.sampled_from(["0", "1", "2", "3", "-1", "7", "x"]), max_size=5)),
    num_wanted=st.integers(1, 4),
    busy=st.sets(st.integers(0, 3)),
)
def test_no_excluded_device_is_ever_leased(visible: list[str] | None, num_wanted: int, busy: set[int]) -> None:
    """Whatever the list, the request and what others hold: what is leased is allowed and was free."""
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": ",".join(visible)}
    inventory = NvidiaSource(a40_host(4), environ=environ).look()
    allowed = {device.id for device in inventory.devices}
    whole = {device.id: device for device in NvidiaSource(a40_host(4), environ={}).look().devices}
    excluded = set() if visible is None else {uuid_of(index) for index in range(4) if str(index) not in visible}
    with tempfile.TemporaryDirectory() as place, ExitStack() as stack:
        taken = {uuid_of(index) for index in busy}
        for id_ in taken:
            stack.enter_context(lease(Pool(devices=(whole[id_],)), folder=Path(place), holder="others"))
        try:
            pool = allocate(PoolSpec.parse(f"a40:{num_wanted}"), inventory, avoid=taken)
            mine = lease(pool, folder=Path(place), holder="me", others=inventory.devices)
        except (PoolShortfallError, DeviceBusyError):
            assert len(allowed - taken) < num_wanted
            return
        stack.enter_context(mine)
        ids = {device.id for device in mine.pool.devices}

    assert len(ids) == num_wanted
    assert ids <= allowed - taken
    assert not ids & excluded
