"""The decoder of Ollama's own dialect reads recorded answers, split in several ways.

The recordings are next to the repository and not part of it. If they are missing, the tests are skipped.
"""

import pytest

from jumpseat.chat import ChatError, Fold, merge_deltas
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.http.failures import error_from_response
from jumpseat.testing import assert_laws
from tests.recorded.recordings import TRANSCRIPTS, arrivals, read_all, recordings

CASES = [pytest.param(each, id=each.name) for each in recordings("ollama")]

needs_recordings = pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")


def decode(pieces, content_type):
    return read_all(OllamaChatDecoder("acme", "asked-model", id_suffix=""), pieces, content_type)


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
    calls = [{"id": call.id, "name": call.name, "arguments": call.arguments} for call in response.tool_calls]
    # The decoder generates an id for a call that was recorded without one.
    assert calls == [
        {"id": call.get("id") or mine["id"], "name": call["name"], "arguments": call["arguments"]}
        for call, mine in zip(expected["tool_calls"], calls, strict=True)
    ]
    assert response.raw_stop_reason == expected["stop_reason"]
    assert response.model == expected["model"]
    usage = {"input": response.usage.input_tokens, "output": response.usage.output_tokens}
    assert {**usage, **expected["usage"]} == usage


@needs_recordings
@pytest.mark.parametrize("recording", CASES)
def test_a_truncated_recorded_stream_is_not_a_complete_answer(recording):
    if recording.fails or not recording.streamed:
        pytest.skip("not a stream")
    lines = recording.body.splitlines(keepends=True)
    for count in (0, 1, len(lines) // 2, len(lines) - 1):
        with pytest.raises(ChatError, match="early"):
            decode([b"".join(lines[:count]) + lines[count][:-5]], "application/x-ndjson")


@needs_recordings
def test_there_are_enough_recordings():
    assert len(CASES) >= 8
