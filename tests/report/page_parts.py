"""A page taken apart: tags, attributes, and the text of each section."""

from html.parser import HTMLParser

VOID_TAGS = frozenset({"meta", "br", "hr", "img", "input", "link", "wbr"})


class Page(HTMLParser):
    """Collects what a page is made of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.sections: dict[str, str] = {}
        """The text of each section, by its id, in the order of the page."""
        self._open = ""
        self.feed(page)
        self.close()

    @property
    def ids(self) -> list[str]:
        """Every id, as often as it occurs."""
        return [value or "" for name, value in self.attributes if name == "id"]

    @property
    def links(self) -> list[str]:
        """Where every link leads."""
        return [value or "" for name, value in self.attributes if name in {"href", "xlink:href"}]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag == "section":
            self._open = dict(attrs).get("id") or ""
            self.sections[self._open] = ""

    def handle_endtag(self, tag: str) -> None:
        if tag == "section":
            self._open = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open:
            self.sections[self._open] += data
