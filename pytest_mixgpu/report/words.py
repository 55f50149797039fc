"""What words, qualifiers and notes mean, in sentences for a reader who has not read the design."""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from pytest_mixgpu.marks.model import Note, Qualifier, Verdict, Word
from pytest_mixgpu.records.model import Role
from pytest_mixgpu.report.model import Answer

ANSWERS: Final[Mapping[Word, str]] = {
    "PASS": "Met",
    "FAIL": "Not met",
    "VOID": "Void",
    "TAMPERED": "Tampered with",
    "UNJUDGED": "Not judged",
}
"""The answer to an item of the checklist."""

WORDS_IN_WORDS: Final[Mapping[Word, str]] = {
    "PASS": "measured, and met",
    "FAIL": "measured, and not met",
    "VOID": "a control failed, or the measurement is wrong, impossible, or of something else",
    "TAMPERED": "something does not match its seal",
    "UNJUDGED": "nothing was measured that could answer it",
}

QUALIFIERS_IN_WORDS: Final[Mapping[Qualifier, str]] = {
    "emulated": "compute was timed from a profile and not done",
    "rehearsal": "a stand-in pool or workload ran in the experiment's place",
    "exploratory": "the mark was not frozen, or runs go beyond those that the lock names",
}

NOTES_IN_WORDS: Final[Mapping[Note, str]] = {
    "preliminary": "one run stands behind it: an observation, without an interval",
    "inconclusive": "the interval lies on both sides of the bound",
    "disturbed": "other work ran on the measured devices, or the baseline drifted",
    "amended": "it was changed after it was frozen: when, why and from what stands with it",
    "code-changed": "the code that produces the number is not the code that the lock names",
    "unanchored": "no head that is kept outside covers its runs, or names its lock: what was built anew would not show",
    "unattested": "its records are not signed",
    "committed-late": "its present value was committed after the first run that was to be judged by it",
    "unwitnessed": "git does not show that its present value was committed before the first run",
    "self-reported": "the number comes from the user's own job or from readings of another tool",
    "devices-stated": "which devices were measured was stated and not observed",
    "value-stated": "the number was handed over, not computed from records",
    "mixed-environments": "drivers, libraries or hosts differ between its runs",
    "deterministic-repeat": "repeats gave identical bits: they are one observation",
}

METRICS_IN_WORDS: Final[Mapping[str, str]] = {
    "speedup": "Speed-up over one device",
    "samples_per_s": "Training rate",
    "round_s": "Length of a round",
    "parity": "Distance from the controls",
    "accuracy": "Accuracy on the test set",
    "cost_per_result": "Cost of one completed result",
    "duration": "Duration",
}
"""What a metric is called by people. A suite may make up further ones; their names have to do."""

ROLES_IN_WORDS: Final[Mapping[Role, str]] = {
    "baseline": "one device at a time, without an exchange, before and after the fleet; with-exchange: the same device "
    "as the only participant of an exchange",
    "fleet": "the pool whose speed is asked for",
    "reference": "the same work by the usual tool on the same pool; it stands beside and decides nothing",
    "control": "devices of one kind, which the mixed run is compared with",
    "mixed": "devices of several kinds in one job",
}
"""What the names of roles mean to who has not read the design."""

_MET: Final[Mapping[Qualifier, str]] = {
    "emulated": "Met by emulation",
    "rehearsal": "Met in rehearsal",
    "exploratory": "Met, exploratory",
}

_BY_GRAVITY: Final = (*(ANSWERS[word] for word in ("TAMPERED", "VOID", "FAIL", "UNJUDGED")), *_MET.values(), "Met")

_STAND_INS: Final[Mapping[Qualifier, tuple[str, str]]] = {
    "emulated": ("Emulated, not answered", "with emulated devices"),
    "rehearsal": ("Rehearsed, not answered", "on a stand-in for the experiment"),
    "exploratory": ("Explored, not answered", "without a frozen mark, or beyond the planned runs"),
}


def answer_of(verdict: Verdict) -> str:
    """Say how one verdict answers: only a plain pass is `Met`."""
    strongest = next((one for one in get_args(Qualifier) if one in verdict.qualifiers), None)
    return _MET[strongest] if verdict.passed and strongest else ANSWERS[verdict.word]


def answer_of_item(verdicts: Sequence[Verdict]) -> str:
    """Say how all verdicts of one test answer together: as the gravest, and of passes the least plain."""
    answers = {answer_of(verdict) for verdict in verdicts}
    return next(answer for answer in _BY_GRAVITY if answer in answers)


def answer_in_words(groups: Sequence[Sequence[Verdict]]) -> Answer:
    """Answer the question of a suite in one sentence.

    Args:
        groups: the verdicts, put together by test.
    """
    if not groups:
        return Answer(short="Nothing was judged", sentence="No mark and no claim has a verdict.", tone="bad")
    num_items = len(groups)
    answers = [answer_of_item(group) for group in groups]
    short = next((text for word, text in _GRAVEST.items() if ANSWERS[word] in answers), "")
    if short:
        counts = ", ".join(f"{answers.count(one)} {one.lower()}" for one in _BY_GRAVITY if one in answers)
        return Answer(short=short, sentence=f"Of {_items(num_items)} {counts}.", tone="bad")
    everything = f"All {num_items} items of the checklist passed" if num_items > 1 else "The one item passed"
    for qualifier, (short, where) in _STAND_INS.items():
        count = sum(any(qualifier in verdict.qualifiers for verdict in group) for group in groups)
        if count:
            return Answer(short=short, sentence=f"{everything}, {_share(count, num_items)} {where}.", tone="caution")
    return Answer(short="Met", sentence=f"{everything}.", tone="good")


_GRAVEST: Final[Mapping[Word, str]] = {
    "TAMPERED": "Tampered with",
    "FAIL": "Not met",
    "VOID": "Void: not answered",
    "UNJUDGED": "Not judged",
}
"""The answer to the whole question, gravest first. A mark that is not met answers it, a void one leaves it open."""


def _items(count: int) -> str:
    return f"{count} items of the checklist" if count > 1 else "one item of the checklist"


def _share(count: int, total: int) -> str:
    return "it" if total == 1 else "all of them" if count == total else f"{count} of them"


def metric_in_words(name: str) -> str:
    """Say what a metric is called by people."""
    return METRICS_IN_WORDS.get(name, name)
