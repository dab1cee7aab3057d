"""Chats through the language server's completions: the document, the answer, and the end."""

import asyncio
import time

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.adapters.github.language_server.completion import document_of
from jumpseat.adapters.github.language_server.documents import Document
from jumpseat.adapters.github.language_server.errors import UPDATE_COMMAND
from jumpseat.chat import (
    AuthenticationError,
    ConnectionError,
    ContextBlock,
    ImageBlock,
    Message,
    ProtocolError,
    RateLimitError,
    TextBlock,
)
from jumpseat.wire import RpcError
from tests.attempts import assert_quick
from tests.fakes.language_server import NEVER
from tests.fakes.language_server_answers import panel_item
from tests.unit.adapters.github.language_server.chats import (
    MISSING,
    answer_of,
    completions,
    events_of,
    failure_of,
    make_request,
)

PANEL, INLINE = "textDocument/copilotPanelCompletion", "textDocument/inlineCompletion"
OPEN, CLOSE = "textDocument/didOpen", "textDocument/didClose"


def panel(fake, *texts, result=None):
    """Return the panel's answer to a request: the items as progress reports, then the result."""

    def answer(params):
        for text in texts:
            item = panel_item(text, params["position"]["line"])
            fake.progress(params["partialResultToken"], {"items": [item]})
        return {"items": []} if result is None else result

    return answer


# -- the document


@pytest.mark.requirement("language-server:completion-document")
def test_a_chat_becomes_a_document_that_ends_before_the_answer():
    picture = Message("user", (TextBlock("Two"), ImageBlock("QUJD"), ContextBlock("x = 1", label="a.py")))

    text = document_of(make_request("One\n", " Uno", picture, system="Be terse."))

    assert text == (
        "# A conversation with a helpful assistant\n\n## Instructions\n\nBe terse.\n\n"
        "## User\n\nOne\n\n## Assistant\n\nUno\n\n"
        "## User\n\nTwo\n\n`a.py`:\n```\nx = 1\n```\n\n## Assistant\n\n"
    )
    assert "Instructions" not in document_of(make_request("One", system=" "))


@pytest.mark.requirement("language-server:completion-document")
@pytest.mark.parametrize(
    ("text", "line", "character"),
    [("", 0, 0), ("ab", 0, 2), ("ab\n\n", 2, 0), ("a\nb𝄞é", 1, 4)],
)
def test_the_end_of_the_document_is_counted_in_utf_16(text, line, character):
    assert Document("untitled:x", text).position == {"line": line, "character": character}


@pytest.mark.requirement("language-server:completion-document")
@pytest.mark.parametrize("line_ending", ["\r\n", "\r", "\n"])
async def test_every_kind_of_line_ending_counts(fake, line_ending):
    async with completions(fake) as api:
        await answer_of(api, make_request(f"One{line_ending}Two"))

    (opened,), (place,) = fake.params("textDocument/didOpen"), fake.params(PANEL)
    text = opened["textDocument"]["text"]
    assert "## User\n\nOne\nTwo\n\n## Assistant\n\n" in text
    assert "\r" not in text
    assert place["position"] == {"line": text.count("\n"), "character": 0}


@pytest.mark.requirement("language-server:completion-document")
@pytest.mark.parametrize(
    ("line", "character", "text", "added"),
    [
        (2, 0, "One\n\n## Assistant\n\nYes", "Yes"),
        (4, 3, "Assistant\n\nYes", "Yes"),
        (6, 0, "Yes", "Yes"),
        (99, 0, "Yes", "Yes"),
        (-3, 0, "## Assistant\n\nYes", "## Assistant\n\nYes"),
        (4, None, "Yes", "Yes"),
        (4, -7, "## Assistant\n\nYes", "Yes"),
    ],
)
def test_an_item_may_replace_lines_before_the_last(line, character, text, added):
    document = Document("untitled:x", "## User\n\nOne\n\n## Assistant\n\n")
    item = {"insertText": text, "range": {"start": {"line": line, "character": character}}}

    assert document.text_added_by(item) == added


@pytest.mark.requirement("language-server:completion-document")
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("Yes.\n\n## User\n\nAnd?", "Yes."),
        ("Yes.\n## Assistant", "Yes."),
        ("## User \nWhat?", "A second."),
        ("Look:\n\n## User accounts\n\n## Assistants", "Look:\n\n## User accounts\n\n## Assistants"),
    ],
)
async def test_an_answer_ends_where_the_model_writes_another_role(fake, said, answer):
    fake.on(PANEL, {"items": [{"insertText": said}, {"insertText": "A second."}]})
    async with completions(fake) as api:
        assert (await answer_of(api, make_request("Hello"))).text == answer


@pytest.mark.requirement("language-server:completion-document")
@pytest.mark.parametrize(
    ("item", "added"),
    [
        (panel_item("𝄞: yes"), " yes"),
        ({"insertText": ": yes", "range": {"start": {"line": 0, "character": 2}}}, " yes"),
        ({"insertText": " yes", "range": {"start": {"line": 0, "character": 3}}}, " yes"),
        ({"insertText": " yes"}, " yes"),
        ({"insertText": "other", "range": None}, "other"),
        ({"insertText": 7}, ""),
        ({}, ""),
    ],
)
def test_an_item_adds_the_text_after_the_part_that_it_replaces(item, added):
    assert Document("untitled:x", "𝄞:").text_added_by(item) == added


# -- the answer


@pytest.mark.requirement("language-server:completion")
async def test_the_panels_first_completion_with_text_is_the_answer_in_one_delta(fake):
    fake.on(PANEL, panel(fake, " \n", "\nForty-two.\n\n## User\n\nThanks!", "Something else."))
    async with completions(fake) as api:
        events = await events_of(api, make_request("What?"))

    assert [event.type for event in events] == ["response", "text_start", "text_delta", "text_done", "done"]
    assert events[2].text == "Forty-two."
    assert events[-1].stop_reason == "end_turn"
    assert INLINE not in fake.methods


@pytest.mark.requirement("language-server:completion")
async def test_each_chat_opens_and_closes_its_own_document(fake):
    async with completions(fake) as api:
        await asyncio.gather(*(answer_of(api, make_request(word)) for word in ("One", "Two")))
        await fake.wait_for(CLOSE, 2)

    opened = [each["textDocument"] for each in fake.params(OPEN)]
    assert [each["text"] for each in opened] == [
        document_of(make_request("One")),
        document_of(make_request("Two")),
    ]
    assert {(each["languageId"], each["version"]) for each in opened} == {("markdown", 1)}
    assert len({each["uri"] for each in opened}) == 2
    assert {each["textDocument"]["uri"] for each in fake.params(CLOSE)} == {each["uri"] for each in opened}
    first = fake.params(PANEL)[0]
    assert first["textDocument"] == {"uri": opened[0]["uri"], "version": 1}
    assert first["position"] == Document("", opened[0]["text"]).position


@pytest.mark.requirement("language-server:completion")
@pytest.mark.parametrize("whole", [{"items": [panel_item("Late.")]}, [panel_item("Late.")]])
async def test_items_in_the_result_are_read_too(fake, whole):
    fake.on(PANEL, panel(fake, result=whole))
    async with completions(fake) as api:
        assert (await answer_of(api, make_request("What?"))).text == "Late."


@pytest.mark.requirement("language-server:completion")
@pytest.mark.parametrize("answer", [{"items": []}, None, {"items": None}, [7], MISSING])
async def test_without_panel_items_the_inline_completion_is_the_answer(fake, answer):
    fake.on(PANEL, lambda params: answer)
    fake.on(INLINE, {"items": [panel_item("Inline.")]})
    async with completions(fake) as api:
        assert (await answer_of(api, make_request("What?"))).text == "Inline."

    assert fake.params(INLINE)[0]["context"] == {"triggerKind": 1}


@pytest.mark.requirement("language-server:completion")
@pytest.mark.parametrize(
    ("answer", "words", "hint"),
    [
        ({"items": []}, "returned no completion", 'providers.helper.chat_api = "conversation"'),
        # A server without completions has no conversations either, so the hint must not suggest them.
        (MISSING, "does not support completions", UPDATE_COMMAND),
    ],
)
async def test_a_missing_completion_is_an_error_with_a_hint(fake, answer, words, hint):
    fake.on(PANEL, answer)
    fake.on(INLINE, answer)
    async with completions(fake) as api:
        error, events = await failure_of(api, make_request("What?"))
        await fake.wait_for(CLOSE)

    assert (type(error), events) == (ProtocolError, [])
    assert words in error.message
    assert hint in error.hint


# -- failures and ends


@pytest.mark.requirement("language-server:errors", "language-server:expired-token")
async def test_a_refusal_is_an_error_of_its_kind_and_an_expired_token_causes_a_replan(fake):
    fake.on(
        PANEL,
        RpcError(1000, "Not authenticated"),
        RpcError(-32603, "failed: Rate limited by server. Retry in 40s."),
        RpcError(-32603, "failed: token expired or invalid: 401"),
    )
    async with completions(fake) as api:
        signed_out, _ = await failure_of(api, make_request("What?"))
        limited, _ = await failure_of(api, make_request("What?"))
        expired, _ = await failure_of(api, make_request("What?"))

    assert type(signed_out) is AuthenticationError
    assert (type(limited), limited.retry_after) == (RateLimitError, 40)
    assert isinstance(expired, Replan)
    assert INLINE not in fake.methods


@pytest.mark.requirement("language-server:silence")
@pytest.mark.parametrize("silent", [PANEL, INLINE])
async def test_silence_ends_a_chat_and_cancels_its_request(fake, silent):
    fake.on(PANEL, {"items": []})
    fake.on(silent, NEVER)
    async with completions(fake, silence_seconds=0.3) as api:
        error, _ = await failure_of(api, make_request("What?"))
        await fake.wait_for("$/cancelRequest")
        await fake.wait_for(CLOSE)

    assert type(error) is ConnectionError


@pytest.mark.requirement("language-server:cancel")
async def test_a_cancelled_chat_cancels_its_request_and_closes_its_document(fake):
    fake.on(PANEL, NEVER)
    async with completions(fake) as api:
        task = asyncio.ensure_future(answer_of(api, make_request("What?")))
        await fake.wait_for(PANEL)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fake.wait_for("$/cancelRequest")
        await fake.wait_for(CLOSE)


@pytest.mark.requirement("language-server:completion")
async def test_the_request_is_cancelled_once_the_answer_is_complete(fake):
    # The item arrives, but the result never does.
    fake.on(PANEL, lambda params: (panel(fake, "Yes.")(params), NEVER)[1])
    async with completions(fake) as api:
        assert (await answer_of(api, make_request("What?"))).text == "Yes."
        await fake.wait_for("$/cancelRequest")


@pytest.mark.requirement("language-server:crash", "language-server:silence")
async def test_a_server_that_dies_in_mid_chat_ends_it_within_a_second(fake):
    fake.on(PANEL, NEVER)

    async def seconds_until_it_ends():
        count = len(fake.starts) + 1
        async with completions(fake) as api:
            failing = asyncio.ensure_future(failure_of(api, make_request("What?")))
            await fake.wait_for(PANEL, count)
            before = time.monotonic()
            fake.kill()
            error, _ = await failing
            took = time.monotonic() - before
        assert type(error) is ProtocolError
        return took

    await assert_quick(seconds_until_it_ends, within=1)
