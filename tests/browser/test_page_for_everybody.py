"""The page is read with a keyboard, a screen reader, on a phone, enlarged, in the dark, and without telling colours."""

from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.conftest import Opener
from tests.browser.made_pages import MadePage
from tests.browser.test_page_opened import OPEN_ALL

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOCUSED = """() => {
  const one = document.activeElement, style = getComputedStyle(one), box = one.getBoundingClientRect();
  return {
    key: one.dataset.key || '', outlined: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
    inside: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
  };
}"""
NUMBER_ALL = """() => {
  const all = [...document.querySelectorAll('a, summary, [tabindex="0"]')].filter(one => one.checkVisibility());
  all.forEach((one, place) => one.dataset.key = String(place));
  return all.length;
}"""


SIGNS = "✓✗◐\N{EN DASH}"
COLOURS = {"runOnly": ["color-contrast"]}
ALL_BUT_COLOURS = {"rules": {"color-contrast": {"enabled": False}}}


@pytest.mark.parametrize(
    ("name", "scheme", "options"),
    [
        pytest.param("every_word", "light", {}, id="light"),
        pytest.param("every_word", "dark", COLOURS, id="dark"),
        # Its colours are those of the other page; what could differ is structure and names.
        pytest.param("hostile", "light", ALL_BUT_COLOURS, id="hostile"),
    ],
)
def test_axe_finds_nothing_serious(
    name: str, scheme: str, options: dict[str, Any], opened: Opener, request: pytest.FixtureRequest
) -> None:
    """Contrast, names, order of headings, tables: everything folded open."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    made: MadePage = request.getfixturevalue(name)
    page = opened(made.path, color_scheme=scheme, bypass_csp=True)
    page.evaluate(OPEN_ALL)
    found = axe.run(page, options={"resultTypes": ["violations"], **options}).response["violations"]
    grave = [one for one in found if one["impact"] in {"serious", "critical"}]

    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in grave] == []


@pytest.mark.parametrize("name", ["every_word", "hostile"])
@pytest.mark.parametrize("width", [pytest.param(360, id="phone"), pytest.param(640, id="enlarged-200")])
def test_nothing_is_scrolled_for_sideways(
    width: int, name: str, opened: Opener, request: pytest.FixtureRequest
) -> None:
    """On a narrow phone, and at 200 % of a screen of 1,280 pixels."""
    made: MadePage = request.getfixturevalue(name)
    page = opened(made.path, width=width, height=800)
    page.evaluate(OPEN_ALL)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_reaches_everything_and_shows_where_it_is(opened: Opener, every_word: MadePage) -> None:
    """Each link, fold and scrolled table in turn, with a visible outline; first of all a way past the navigation."""
    page = opened(every_word.path)
    total = page.evaluate(NUMBER_ALL)
    reached: list[dict[str, Any]] = []
    for _ in range(total):
        page.keyboard.press("Tab")
        reached.append(page.evaluate(FOCUSED))

    assert [one["key"] for one in reached] == [str(place) for place in range(total)]
    assert [one["key"] for one in reached if not (one["outlined"] and one["inside"])] == []
    assert page.locator("[data-key='0']").get_attribute("href") == "#verdict"


def test_enter_opens_a_fold(opened: Opener, every_word: MadePage) -> None:
    """As a click does."""
    page = opened(every_word.path)
    page.locator("details:not([open]) > summary").first.focus()
    before = page.locator("details[open]").count()
    page.keyboard.press("Enter")

    assert page.locator("details[open]").count() == before + 1


def test_no_answer_is_told_by_colour_alone(opened: Opener, every_word: MadePage) -> None:
    """Every badge has a word and a sign, and a cell that departs from others says so."""
    page: Page = opened(every_word.path)
    badges = page.locator(".badge").all_inner_texts()

    assert badges
    assert {badge.split(" ", 1)[0] for badge in badges} <= set(SIGNS)
    assert all(badge.split(" ", 1)[1] for badge in badges)
    assert {text.split(" ", 1)[0] for text in page.locator("td.differs").all_text_contents()} == {"≠"}
