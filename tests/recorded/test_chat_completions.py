"""The decoder against recorded answers of many servers, in every arrival.

The recordings lie beside the repository and are not part of it; without them this is skipped.
"""

import json
from pathlib import Path

import pytest

from jumpseat.chat import ChatError, Fold, merge_deltas
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.http.answer import AnswerReader
from jumpseat.http.failures import error_from_response
from tests.unit.dialects.laws import assert_laws

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "transcripts"


def recordings():
    for path in sorted(TRANSCRIPTS.rglob("*.expected.json")):
        expected = json.loads(path.read_text())
        if expected.get("api") == "chat":
            yield path, expected


CASES = [
    pytest.param(path, expected, id=f"{path.parent.name}-{path.name[:2]}") for path, expected in recordings()
]

needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")


def body_of(path):
    return next(path.parent.glob(f"{path.name.removesuffix('.expected.json')}.body.*")).read_bytes()


def arrivals(body):
    yield "whole", [body]
    yield "bytes", [body[i : i + 1] for i in range(len(body))]
    yield "sevens", [body[i : i + 7] for i in range(0, len(body), 7)]
    yield "kibibytes", [body[i : i + 1024] for i in range(0, len(body), 1024)]


def decoded(pieces, content_type):
    decoder = ChatCompletionsDecoder("acme", "asked-model")
    reader = AnswerReader(decoder, content_type)
    events = []
    for piece in pieces:
        reader.feed(piece, events)
    if not decoder.complete:
        reader.finish(events)
    return events


def usage_of(usage):
    counts = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "reasoning": usage.reasoning_tokens,
    }
    return counts | ({"cost": usage.cost.amount} if usage.cost else {})


@needs_recordings
@pytest.mark.parametrize(("path", "expected"), CASES)
def test_a_recorded_answer_gives_what_it_should_in_every_arrival(path, expected):
    body = body_of(path)
    if "error" in expected:
        with pytest.raises(ChatError) as failed:
            raise error_from_response(
                expected["http_status"] or 400, {}, body, provider="acme", url="http://x/"
            )
        assert expected["error"]["message"][:100] in failed.value.message
        return
    content_type = "text/event-stream" if expected["kind"] == "sse" else "application/json"
    first = None
    for name, pieces in arrivals(body):
        events = decoded(pieces, content_type)
        assert_laws(events)
        first = first or events
        assert merge_deltas(events) == merge_deltas(first), name
    fold = Fold("acme", "asked-model")
    for event in first:
        fold.add(event)
    response = fold.response()
    assert response.text == expected["text"]
    assert "".join(b.thinking for b in response.content if b.type == "thinking") == expected["thinking"]
    calls = [
        {"id": c.id, "name": c.name, "arguments": c.arguments, "arguments_raw": c.raw}
        for c in response.tool_calls
        if not c.id.startswith("call_1_")  # Minted for the old `function_call`, which has no id.
    ]
    assert calls == [
        {**call, "arguments_raw": call["arguments_raw"] or ""} for call in expected["tool_calls"]
    ]
    assert response.raw_stop_reason == expected["stop_reason"]
    assert response.model == expected["model"]
    assert response.response_id == expected["response_id"]
    told, wanted = usage_of(response.usage), dict(expected["usage"] or {})
    if (wanted.get("reasoning") or 0) > wanted.get("output", 0):
        wanted["output"] += wanted["reasoning"]  # xAI counts reasoning beside the completion.
    assert {key: told[key] for key in wanted if key in told} == wanted


@needs_recordings
def test_there_are_recordings_enough():
    assert len(CASES) >= 80
