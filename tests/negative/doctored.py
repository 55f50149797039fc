"""Doctored experiments: one thing made wrong on purpose, everything sealed again, and what the judge must say of it.

A case names the check or the rule that must notice, the word, and words of the reason. `CHECK_CASES` are for claims,
`MARK_CASES` for pass marks.
"""

from tests.negative.cases_of_devices import CASES_OF_DEVICES
from tests.negative.cases_of_marks import CASES_OF_MARKS
from tests.negative.cases_of_rules import CASES_OF_RULES
from tests.negative.cases_of_runs import RUN_CASES
from tests.negative.cases_written_before import BEFORE_CASES
from tests.negative.doctoring import Case

__all__ = ["CHECK_CASES", "MARK_CASES", "Case"]

MARK_CASES = (*CASES_OF_MARKS, *CASES_OF_RULES, *CASES_OF_DEVICES)
CHECK_CASES = (*BEFORE_CASES, *RUN_CASES)
