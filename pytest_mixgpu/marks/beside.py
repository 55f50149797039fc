"""What stands beside the word: from evidence and measurement to notes and further sentences. Decides nothing."""

from collections.abc import Collection

from msgspec.structs import replace

from pytest_mixgpu.marks.code_seen import code_doubts
from pytest_mixgpu.marks.compare import environment_differences
from pytest_mixgpu.marks.device_seen import noted_of_devices
from pytest_mixgpu.marks.evidence import Evidence, LostRun
from pytest_mixgpu.marks.instruments import instruments_said
from pytest_mixgpu.marks.measurement import Measurement
from pytest_mixgpu.marks.model import Claim, Note, PassMark, Verdict
from pytest_mixgpu.marks.pairing import has_shown
from pytest_mixgpu.marks.seals import changes_behind, lock_notes
from pytest_mixgpu.marks.statistics import LEVEL_IN_WORDS, Spread, share_covered_by_range
from pytest_mixgpu.marks.timings import is_share_unknown
from pytest_mixgpu.marks.witnessed import git_sentences, time_notes, time_sentences
from pytest_mixgpu.records.model import RunRecord


def with_asides(verdict: Verdict, one: PassMark | Claim, evidence: Evidence, counted: Evidence) -> Verdict:
    """Add to a verdict what is said beside any word: when the mark was committed, what changed, what witnesses it.

    Args:
        verdict: as judged.
        one: the mark or claim.
        evidence: all that is known.
        counted: of that, what is evidence for it since it is as it is now.
    """
    changes = (f"code-changed: {text}" for text in changes_behind(counted, one))
    said = (*time_sentences(evidence, one), *changes, *evidence.said)
    witness = (*git_sentences(evidence, one), *verdict.witness, *evidence.told_outside)
    return replace(verdict, details=(*verdict.details, *said), witness=witness)


def notes_on(mark: PassMark, evidence: Evidence, found: Measurement, n: int) -> tuple[Note, ...]:
    """Return what is to be said of the experiment itself.

    Args:
        mark: that is judged.
        evidence: all that is known.
        found: what its metric found.
        n: how many runs have a value.
    """
    notes: list[Note] = ["preliminary"] if n == 1 else []
    if found.disturbed:
        notes.append("disturbed")
    notes += lock_notes(evidence, mark)
    if found.identical:
        notes.append("deterministic-repeat")
    if environment_differences(found.runs):
        notes.append("mixed-environments")
    return (*notes, *outside_notes(evidence), *time_notes(evidence, mark))


def notes_without_numbers(mark: PassMark, evidence: Evidence) -> tuple[Note, ...]:
    """Return what is to be said of a mark whatever was measured: that it was amended stays beside any word."""
    return (*lock_notes(evidence, mark), *outside_notes(evidence), *time_notes(evidence, mark))


def outside_notes(evidence: Evidence) -> tuple[Note, ...]:
    """Return what a verdict that stands on these runs lacks.

    These are heads outside that cover them, signatures under them, and that what they say was measured here and not
    reported by a job of the user's own.
    """
    notes: dict[Note, bool] = {
        "unanchored": evidence.is_anchored,
        "unattested": evidence.is_attested,
        "self-reported": not any(run.header.job for run in evidence.runs),
    }
    return tuple(note for note, is_vouched in notes.items() if not is_vouched)


def lock_outside_notes(evidence: Evidence) -> tuple[Note, ...]:
    """Return what a verdict lacks that stands on plan and lock alone: something outside that names this lock."""
    return () if evidence.ledger.outside.names_lock else ("unanchored",)


def how_sure(mark: PassMark, spread: Spread, resolvable: float | None) -> tuple[str, ...]:
    """Say what so many runs can show: how far they lie apart, and which difference they would have found."""
    if spread.n == 1:
        return ("one run is an observation: how far runs lie apart is not known, and there is no interval",)
    covered = f"the range of {spread.n} runs covers the true median with a chance of "
    said = [f"{covered}{100 * share_covered_by_range(spread.n):.0f} %"]
    if spread.interval is None and spread.method:
        said.append(spread.method)
    if resolvable is not None:
        what = f"a true difference of {resolvable:.3g} {mark.unit}"
        said.append(f"{spread.n} runs so far apart could have shown {what} ({LEVEL_IN_WORDS})")
    return tuple(said)


def asides_of(evidence: Evidence, found: Measurement) -> tuple[str, ...]:
    """Say what else is to be known of the runs: attempts and disturbances, environments, runs that do not count."""
    running = evidence.ledger.running
    said = [f"counted as the worst value: {why_unfinished(run, running=running)}" for run in found.lost]
    said += [why_unreadable(run) for run in evidence.lost if not run.was_closed]
    said += [blemish.sentence for blemish in (*found.unfit, *found.disturbed)]
    unknown = [f"{run.header.name} ({run.id})" for run in found.runs if is_share_unknown(run)]
    if unknown:
        said.append(f"disturbed: unknown; what other processes took of the cores is not known of {', '.join(unknown)}")
    said += noted_of_devices(found.runs, evidence.disturbance)
    said += [
        f"ended before it had anything to show: {why_unfinished(run, running=running)}"
        for run in evidence.unfinished
        if not has_shown(run)
    ]
    said += list(found.lacking)
    said += [f"code-changed: {text}" for text in code_doubts(evidence.completed)]
    said += [f"environments differ in {text}" for text in environment_differences(found.runs)]
    said += instruments_said(found.runs)
    num_superseded = len({one.run_id for one in evidence.superseded})
    if num_superseded:
        count = "1 run does not count" if num_superseded == 1 else f"{num_superseded} runs do not count"
        said.append(f"{count} of the {len(evidence.registered)} that were registered, for these reasons")
    said += [str(one) for one in evidence.superseded]
    said += [
        f"run {run.id} does not count: repeat {run.header.repeat} had a run of {run.header.name} before it"
        for run in found.beyond
    ]
    said += [f"departs from the plan: {text}" for text in evidence.departures]
    return tuple(said)


def why_unfinished(run: RunRecord, *, running: Collection[str] = ()) -> str:
    """Say in one sentence how an attempt ended: device, host, phase and round, as its fault names them.

    Args:
        run: that did not complete, or whose bracket was not.
        running: ids of the runs that a living process is writing.
    """
    if run.status == "completed":
        return f"session {run.header.session} ended after {run.header.name} ({run.id}), with its bracket unfinished"
    label = f"{run.header.name} ({run.header.leg})" if run.header.leg else run.header.name
    if run.faults:
        fault = run.faults[0]
        place = "" if fault.round_index is None else f", round {fault.round_index}"
        # A coordinator has no device.
        who = f"{fault.worker} on {fault.device}" if fault.device else fault.worker
        return f"{label} {run.status}: {fault.message} ({who}, host {fault.host}, phase {fault.phase}{place})"
    if run.id in running:
        return f"{label} (run {run.id}) is still open: a living process is writing it"
    if run.outcome is None:
        return f"{label} (run {run.id}) never closed: its session was killed or crashed"
    return f"{label} {run.status}: {run.outcome.reason or 'no reason was recorded'}"


def why_unreadable(run: LostRun) -> str:
    """Say that a registered run has no record to be read, and why."""
    return f"run {run.run_id} ({run.name}) was registered and its record cannot be read: {'; '.join(run.faults)}"
