"""The page itself."""

import re
from html.parser import HTMLParser
from importlib.resources import files

from local_agent.console.app import STATIC
from local_agent.console.page import page


class Elements(HTMLParser):
    """Collects elements with their attributes, and what stands inside scripts and styles."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []
        self.inside: list[str] = []
        self._open = ""

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, {name: value or "" for name, value in attrs}))
        self._open = tag

    def handle_data(self, data):
        if self._open in {"script", "style"} and data.strip():
            self.inside.append(data)


def elements() -> Elements:
    parser = Elements()
    parser.feed(page('a "token" <&>'))
    return parser


def test_nothing_is_inline_and_nothing_comes_from_elsewhere():
    """No script, style or handler stands in the page, and every address is relative."""
    parsed = elements()
    assert parsed.inside == []
    for tag, attributes in parsed.found:
        assert "style" not in attributes
        assert [name for name in attributes if name.startswith("on")] == []
        for name in ("src", "href"):
            address = attributes.get(name, "")
            assert re.match(r"(https?:)?//|data:|javascript:", address) is None, (tag, address)


def test_static_files_name_nothing_from_elsewhere():
    """Scripts and styles load nothing from elsewhere and make no markup of strings."""
    for name in STATIC:
        text = files("local_agent.console").joinpath("static", name).read_text(encoding="utf-8")
        text = text.replace("http://www.w3.org/2000/svg", "")  # a name, not an address
        assert re.findall(r"https?://|@import|url\(|innerHTML|insertAdjacent|eval\(", text) == []


def test_every_file_is_given_out_and_no_other():
    """The list of files is what lies in the folder."""
    folder = files("local_agent.console").joinpath("static")
    assert {entry.name for entry in folder.iterdir()} == set(STATIC)


def test_the_token_is_escaped():
    """Whatever the token holds stays in its attribute."""
    parsed = elements()
    assert ("meta", {"name": "console-token", "content": 'a "token" <&>'}) in parsed.found


def test_ids_are_unique_and_labels_lead_somewhere():
    """Every id stands once, and whatever refers to one refers to one that is there."""
    parsed = elements()
    ids = [attributes["id"] for _, attributes in parsed.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    named = {
        attributes[name]
        for _, attributes in parsed.found
        for name in ("for", "aria-labelledby", "aria-describedby")
        if name in attributes
    }
    assert named <= set(ids)
