"""A connection that is reset after any byte of an answer, in every dialect: one end, no wrong text.

The answers are written by hand from the provider's API reference. They are as short as possible, because each
byte requires a separate exchange.
"""

import asyncio
import json
from dataclasses import dataclass

import pytest

from jumpseat.chat import ChatError, DoneEvent, TextDeltaEvent
from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.http import HttpCall, HttpClient, stream_events
from jumpseat.testing import assert_laws
from jumpseat.testing.upstream import FakeUpstream, Reply

pytestmark = pytest.mark.slow

TEXT = "Héj!"
WAIT_SECONDS = 30


@dataclass(frozen=True)
class Answer:
    decoder: type
    body: bytes
    content_type: str = "text/event-stream"


def events(*payloads, named=False):
    lines = []
    for each in payloads:
        name = f"event: {each['type']}\n" if named else ""
        lines.append(f"{name}data: {each if isinstance(each, str) else dump(each)}\n\n")
    return "".join(lines).encode()


def dump(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def chunk(delta, finish=None):
    return {"id": "r", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


ITEM = {"id": "i", "type": "message", "role": "assistant", "content": []}
PART = {"item_id": "i", "output_index": 0, "content_index": 0}
USAGE = {"input_tokens": 1, "output_tokens": 1}

ANSWERS = {
    "chat completions": Answer(
        ChatCompletionsDecoder,
        events(chunk({"content": "Hé"}), chunk({"content": "j!"}), chunk({}, "stop"), "[DONE]"),
    ),
    "responses": Answer(
        ResponsesDecoder,
        events(
            {"type": "response.created", "response": {"id": "r", "model": "m"}},
            {"type": "response.output_item.added", "output_index": 0, "item": ITEM},
            {"type": "response.output_text.delta", **PART, "delta": "Hé"},
            {"type": "response.output_text.delta", **PART, "delta": "j!"},
            {
                "type": "response.completed",
                "response": {
                    "id": "r",
                    "model": "m",
                    "status": "completed",
                    "output": [{**ITEM, "content": [{"type": "output_text", "text": TEXT}]}],
                },
            },
        ),
    ),
    "messages": Answer(
        AnthropicMessagesDecoder,
        events(
            {"type": "message_start", "message": {"id": "r", "model": "m", "content": [], "usage": USAGE}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hé"}},
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "j!"}},
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
            {"type": "message_stop"},
            named=True,
        ),
    ),
    "ollama": Answer(
        OllamaChatDecoder,
        "".join(
            dump({"model": "m", "message": {"role": "assistant", "content": text}, **more}) + "\n"
            for text, more in (
                ("Hé", {"done": False}),
                ("j!", {"done": False}),
                ("", {"done": True, "done_reason": "stop"}),
            )
        ).encode(),
        "application/x-ndjson",
    ),
}


@pytest.mark.parametrize("name", ANSWERS)
async def test_a_reset_after_any_byte_gives_one_end_and_a_prefix_of_the_text(name):
    answer = ANSWERS[name]
    http = HttpClient()
    async with asyncio.timeout(WAIT_SECONDS), FakeUpstream() as upstream:
        reply = Reply.raw(answer.body, content_type=answer.content_type)

        async def collect():
            """Return the events, and the error that ended them, if any."""
            got = []
            call = HttpCall("POST", upstream.origin, body={})
            try:
                async for event in stream_events(http, call, answer.decoder("acme", "m"), provider="acme"):
                    got.append(event)  # noqa: PERF401 - the events before a failure must not be lost
            except ChatError as error:
                return got, error
            return got, None

        upstream.script(reply)
        whole, error = await collect()
        assert error is None
        assert text_of(whole) == TEXT
        ends = []
        for offset in range(len(answer.body)):
            upstream.script(reply.reset_after(offset))
            got, error = await collect()
            done = [event for event in got if isinstance(event, DoneEvent)]
            assert len(done) + (error is not None) == 1, offset
            assert TEXT.startswith(text_of(got)), offset
            assert_laws(got, ended=bool(done))
            assert error is not None or text_of(got) == TEXT, offset
            ends.append(error is None)
        # Further bytes never make a complete answer incomplete.
        assert ends == sorted(ends)
        assert ends[0] is False
    await http.aclose()


def text_of(got):
    return "".join(event.text for event in got if isinstance(event, TextDeltaEvent))
