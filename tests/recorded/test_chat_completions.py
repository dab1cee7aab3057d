"""The decoder of chat completions reads recorded answers of many servers, split in several ways.

The recordings are next to the repository and not part of it. If they are missing, the tests are skipped.
"""

import pytest

from jumpseat.chat import ChatError, Fold, Usage, merge_deltas
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.http.failures import error_from_response
from jumpseat.testing import assert_laws
from tests.recorded.recordings import TRANSCRIPTS, arrivals, read_all, recordings

CASES = [pytest.param(each, id=each.name) for each in recordings("chat")]

needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")


def decode(pieces, content_type):
    return read_all(ChatCompletionsDecoder("acme", "asked-model"), pieces, content_type)


def usage_of(usage):
    counts = {
        "input": usage.input_tokens,
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "reasoning": usage.reasoning_tokens,
    }
    return counts | ({"cost": usage.cost.amount} if usage.cost else {})


@needs_recordings
@pytest.mark.parametrize("recording", CASES)
def test_a_recorded_answer_gives_its_expected_result_at_every_split(recording):
    body, expected = recording.body, recording.expected
    if recording.fails:
        with pytest.raises(ChatError) as failed:
            raise error_from_response(recording.status, {}, body, provider="acme", url="http://x/")
        assert expected["error"]["message"][:100] in failed.value.message
        return
    content_type = recording.content_type
    first = None
    for name, pieces in arrivals(body):
        events = decode(pieces, content_type)
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
        if not c.id.startswith("call_1_")  # jumpseat generates such ids for the old `function_call`.
    ]
    assert calls == [
        {**call, "arguments_raw": call["arguments_raw"] or ""} for call in expected["tool_calls"]
    ]
    assert response.raw_stop_reason == expected["stop_reason"]
    assert response.model == expected["model"]
    assert response.response_id == expected["response_id"]
    usage, wanted = usage_of(response.usage or Usage()), dict(expected["usage"] or {})
    if (wanted.get("reasoning") or 0) > wanted.get("output", 0):
        wanted["output"] += wanted["reasoning"]  # xAI's completion count does not include reasoning.
    assert {key: usage[key] for key in wanted if key in usage} == wanted


@needs_recordings
def test_there_are_enough_recordings():
    assert len(CASES) >= 80
