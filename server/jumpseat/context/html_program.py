"""The child process that turns one HTML page into text; `html.py` starts it.

HTML can make any parser compute for minutes or use all memory, for example with deeply nested elements. So a
separate process does this work, and its parent kills it when the time is up.

The process reads a line of JSON (`PageOrder`) and the page from stdin, writes a line of JSON (`PageText`),
and exits.
"""

from __future__ import annotations

import codecs
import json
import re
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, TypedDict

from jumpseat.context.cut_off import cut_off

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from justhtml import Node

MEMORY_BYTES = 1024 * 1024 * 1024
"""The maximum memory of the process, if the system can limit it."""

CPU_SECONDS = 15
"""The maximum CPU time. It matters if the parent dies and cannot kill the process."""

MAX_TITLE = 300
"""The maximum length of a title in characters."""

_WITHOUT_TEXT = frozenset(
    {
        "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "img", "picture",
        "audio", "video", "nav", "button", "input", "select", "textarea", "dialog",
    }
)  # fmt: skip
"""The elements without text for a reader: code, media, navigation and controls.

`form` is not in the set, because some sites put the whole page into a form.
"""

_CODE_OR_ESCAPE = re.compile(
    r"(?P<code>^(?P<fence>`{3,})[^\n]*\n.*?^(?P=fence)$|(?P<ticks>`+).+?(?<!`)(?P=ticks)(?!`))"
    r"|\\(?P<mark>[!-/:-@\[-`{-~])|&(?P<entity>amp|lt);",
    re.DOTALL | re.MULTILINE,
)
_ENTITIES = {"amp": "&", "lt": "<"}

_LAYOUT = "table, h1, h2, h3, h4, h5, h6, pre, ul, ol, blockquote"
"""Elements that rarely occur in tables of data: a table with one of them probably arranges the page."""


class PageOrder(TypedDict):
    """The first line of stdin."""

    length: int
    """The size of the page in bytes."""

    encoding: str | None
    """The character encoding that the server named; None to find it in the page."""

    max_bytes: int
    """The maximum length of the text in bytes."""

    note: str
    """The last line of a text that is cut."""


class PageText(TypedDict):
    """The line that the process writes."""

    title: str
    text: str


def convert(html: bytes, encoding: str | None) -> tuple[str, str]:
    """Return the title and the text of a page, with headings, lists, code and links as in Markdown."""
    from justhtml import JustHTML

    if encoding is None and _is_utf8(html):
        # Without a declaration, the standard assumes windows-1252, but today's pages are UTF-8.
        encoding = "utf-8"
    # The page is not shown as HTML, so sanitizing it would only take time.
    page = JustHTML(html, encoding=encoding, sanitize=False)
    title, tables = _drop_parts_without_text(page.root)
    _replace_tables(tables)
    return title[:MAX_TITLE], _unescape(page.to_markdown()).strip()


def _is_utf8(html: bytes) -> bool:
    """Whether the page, which may be cut off within a character, is valid UTF-8."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(html)
    except UnicodeDecodeError:
        return False
    return True


def _drop_parts_without_text(root: Node) -> tuple[str, Sequence[Node]]:
    """Remove the elements without text, and return the page's title and its tables, outer ones first."""
    from justhtml import Element

    title, tables = "", []
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.name == "title" and not title:
            title = " ".join(node.to_text().split())
        elif node.name == "table":
            tables.append(node)
        # Selectors and `remove_child` would take several times as long as parsing the page.
        node.children = [
            each
            for each in node.children or ()
            if not (isinstance(each, Element) and _is_without_text(each.name, each.attrs))
        ]
        nodes += [each for each in reversed(node.children) if isinstance(each, Element)]
    return title, tables


def _is_without_text(name: str, attributes: Mapping[str, str | None]) -> bool:
    return name in _WITHOUT_TEXT or "hidden" in attributes or attributes.get("aria-hidden") == "true"


def _replace_tables(tables: Sequence[Node]) -> None:
    """Turn data tables into text, and layout tables into `div` elements.

    The conversion to Markdown would leave tables as HTML.
    """
    kinds = [(table, table.query_one(_LAYOUT) is not None) for table in tables]
    for table, is_layout in reversed(kinds):  # Inner tables come first.
        if is_layout:
            for part in (table, *table.query("caption, thead, tbody, tfoot, tr, td, th")):
                part.name = "div"
        elif table.parent is not None:
            table.parent.replace_child(_write_rows(table), table)


def _write_rows(table: Node) -> Node:
    """Return a paragraph with a line for each row of a table."""
    from justhtml import Element, Text

    lines = Element("p", {}, "html")
    for row in table.query("caption, tr"):
        cells = (" ".join(cell.to_text().split()) for cell in row.query("td, th") or [row])
        lines.append_child(Text(" | ".join(cells)))
        lines.append_child(Element("br", {}, "html"))
    return lines


def _unescape(markdown: str) -> str:
    """Undo the escapes outside of code: the text is for a model, and nothing renders it."""
    return _CODE_OR_ESCAPE.sub(
        lambda found: found["code"] or found["mark"] or _ENTITIES[found["entity"]], markdown
    )


def _limit_resources() -> None:
    if sys.platform != "win32":
        import resource

        with suppress(ValueError, OSError):  # The user may have set a lower limit.
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
        with suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


def main() -> None:
    """Read one page, write its text and return."""
    _limit_resources()
    order: PageOrder = json.loads(sys.stdin.buffer.readline())
    title, text = convert(sys.stdin.buffer.read(order["length"]), order["encoding"])
    result: PageText = {"title": title, "text": cut_off(text, order["max_bytes"], order["note"])}
    sys.stdout.buffer.write(json.dumps(result).encode() + b"\n")


if __name__ == "__main__":
    main()
