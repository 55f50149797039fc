"""Amendments are told in words, whatever was amended, and an amended mark shows both dates."""

import pytest

from pytest_mixgpu.report.verdict_rows import mark_row
from tests.report.made_verdicts import report_of, speedup

AMENDED = (
    '2026-11-29T08:00:00Z: e1-speedup amended: the driver changed (was {"bound":2.0,"comparator":"at_least",'
    '"conditions":[],"id":"e1-speedup","metric":"speedup","of":null,"pool":"cpu:1","statistic":"median","unit":"x"})'
)
"""As the judge gives it: what was there before is JSON."""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            AMENDED,
            "2026-11-29 08:00:00 UTC: e1-speedup amended: the driver changed (bound was 2, pool was cpu:1)",
            id="mark",
        ),
        pytest.param(
            '2026-11-29T08:00:00Z: no network (was {"checks":["wait-stated","one-data-set"],"id":"e1-wait"})',
            "2026-11-29 08:00:00 UTC: no network (checks were wait-stated one-data-set)",
            id="claim",
        ),
        pytest.param(
            f'2026-11-29T08:00:00Z: plan amended: cut (was {{"plan":"{"ab" * 32}","planned":null,"recipes":{{}}}})',
            "2026-11-29 08:00:00 UTC: plan amended: cut (plan was abababababab…)",
            id="plan",
        ),
        pytest.param(
            "2026-11-29T08:00:00Z: e1-speedup amended after 3 runs, ledger head ab12cd34ef56… at line 7: the driver "
            'changed (was {"bound":2.0,"id":"e1-speedup","least_runs":5,"of":null})',
            "2026-11-29 08:00:00 UTC: e1-speedup amended after 3 runs, ledger head ab12cd34ef56… at line 7: the driver "
            "changed (bound was 2, least_runs was 5, of was not there)",
            id="fields-that-changed",
        ),
        pytest.param(
            f'2026-11-29T08:00:00Z: plan amended: more (was {{"plan":"{"ab" * 32}","recipes":{{}},"seeds.runs":1}})',
            "2026-11-29 08:00:00 UTC: plan amended: more (plan was abababababab…, seeds.runs was 1)",
            id="fields-of-the-plan",
        ),
        pytest.param("at noon: because (was {)", "at noon: because (was {)", id="other"),
    ],
)
def test_an_amendment_is_told_in_words(text: str, expected: str) -> None:
    """What still holds is not repeated; what was there before is no JSON."""
    assert mark_row(speedup(amendments=(text,))).amendments == (expected,)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x: " + " (was {" * 100_000, id="many-beginnings"),
        pytest.param("x" * 1_000_000 + ": (was {})", id="long"),
        pytest.param('x: y (was {"a":' + "[" * 100_000 + "]" * 100_000 + "})", id="too-deep-to-read"),
        pytest.param('x: y (was {"a":' + "[" * 400 + "1" + "]" * 400 + "})", id="deep"),
        pytest.param('x: y (was {"a":' + "9" * 10_000 + "})", id="huge-number"),
        pytest.param('x: y (was {"a":"\ud800"})', id="surrogate"),
    ],
)
def test_no_amendment_is_too_much_to_show(text: str) -> None:
    """It is cut or left as it is, and nobody waits for it."""
    (shown,) = mark_row(speedup(amendments=(text,))).amendments

    assert 0 < len(shown) < 2100


def test_an_amended_mark_shows_both_dates() -> None:
    """The day of its freeze alone would vouch for a bound that is younger."""
    seals = {pair.name: pair.text for pair in report_of([speedup(amendments=(AMENDED,))]).seals}

    assert seals["Frozen at"] == "2026-11-28 09:00:00 UTC, amended 2026-11-29 08:00:00 UTC"
