"""The decoder of the Messages API reads recorded answers of Anthropic and gateways, split in several ways.

The recordings are next to the repository and not part of it. If they are missing, the tests are skipped.
"""

import json

import pytest

from jumpseat.chat import Fold, merge_deltas
from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.testing import assert_laws
from tests.recorded.recordings import TRANSCRIPTS, arrivals, read_all

ITERATIONS = {
    "anthropic__anthropic-compaction.1.chunks": {"input": 60385 + 612, "output": 522 + 2819},
    "anthropic__anthropic-fallback.chunks": {"input": 408 + 412},
    "anthropic__anthropic-fallback.json": {"input": 408 + 412},
}
"""The usage of recordings with `iterations`, summed over these; `expected.json` counts only the last one."""


def recordings():
    for path in sorted(TRANSCRIPTS.rglob("*.expected.json")):
        expected = json.loads(path.read_text())
        if expected.get("api") in ("anthropic", "messages"):
            if path.parent.name in ITERATIONS:
                expected["usage"] |= ITERATIONS[path.parent.name]
            yield path, expected


CASES = [
    pytest.param(path, expected, id=f"{path.parent.name}-{path.name[:2]}") for path, expected in recordings()
]

needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")


def body_of(path):
    return next(path.parent.glob(f"{path.name.removesuffix('.expected.json')}.body.*")).read_bytes()


def decode(pieces, content_type):
    return read_all(AnthropicMessagesDecoder("acme", "asked-model"), pieces, content_type)


def response_of(events):
    fold = Fold("acme", "asked-model")
    for event in events:
        fold.add(event)
    return fold.response()


def usage_of(usage):
    """Return the counts in the terms of the dialect, whose input does not include cached tokens."""
    return {
        "input": usage.input_tokens - usage.cache_read_tokens - usage.cache_creation_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_creation_tokens,
        "reasoning": usage.reasoning_tokens,
    }


def assert_expected(response, expected):
    assert response.text == expected["text"]
    thoughts = [block for block in response.content if block.type == "thinking"]
    assert "".join(block.thinking for block in thoughts) == expected["thinking"]
    assert [block.signature for block in thoughts if block.signature] == expected["signatures"]
    kinds = [block.kind if block.type == "other" else block.type for block in response.content]
    assert kinds == expected["blocks"]
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in response.tool_calls]
    assert calls == [
        {name: call[name] for name in ("id", "name", "arguments")} for call in expected["tool_calls"]
    ]
    for call, wanted in zip(response.tool_calls, expected["tool_calls"], strict=True):
        if wanted["arguments_raw"] is not None:
            assert call.raw == wanted["arguments_raw"]
    assert response.raw_stop_reason == expected["stop_reason"]
    assert response.model == expected["model"]
    assert response.response_id == expected["response_id"]
    usage, wanted = usage_of(response.usage), expected["usage"] or {}
    assert {key: usage[key] for key in wanted} == wanted


@needs_recordings
@pytest.mark.parametrize(("path", "expected"), CASES)
def test_a_recorded_answer_gives_its_expected_result_at_every_split(path, expected):
    body = body_of(path)
    content_type = "text/event-stream" if expected["kind"] == "sse" else "application/json"
    first = None
    for name, pieces in arrivals(body):
        events = decode(pieces, content_type)
        assert_laws(events)
        first = first or events
        assert merge_deltas(events) == merge_deltas(first), name
    assert_expected(response_of(first), expected)


@needs_recordings
def test_there_are_enough_recordings():
    assert len(CASES) >= 100
