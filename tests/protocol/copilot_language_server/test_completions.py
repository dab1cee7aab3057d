"""`complete/start` with a scripted Copilot language server, through the real daemon."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.daemon import Daemon, Exchange
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.protocol.copilot_language_server.daemons import CLS

pytestmark = [pytest.mark.slow, pytest.mark.requirement("14:language-server")]

INLINE, OPEN, CLOSE = "textDocument/inlineCompletion", "textDocument/didOpen", "textDocument/didClose"
MODEL = "cls:gpt-41-copilot"
URI = "file:///home/me/add.py"
PLACE = {"prefix": "# 𝄞\nx = add(", "suffix": ")\ny = 2\n", "uri": URI, "languageId": "python"}


def item(text: str, start: tuple[int, int], end: tuple[int, int]) -> dict[str, Any]:
    """Return an item that replaces a range."""
    first, last = ({"line": line, "character": character} for line, character in (start, end))
    return {"insertText": text, "range": {"start": first, "end": last}, "command": {"title": "Accepted"}}


async def complete(daemon: Daemon, **more: Any) -> Exchange:
    return await daemon.request("complete/start", {"model": MODEL, **PLACE, **more})


async def test_the_server_receives_the_whole_document_and_the_place_to_complete(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.on(INLINE, {"items": [item("x = add(1, 2)", (1, 0), (1, 9))]})
    result = (await complete(served)).result

    assert result == {"provider": "cls", "model": "gpt-41-copilot", "text": "1, 2", "stopReason": "end_turn"}
    await fake.wait_for(CLOSE)
    (opened,), (asked,), (closed,) = map(fake.params, (OPEN, INLINE, CLOSE))
    document = {"uri": URI, "version": 1, "languageId": "python", "text": PLACE["prefix"] + PLACE["suffix"]}
    assert opened == {"textDocument": document}
    assert asked == {
        "textDocument": {"uri": URI, "version": 1},
        "position": {"line": 1, "character": 8},
        "context": {"triggerKind": 2},
    }
    assert closed == {"textDocument": {"uri": URI}}


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        pytest.param({"items": [{"insertText": "1"}]}, "1", id="without a range"),
        pytest.param([item("1", (1, 8), (1, 8))], "1", id="a bare list"),
        pytest.param({"items": [item("add(1):\ny", (1, 4), (2, 1))]}, "", id="changes the text after"),
        pytest.param({"items": [item("f(1)", (1, 4), (1, 9))]}, "", id="changes the text before"),
        pytest.param(
            {"items": [item("d(1)\ny", (1, 6), (2, 1)), {"insertText": "2"}]}, "1", id="several lines"
        ),
        pytest.param(
            {"items": [item("f(", (1, 4), (1, 8)), {"insertText": "2"}]}, "2", id="only the second fits"
        ),
        pytest.param({"items": [item("1", (9, 0), (9, 9))]}, "1", id="a range outside the document"),
        pytest.param({"items": [7, {"insertText": 7}]}, "", id="no text"),
        pytest.param({"items": []}, "", id="nothing"),
        pytest.param(None, "", id="null"),
    ],
)
async def test_a_completion_is_the_text_that_an_item_inserts_at_the_place(
    served: Daemon, fake: FakeLanguageServer, answer: Any, text: str
) -> None:
    fake.on(INLINE, lambda params: answer)
    assert (await complete(served)).result["text"] == text


@pytest.mark.requirement("14:line")
async def test_a_completion_of_a_line_ends_with_the_line(served: Daemon, fake: FakeLanguageServer) -> None:
    fake.on(INLINE, {"items": [{"insertText": "1\n2"}]})
    assert (await complete(served, extent="line")).result["text"] == "1"


@pytest.mark.requirement("14:cancel")
async def test_a_cancelled_completion_closes_the_document_before_the_next_opens_it(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.on(INLINE, NEVER, {"items": [{"insertText": "1"}]})
    request_id = served.start("complete/start", {"model": MODEL, **PLACE})
    await fake.wait_for(INLINE)
    following = served.start("complete/start", {"model": MODEL, **PLACE})
    served.notify("$/cancelRequest", {"id": request_id})

    assert (await served.read_until(request_id)).error["code"] == -32800
    assert (await served.read_until(following)).result["text"] == "1"
    await fake.wait_for(CLOSE, 2)
    shown = [method for method in fake.methods if method in (OPEN, INLINE, CLOSE, "$/cancelRequest")]
    assert shown == [OPEN, INLINE, "$/cancelRequest", CLOSE, OPEN, INLINE, CLOSE]


@pytest.mark.requirement("14:refusal", "14:ability")
async def test_a_chat_model_is_refused_and_the_completion_model_is_named(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    rows = (await served.request("models/list", CLS)).result["models"]
    assert {row["id"]: (row["supportsInfill"], row["pickerEnabled"]) for row in rows} == {
        "cls:gpt-4.1": (False, True),
        "cls:claude-sonnet-4.6": (False, True),
        MODEL: (True, False),
    }
    error = (await complete(served, model="cls:gpt-4.1")).error
    assert error["code"] == 1004
    assert error["data"]["hint"] == f"Choose a model that was trained to fill in, such as {MODEL}."
    assert INLINE not in fake.methods


@pytest.mark.requirement("14:failures", "14:refusal")
async def test_a_failure_of_the_server_has_the_same_code_as_in_a_chat(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.on(INLINE, RpcError(METHOD_NOT_FOUND, "No such method"))
    error = (await complete(served)).error
    assert (error["code"], error["data"]["hint"][:17]) == (1004, "Update the server")
    fake.on(INLINE, RpcError(1000, "No token"))
    assert (await complete(served)).error["code"] == 1000
    await fake.wait_for(CLOSE, 2)  # It may arrive after the daemon's response to the client.
