"""A browser without a network, and a page of which nothing may ask for anything."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.browser.made_pages import MadePage, every_word_page, hostile_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

Opener = Callable[..., "Page"]


@pytest.fixture(scope="session")
def browser() -> "Iterator[Browser]":
    """Chromium: the one that `$MIXGPU_BROWSER` names, else Playwright's own, else one on the path."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: pip install '.[test]'")
    with sync_api.sync_playwright() as playwright:
        named, own = os.environ.get("MIXGPU_BROWSER"), playwright.chromium.executable_path
        found = named or (own if Path(own).exists() else shutil.which("chromium") or shutil.which("google-chrome"))
        if not found:
            pytest.skip("no Chromium here: `playwright install chromium`, or name one in $MIXGPU_BROWSER")
        # A page of our own needs no sandbox, and root has none.
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--disable-gpu"])
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def every_word(tmp_path_factory: pytest.TempPathFactory) -> MadePage:
    """The page of a session in which every word occurs."""
    return every_word_page(tmp_path_factory.mktemp("every-word"))


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> MadePage:
    """The page of a session in which every text is hostile."""
    return hostile_page(tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def opened(browser: "Browser") -> Iterator[Opener]:
    """Open pages from disk with the network off.

    At the end it fails if the console, an error, a dialog or a request to anywhere but the disk was seen.
    """
    seen: list[str] = []
    contexts: list[Any] = []

    def open_page(path: Path, *, width: int = 1280, height: int = 900, **context: object) -> "Page":
        contexts.append(browser.new_context(viewport={"width": width, "height": height}, offline=True, **context))  # type: ignore[arg-type]  # handed through
        page: Page = contexts[-1].new_page()
        page.on("console", lambda message: seen.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: seen.append(f"error: {error}"))
        page.on("dialog", lambda dialog: _refuse(seen, dialog))
        page.on("request", lambda request: _note(seen, request.url))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert seen == []


def _refuse(seen: list[str], dialog: "Dialog") -> None:
    seen.append(f"dialog: {dialog.message}")
    dialog.dismiss()


def _note(seen: list[str], url: str) -> None:
    if not url.startswith(("file:", "data:")):
        seen.append(f"request: {url}")
