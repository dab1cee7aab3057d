"""HTML becomes text in a child process whose time and memory are limited."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable
from typing import Any, cast

import pytest

from jumpseat.chat import ProtocolError
from jumpseat.context.html import read_html
from jumpseat.context.html_program import PageOrder, PageText, convert
from tests.processes import children

DOCUMENT = """
<!doctype html><html><head><title> The \n title </title><style>p {}</style></head><body>
<nav><a href="/">Home</a></nav><main><h1>Head</h1>
<p>One <b>bold</b> <a href="/x?a=1&amp;b=2">link_text</a>,
a &lt; b &amp;&amp; c, snake_case, *stars* &amp;lt;.<br>Next</p>
<pre>def f(x):
    return x &lt; 1 # \\_ &amp;amp;</pre><p>Inline <code>a_b &lt; c</code>.</p>
<ul><li>one</li><li>two<ol><li>inner</li></ol></li></ul><blockquote>Said.</blockquote>
<p hidden>hidden</p><form>A form.<button>Go</button></form><noscript>no</noscript><template>t</template>
<svg><text>svg</text></svg><img src="a.png" alt="picture"><script>s()</script></main></body></html>"""

TEXT = """\
# Head

One **bold** [link_text](/x?a=1&b=2), a < b && c, snake_case, *stars* &lt;.
Next

```
def f(x):
    return x < 1 # \\_ &amp;
```

Inline `a_b < c`.

- one
- two

  1. inner

> Said.

A form."""


def order(html: bytes, **more: object) -> PageOrder:
    values: dict[str, Any] = {"length": len(html), "encoding": None, "max_bytes": 1000, "note": "[cut]"}
    return cast(PageOrder, values | more)


@pytest.fixture
def converters() -> Callable[[], list[int]]:
    """Return a function that lists the child processes that were started during the test."""
    others = set(children(os.getpid()))
    return lambda: [pid for pid in children(os.getpid()) if pid not in others]


async def read(html: str | bytes, **more: object) -> PageText:
    content = html.encode() if isinstance(html, str) else html
    return await read_html(content, order(content, **more), os.environ)


@pytest.mark.requirement("13:fetch")
async def test_a_document_keeps_its_structure_and_loses_hidden_and_other_elements() -> None:
    assert await read(DOCUMENT) == {"title": "The title", "text": TEXT}


@pytest.mark.requirement("13:fetch")
@pytest.mark.parametrize(
    ("table", "text"),
    [
        (
            "<table><caption>Table 1</caption><tr><th>A<th>B<tr><td>1|2<td><p>x</p> <b>y</b></table>",
            "Table 1\nA | B\n1|2 | x y",
        ),
        ("<table><tr><td><h2>Head</h2><p>One</p></td><td>Two</td></tr></table>", "## Head\n\nOne\n\nTwo"),
        ("<table><tr><td>a<table><tr><td>b<td>c</table></td></tr></table>", "a\n\nb | c"),
    ],
    ids=["data", "layout", "nested"],
)
def test_a_data_table_becomes_lines_and_a_layout_table_its_parts(table: str, text: str) -> None:
    assert convert(table.encode(), None)[1] == text


@pytest.mark.requirement("13:fetch")
async def test_a_long_text_is_cut_and_a_title_has_a_limit() -> None:
    result = await read(f"<title>{'t' * 999}</title><p>{'ä' * 999}", max_bytes=100)

    assert result["title"] == "t" * 300
    assert result["text"] == "ä" * 47 + "\n[cut]"


@pytest.mark.requirement("13:fetch")
async def test_a_text_fits_even_if_json_escapes_its_characters() -> None:
    result = await read("<p>" + "😀" * 1000, max_bytes=4000)
    assert result["text"] == "😀" * 1000


@pytest.mark.requirement("13:fetch-bounds")
@pytest.mark.parametrize(
    "html",
    ["<table><tr><td>" * 300_000, "<b>x" * 700_000, "<a><b><i><p>" * 300_000],
    ids=["tables", "formatting", "paragraphs"],
)
async def test_a_conversion_is_stopped_at_the_time_limit(
    html: str, converters: Callable[[], list[int]]
) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(1):
            await read(html)
    assert converters() == []


@pytest.mark.requirement("13:fetch-bounds")
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not limit the memory of a process")
async def test_a_page_that_needs_too_much_memory_is_an_error() -> None:
    # The buffer for this length exceeds the memory limit. Without the limit, the process would wait for the
    # rest of the page.
    with pytest.raises(ProtocolError, match="its HTML is too complex"):
        async with asyncio.timeout(20):
            await read("<p>x", length=2 << 30)


@pytest.mark.requirement("13:fetch-bounds")
async def test_a_cancelled_conversion_leaves_no_process(converters: Callable[[], list[int]]) -> None:
    reading = asyncio.ensure_future(read("<b>x" * 700_000))
    async with asyncio.timeout(20):
        while not converters():  # noqa: ASYNC110 - there is no event to await
            await asyncio.sleep(0.01)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    assert converters() == []
