"""Reads the page or the text file at an address that a client names, as a context block."""

from __future__ import annotations

import asyncio
import codecs
import re

from jumpseat.chat import ConnectionError, ContextBlock, ProtocolError, RequestError
from jumpseat.chat.nul import replace_nul
from jumpseat.config import Config
from jumpseat.config.table_names import PAGES
from jumpseat.context.cut_off import cut_off
from jumpseat.context.html import read_html
from jumpseat.context.html_program import PageOrder
from jumpseat.http import HttpClient
from jumpseat.http.failures import host_of
from jumpseat.http.page import WebPage, fetch_page
from jumpseat.system.environment import Environment

PAGE_SECONDS = 10.0
"""The time limit for a page, including name resolution, redirects and the conversion to text."""

MAX_BYTES = 1024 * 1024
"""The maximum length of a page's text."""

MAX_HTML_BYTES = 2 * MAX_BYTES
"""The maximum number of bytes to read from an HTML page. Most of a page is often markup and scripts."""

NOTE = "[The page is too long; the rest was left out.]"

_MARK = "\ufeff"
"""The byte order mark."""

_HTML = frozenset({"text/html", "application/xhtml+xml"})
_TEXT = re.compile(
    r"text/.*|.*\+(json|xml|yaml)|application/(json|xml|yaml|toml|javascript|sql|x-(javascript|sh|yaml))"
)
_BEGINS_HTML = re.compile(rb"\s*(<!--.*?-->\s*)*<(!doctype\s+html|html)\b", re.IGNORECASE | re.DOTALL)
_CHARSET = re.compile(r";\s*charset\s*=\s*\"?([\w.:-]{1,40})", re.IGNORECASE)
_ENCODINGS = re.compile(
    r"utf-?8|utf-?16(le|be)?|(us-)?ascii|iso-8859-\d{1,2}|latin-?1|windows-125\d|cp125\d|koi8-[ru]|"
    r"shift[_-]jis|euc-(jp|kr)|iso-2022-jp|gbk|gb2312|gb18030|big5",
    re.IGNORECASE,
)
"""The usual encodings on the web. Python has others, some of which take quadratic time to decode."""


async def read_page(url: str, config: Config) -> ContextBlock:
    """Return the text of a page.

    Args:
        url: the address that the user named.
        config: the configuration of the client.

    Raises:
        RequestError: the address is not allowed, or does not lead to a text.
        ConnectionError: the page did not arrive in time, or its host cannot be reached.
        ProtocolError: the page has no text. Also see `read_html`.
        ChatError: see `fetch_page`.
    """
    environment = config.environment
    client = HttpClient(
        PAGES, config.fetch_network, shared=environment.shared, public_only=not config.fetch.private
    )
    try:
        async with asyncio.timeout(PAGE_SECONDS):
            page = await fetch_page(client, url, max_bytes=_choose_limit, seconds=PAGE_SECONDS)
            return await _make_block(page, environment)
    except TimeoutError:
        message = f"The page at {host_of(url.strip())} was not read within {PAGE_SECONDS:g} s."
        raise ConnectionError(message) from None
    finally:
        await client.aclose()


def _choose_limit(content_type: str) -> int:
    # Read a few bytes more than the limit: an incomplete last character is dropped, and a text that is too
    # long must exceed the limit even then.
    return MAX_HTML_BYTES if _media_type_of(content_type) in (*_HTML, "") else MAX_BYTES + 4


async def _make_block(page: WebPage, environment: Environment) -> ContextBlock:
    media_type = _media_type_of(page.content_type)
    found = _CHARSET.search(page.content_type)
    encoding = found[1] if found is not None else None
    title = ""
    if media_type in _HTML or (media_type == "" and _BEGINS_HTML.match(page.body)):
        order: PageOrder = {
            "length": len(page.body), "encoding": encoding, "max_bytes": MAX_BYTES, "note": NOTE,
        }  # fmt: skip
        read = await read_html(page.body, order, environment.variables)
        title, text = read["title"], read["text"]
    else:
        text = cut_off(_decode(page, media_type, encoding), MAX_BYTES, NOTE)
    if page.is_cut and not text.endswith(NOTE):
        text += f"\n{NOTE}"  # The text fits, but only a part of the page was read.
    if not text.strip():
        raise ProtocolError(
            f"The page at {host_of(page.url)} has no text.",
            hint="Pages that only a script in a browser fills in cannot be read.",
        )
    return ContextBlock(replace_nul(text), uri=page.url, label=replace_nul(title) or None)


def _decode(page: WebPage, media_type: str, encoding: str | None) -> str:
    """Return the text of a page that is not HTML.

    Raises:
        RequestError: the page is not a text.
    """
    if encoding is not None and _ENCODINGS.fullmatch(encoding):
        return page.body.decode(encoding, "replace").removeprefix(_MARK)
    try:
        # A text that was cut may end within a character.
        decoder = codecs.getincrementaldecoder("utf-8")()
        text = decoder.decode(page.body, final=not page.is_cut)
    except UnicodeDecodeError:
        text = page.body.decode("cp1252", "replace")
        is_text = _TEXT.fullmatch(media_type) is not None
    else:
        is_text = _TEXT.fullmatch(media_type) is not None or "\0" not in text
    if not is_text:
        kind = media_type or "a file of an unknown type"
        raise RequestError(f"The page at {host_of(page.url)} is not a text ({kind}).")
    return text.removeprefix(_MARK)


def _media_type_of(content_type: str) -> str:
    return content_type.partition(";")[0].strip().lower()
