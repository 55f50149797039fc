"""The rule of a mark for what was disturbed: read from the marker, frozen, and applied to samples as well."""

import msgspec
import pytest
from msgspec.structs import replace

from pytest_mixgpu.errors import MarkError
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.parse import parse_passmark
from pytest_mixgpu.marks.stated import judge_samples
from pytest_mixgpu.timing.model import Samples

KEYWORDS = {"metric": "latency", "at_most": 2.0, "unit": "s"}
QUIET = Samples(name="latency", values_s=(1.0,))
DISTURBED = replace(QUIET, disturbed=("other processes took 40 % of core 0",))


def read(**more: object) -> PassMark:
    return parse_passmark(("latency",), {**KEYWORDS, **more}, "a test")


def test_refusing_is_frozen_and_counting_changes_no_seal() -> None:
    """A lock from before the keyword holds what it held."""
    assert "disturbed" not in msgspec.to_builtins(read())
    assert "disturbed" not in msgspec.to_builtins(read(disturbed="count"))
    assert "refuse" == msgspec.to_builtins(read(disturbed="refuse"))["disturbed"]


@pytest.mark.parametrize("rule", ["refused", "", None, True])
def test_another_rule_is_refused_with_the_nearest(rule: object) -> None:
    """The error names the rule and what is known."""
    with pytest.raises(MarkError, match="is no rule for a run that was disturbed"):
        read(disturbed=rule)


def test_disturbed_samples_are_noted_and_a_mark_can_refuse_them() -> None:
    """By default they are judged with the note; quiet ones carry none."""
    plain, strict = read(), read(disturbed="refuse")

    noted, refused = judge_samples(plain, DISTURBED), judge_samples(strict, DISTURBED)

    assert ("PASS", True) == (noted.word, "disturbed" in noted.notes)
    assert DISTURBED.disturbed[0] in noted.details
    assert "UNJUDGED" == refused.word
    assert refused.reason.endswith("the mark was frozen with disturbed='refuse'")
    assert "disturbed" not in judge_samples(strict, QUIET).notes
    assert "PASS" == judge_samples(strict, QUIET).word
    assert "PASS" == judge_samples(strict, DISTURBED, stands_in=True).word
