"""The judge of claims: from a claim and evidence to a `Verdict`. Pure. A claim that the record cannot support fails."""

from msgspec.structs import replace

from pytest_mixgpu.marks.beside import lock_outside_notes, outside_notes, why_unfinished, with_asides
from pytest_mixgpu.marks.checks import CHECKS, Finding
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.model import Claim, Note, Verdict, Word
from pytest_mixgpu.marks.seals import amendments_of, is_frozen, lock_notes, tampering
from pytest_mixgpu.marks.since import since_frozen
from pytest_mixgpu.marks.witnessed import time_notes

_GRAVEST: tuple[Word, ...] = ("TAMPERED", "VOID", "FAIL", "UNJUDGED")


def judge_claim(claim: Claim, evidence: Evidence) -> Verdict:
    """Judge a claim by its checks.

    Args:
        claim: as collected now; it is compared with the lock.
        evidence: all that is known.
    """
    counted = since_frozen(evidence, claim)
    return with_asides(_judged(claim, counted), claim, evidence, counted)


def _judged(claim: Claim, evidence: Evidence) -> Verdict:
    verdict = Verdict(
        id=claim.id,
        is_claim=True,
        word="UNJUDGED",
        reason="nothing was measured",
        # A claim is about the record, so a rehearsal supports it as well as the experiment does.
        qualifiers=() if is_frozen(evidence, claim) else ("exploratory",),
        notes=_notes_on(claim, evidence),
        n=len(evidence.completed),
        run_ids=tuple(run.id for run in evidence.completed),
        lock_digest=evidence.lock_digest,
        frozen_at="" if evidence.lock is None else evidence.lock.frozen_since(claim.id),
        amendments=amendments_of(evidence, claim),
        ledger_head=evidence.ledger.head,
        ledger_count=evidence.ledger.count,
    )
    faults = tampering(evidence, claim)
    if faults:
        return replace(verdict, word="TAMPERED", reason=faults[0], details=faults[1:])
    if not claim.checks:
        return replace(verdict, reason="the claim lists no check: it stands on nothing")
    unknown = [name for name in claim.checks if name not in CHECKS]
    if unknown:
        return replace(verdict, reason=f"check {unknown[0]!r} is not known to this version")
    findings = [_look(name, evidence) for name in claim.checks]
    short = [(name, finding) for name, finding in zip(claim.checks, findings, strict=True) if finding.missing]
    stated = tuple(text for finding in findings for text in finding.stated if text)
    if not short:
        reason = "its one check holds" if len(findings) == 1 else f"all {len(findings)} checks hold"
        return replace(verdict, word="PASS", reason=reason, details=stated)
    short.sort(key=lambda one: _GRAVEST.index(one[1].word))
    first = short[0][1]
    missing = [f"{text} ({name})" for name, finding in short for text in finding.missing]
    return replace(
        verdict,
        word=first.word,
        reason=missing[0],
        details=(*missing[1:], *stated),
        remedy=first.remedy,
        follows_from=first.follows_from,
    )


def _notes_on(claim: Claim, evidence: Evidence) -> tuple[Note, ...]:
    """Return what is to be said beside the word.

    What vouches for runs matters to a claim that stands on any; one on plan and lock alone stands on a lock that could
    have been written anew, plan and all.
    """
    reads_runs = any(CHECKS[name].reads_runs for name in claim.checks if name in CHECKS)
    outside = outside_notes(evidence) if reads_runs else lock_outside_notes(evidence)
    return (*lock_notes(evidence, claim), *outside, *time_notes(evidence, claim))


def _look(name: str, evidence: Evidence) -> Finding:
    check = CHECKS[name]
    if check.needs_runs and not evidence.completed:
        failed = evidence.unfinished
        if failed:
            cause = why_unfinished(failed[0], running=evidence.ledger.running)
            return Finding(missing=(f"no run was completed: {cause}",), word="VOID", follows_from=failed[0].id)
        superseded = f"; {evidence.superseded[0]}" if evidence.superseded else ""
        return Finding(
            missing=(f"nothing was measured{superseded}",),
            word="UNJUDGED",
            remedy=evidence.remedy(*(role.role for role in evidence.roles)),
        )
    return check.look(evidence)
