"""What happens to a session while it measures: Ctrl-C, a kill, a participant that dies, another session."""

import os
import signal

import psutil
import pytest

from tests.plugin.bench import TIMEOUT_S, USAGE_ERROR, Bench, Watch

FLEET_ONLY = ("-k", "test_fleet")


def test_ctrl_c_closes_the_run_and_leaves_nothing(endless: Bench) -> None:
    """An interrupted run is closed as stopped, and a second session meanwhile is refused with the holder's name."""
    with endless.session(*FLEET_ONLY) as session:
        watch = Watch(endless, session)
        watch.wait_for_round("fleet")
        second = endless.pytest("-k", "test_fleet", "--mixgpu-report=reports-second", "--mixgpu-wait=0")
        watch.interrupt()
        out, err = session.communicate(timeout=TIMEOUT_S)

    assert USAGE_ERROR == second.ret, f"{second.stdout}\n{second.stderr}"
    second.stderr.fnmatch_lines([f"*is leased*cpu:*: held by process {session.pid} *small*--mixgpu-wait*"])
    assert not (endless.folder / "reports-second").exists()
    assert 2 == session.returncode, f"{out}\n{err}"
    assert [] == watch.orphans()
    records = endless.store().records("small")
    assert [("baseline", "completed"), ("fleet", "stopped")] == [(one.header.role, one.status) for one in records]
    assert records[-1].measured_rounds
    endless.store().ledger.verify()


@pytest.mark.parametrize("blow", [signal.SIGKILL, signal.SIGTERM], ids=lambda blow: blow.name)
def test_killed_session_leaves_an_aborted_run(endless: Bench, blow: signal.Signals) -> None:
    """It ends every process of the session; who judges its records afterwards hears of the aborted run."""
    with endless.session(*FLEET_ONLY) as session:
        watch = Watch(endless, session)
        watch.wait_for_round("fleet")
        os.kill(session.pid, blow)
        session.communicate(timeout=TIMEOUT_S)

    assert [] == watch.orphans()
    endless.store().ledger.verify()
    assert ["completed", "aborted"] == [record.status for record in endless.store().records("small")]

    later = endless.pytest("--mixgpu-records=reports")

    assert 1 == later.ret, f"{later.stdout}\n{later.stderr}"
    verdict = endless.verdicts("small")["small-rate"]
    assert "PASS" != verdict.word
    assert "never closed" in " ".join([verdict.reason, *verdict.details])
    # It is the baseline before the fleet that was completed.
    assert "1 session, 2 runs registered: 1 completed, 1 aborted" in verdict.details


def test_dead_participant_is_named(endless: Bench) -> None:
    """A participant that is killed fails the run; the verdict names it, its device, phase and round."""
    with endless.session(*FLEET_ONLY, "--junitxml=made.xml") as session:
        watch = Watch(endless, session)
        start = watch.wait_for_round("fleet")
        victim = next(worker for worker in start.workers if worker.worker == "participant-1")
        psutil.Process(victim.pid).kill()
        out, err = session.communicate(timeout=TIMEOUT_S)

    assert 1 == session.returncode, f"{out}\n{err}"
    assert [] == watch.orphans()
    record = endless.store().records("small")[-1]
    assert ("fleet", "failed") == (record.header.role, record.status)
    fault = record.faults[0]
    assert ("participant-1", victim.device_id, victim.host) == (fault.worker, fault.device, fault.host)
    assert "SIGKILL" in fault.message
    verdict = endless.verdicts("small")["small-rate"]
    assert "PASS" != verdict.word
    reason = " ".join([verdict.reason, *verdict.details])
    for part in ("participant-1", str(victim.device_id), f"phase {fault.phase}", f"round {fault.round_index}"):
        assert part in reason
    assert "participant-1" in out
