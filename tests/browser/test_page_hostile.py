"""A page of nothing but hostile text opens as any other: nothing runs, nothing is fetched, nothing is hidden."""

from tests.browser.conftest import Opener
from tests.browser.made_pages import MadePage
from tests.browser.test_page_opened import OPEN_ALL


def test_hostile_text_does_nothing_and_hides_nothing(opened: Opener, hostile: MadePage) -> None:
    """No element of theirs, no style of theirs, no address; each section is in sight. The fixture sees to the rest."""
    page = opened(hostile.path)
    page.evaluate(OPEN_ALL)
    foreign = "script, img, iframe, object, embed, form, link, base, style:not(head style), svg a, [onerror], [onload]"

    assert page.locator(foreign).count() == 0
    assert page.evaluate("[...document.links].filter(link => !link.getAttribute('href').startsWith('#')).length") == 0
    assert page.evaluate("[...document.querySelectorAll('section')].filter(one => !one.checkVisibility()).length") == 0
    assert page.evaluate("document.querySelectorAll('head style').length") == 1
    text = page.locator("#checklist").inner_text()
    for part in ("<script>alert(1)</script>", "\\x1b[2J", "\\u202egnp.exe", "javascript:alert(3)", "</style><style>"):
        assert part in text


def test_what_is_too_long_is_cut_and_says_so(opened: Opener, hostile: MadePage) -> None:
    """A million characters make a page that still opens."""
    page = opened(hostile.path)
    page.evaluate(OPEN_ALL)

    assert "998,000 characters left out" in page.locator("#checklist").inner_text()
    assert hostile.path.stat().st_size < 2_000_000
