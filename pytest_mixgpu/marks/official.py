"""What an official session does not accept of a PASS: from a verdict to a refusal in words. Pure."""

from typing import Final

from pytest_mixgpu.marks.model import Note, Verdict

REFUSED_NOTES: Final[dict[Note, str]] = {
    "inconclusive": "the interval straddles the bound",
    "disturbed": "other work ran on the measured devices, or the baseline drifted",
    "code-changed": "the code that produces the number is not the code that the lock names",
    "committed-late": "its present value was committed after the first run that was to be judged by it",
    "unwitnessed": "git does not show that its present value was committed before the first run",
    "unanchored": "no head that is kept outside covers its runs or names its lock: rebuilt, it would not show "
    "(--mixgpu-anchor)",
}


def official_refusal(verdict: Verdict) -> str:
    """Say why an official session fails on this verdict; empty if it does not."""
    reasons = [f"it is {qualifier}" for qualifier in verdict.qualifiers]
    reasons += [text for note, text in REFUSED_NOTES.items() if note in verdict.notes]
    return "; ".join(reasons)
