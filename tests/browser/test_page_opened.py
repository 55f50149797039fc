"""Whoever opens the page from disk finds in each section what `verdicts.json` and the records hold."""

import re
from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.report.mark_texts import reason_of
from pytest_mixgpu.report.verdict_rows import mark_row, notes_of, value_and_bound
from tests.browser.conftest import Opener
from tests.browser.made_pages import MadePage

if TYPE_CHECKING:
    from playwright.sync_api import Page

OPEN_ALL = "document.querySelectorAll('details').forEach(one => one.open = true)"


def plain(text: str) -> str:
    """Forget where lines are broken."""
    return re.sub(r"\s+", " ", text)


def section(page: "Page", anchor: str) -> str:
    """Return what a reader sees of a section."""
    return plain(page.locator(f"section#{anchor}").inner_text())


@pytest.fixture
def page(opened: Opener, every_word: MadePage) -> "Page":
    found: Page = opened(every_word.path)
    found.evaluate(OPEN_ALL)
    return found


def test_the_verdict_is_in_sight_at_once(opened: Opener, every_word: MadePage) -> None:
    """Without a click: what was asked, whether it was met, on what evidence, and by which seals."""
    text = section(opened(every_word.path), "verdict")
    parts = [
        "Do 16 GPUs of one kind", "Tampered with", every_word.file.headline, "1.31 x", "at least 1.4 x asked",
        "2026-11-29 12:00:00 UTC", "10 registered: 1 aborted, 8 completed, 1 failed", "cpu:2",
        "pytest suites/e1 --mixgpu-records=reports",
        *{seal for one in every_word.file.verdicts for seal in (one.lock_digest, one.ledger_head)},
    ]  # fmt: skip

    assert [part for part in parts if part not in text] == []


def test_the_checklist_holds_every_verdict(page: "Page", every_word: MadePage) -> None:
    """Id, word, qualifiers, notes, runs, what follows from what, what to do, and what a claim stands on."""
    text = section(page, "checklist")
    for one in every_word.file.verdicts:
        value, _ = value_and_bound(one)
        parts = [one.id, one.word, one.follows_from, one.remedy, value, *one.qualifiers, *notes_of(one), *one.run_ids]
        if one.is_claim:
            parts += [one.reason, *one.details]
        assert [part for part in parts if plain(part) not in text] == []


def test_every_pass_mark_stands_with_its_bound_and_its_history(page: "Page", every_word: MadePage) -> None:
    """Value, bound, where the bound comes from, runs, interval, freeze, amendments for ever."""
    text = section(page, "marks")
    for one in every_word.file.verdicts:
        if not one.is_claim:
            value, bound = value_and_bound(one)
            reason = reason_of(mark_row(one))
            parts = [one.id, one.word, one.metric, value, bound.split()[-2], one.bound_origin, reason, one.pool]
            assert [part for part in parts if plain(part) not in text] == []
            # What is said of every mark and claim alike stands once, above the checklist.
            both = text + section(page, "checklist")
            assert [part for part in one.details if plain(part) not in both] == []
    for part in ("1.27 to 1.35 (t, 3 runs)", "3 runs, from 1.29 to 1.33", "0.0300 x", "bound was 2"):
        assert part in text
    assert "back again" in text
    assert "2026-11-29 10:00:00 UTC" in text


def test_every_registered_run_is_there(page: "Page", every_word: MadePage) -> None:
    """Failed and aborted ones with the reason, each with the digest of its record."""
    text = section(page, "runs")
    parts = [part for record in every_word.records for part in (record.id, record.status, record.digest)]

    assert [part for part in parts if part not in text] == []
    assert "participant-1 was killed by SIGKILL" in text
    assert "never closed" in text


def test_every_figure_has_title_text_and_table(page: "Page", every_word: MadePage) -> None:
    """Whoever cannot see the drawing finds the same in words and numbers."""
    text = plain(page.locator("main").inner_text())
    cells = [cell for figure in every_word.drawn for row in figure.table.rows for cell in row]

    assert cells
    assert [figure.id for figure in every_word.drawn if plain(figure.title) not in text] == []
    assert [cell for cell in cells if plain(cell) not in text] == []
    assert page.locator(".chart svg").count() == sum(bool(figure.svg) for figure in every_word.drawn)


def test_every_link_of_the_page_leads_somewhere(page: "Page") -> None:
    """A click on each section brings it into sight; no link leaves the page."""
    for link in page.locator("nav a").all():
        anchor = link.get_attribute("href") or ""
        link.click()
        box = page.locator(anchor).bounding_box()
        assert page.url.endswith(anchor)
        assert box is not None
        assert box["y"] < 900
    hrefs = set(page.eval_on_selector_all("a", "links => links.map(link => link.getAttribute('href'))"))

    assert [href for href in hrefs if not href.startswith("#") or page.locator(f"[id='{href[1:]}']").count() != 1] == []


def test_every_fold_opens_with_a_click(opened: Opener, every_word: MadePage) -> None:
    """And closes with another."""
    page = opened(every_word.path)
    folds = page.locator("details:not([open]) > summary").element_handles()
    for summary in folds:
        summary.click()

    assert len(folds) > 10
    assert page.locator("details:not([open])").count() == 0
    folds[0].click()
    assert page.locator("details:not([open])").count() == 1


def test_what_is_folded_is_printed(page: "Page", opened: Opener, every_word: MadePage) -> None:
    """Paper has no folds, and no navigation."""
    printed = opened(every_word.path, width=794)
    printed.emulate_media(media="print")
    hidden = printed.evaluate(
        "[...document.querySelectorAll('details > :not(summary)')].filter(one => !one.offsetHeight).length"
    )

    assert hidden == 0
    assert not printed.locator("nav").is_visible()
    assert printed.locator("details:not([open])").count() > 10


def test_nothing_is_cut_at_the_edge_of_paper(opened: Opener, every_word: MadePage) -> None:
    """A table that was too wide for the page could not be scrolled there."""
    printed = opened(every_word.path, width=718)
    printed.emulate_media(media="print")
    wide = printed.evaluate(
        "[...document.querySelectorAll('main *')].filter(one => !one.closest('svg'))"
        ".filter(one => one.getBoundingClientRect().right > innerWidth + 1).map(one => one.textContent.slice(0, 60))"
    )

    assert wide == []


def test_what_was_not_met_leads_to_its_item(opened: Opener, every_word: MadePage) -> None:
    """The first links below the answer are of what stands open, each to its place in the checklist."""
    page = opened(every_word.path)
    links = page.locator(".open a").all()
    open_items = page.locator(".checklist > li.bad-edge").evaluate_all("items => items.map(item => '#' + item.id)")
    targets = [link.get_attribute("href") for link in links]

    assert targets
    assert set(targets) <= {*open_items, "#checklist"}
