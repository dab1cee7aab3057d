"""The decoder of the Responses API reads recorded answers of many servers, split in several ways."""

import pytest

from jumpseat.chat import ChatError, Fold, Usage, merge_deltas
from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.http.failures import error_from_response
from jumpseat.testing import assert_laws
from tests.recorded.recordings import TRANSCRIPTS, arrivals, read_all, recordings

CASES = [pytest.param(each, id=each.name) for each in recordings("responses")]

ALLOWED = {
    "openai__github-copilot-id-rotation.1.chunks-01": {
        "response_id": "each event has a different id; jumpseat takes the first, and the last is expected"
    },
    "openai__openai-shell-container.1.chunks-01": {
        "text": "the deltas differ from the text of the last event; streamed text cannot be taken back"
    },
}
"""Fields whose expected value is wrong, by recording, each with the reason."""

SEVERAL_ANSWERS = (
    "the file has several answers and the last is expected, but a connection has only one answer"
)
ALLOWED |= {
    name: dict.fromkeys(
        ("text", "thinking", "tool_calls", "items", "model", "response_id", "usage"), SEVERAL_ANSWERS
    )
    for name in (
        "azure__azure-reasoning-encrypted-content.1.chunks-01",
        "openai__openai-reasoning-encrypted-content.1.chunks-01",
        "openai__openai-shell-tool.1.chunks-01",
    )
}

needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")


def decode(pieces, content_type):
    return read_all(ResponsesDecoder("acme", "asked-model"), pieces, content_type)


def result_of(response):
    usage = response.usage or Usage()
    return {
        "text": response.text,
        "thinking": "".join(each.thinking for each in response.content if each.type == "thinking"),
        "tool_calls": [(call.id, call.name, call.raw) for call in response.tool_calls],
        "items": [block.kind for block in response.content if block.type == "other"],
        "stop_reason": response.raw_stop_reason,
        "model": response.model,
        "response_id": response.response_id,
        "usage": {
            "input": usage.input_tokens,
            "output": usage.output_tokens,
            "cache_read": usage.cache_read_tokens,
            "reasoning": usage.reasoning_tokens,
            **({"cost": usage.cost.amount} if usage.cost else {}),
        },
    }


def translate_expected(expected):
    """Return the expected result in jumpseat's terms, without counts that were not recorded."""
    kept = {"message", "reasoning", "function_call", "custom_tool_call"}
    counts = ("input", "output", "cache_read", "reasoning", "cost")
    return {
        "text": expected["text"],
        "thinking": expected["thinking"],
        "tool_calls": [(call["id"], call["name"], call["arguments_raw"]) for call in expected["tool_calls"]],
        "items": [item for item in expected["items"] if item not in kept],
        "stop_reason": expected["stop_reason"],
        "model": expected["model"] or "asked-model",
        "response_id": expected["response_id"],
        "usage": {name: count for name, count in (expected["usage"] or {}).items() if name in counts},
    }


def failure_of(recording):
    """Return the error of an exchange that failed, in its stream or with its status."""
    if not recording.streamed:
        return error_from_response(recording.status, {}, recording.body, provider="acme", url="http://x/")
    with pytest.raises(ChatError) as failed:
        decode([recording.body], "text/event-stream")
    return failed.value


@needs_recordings
@pytest.mark.parametrize("recording", CASES)
def test_a_recorded_answer_gives_its_expected_result_at_every_split(recording):
    expected = recording.expected
    if recording.fails:
        assert expected["error"]["message"][:100] in failure_of(recording).message
        return
    content_type = "text/event-stream" if recording.streamed else "application/json"
    first = None
    for name, pieces in arrivals(recording.body):
        events = decode(pieces, content_type)
        assert_laws(events)
        first = first or events
        assert merge_deltas(events) == merge_deltas(first), name
    fold = Fold("acme", "asked-model")
    for event in first:
        fold.add(event)
    got, wanted = result_of(fold.response()), translate_expected(expected)
    wanted["usage"] = got["usage"] | wanted["usage"]
    allowed = ALLOWED.get(recording.name, {})
    assert got == {name: got[name] if name in allowed else value for name, value in wanted.items()}


@needs_recordings
def test_there_are_enough_recordings():
    assert len(CASES) >= 80
