"""Recordings that no dialect's tests cover: lists of models, and chats with Copilot.

No expected result was recorded for these chats, so it is computed here from their chunks. The recordings are
next to the repository and not part of it. If they are missing, the tests are skipped.
"""

import json

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.adapters.http.models import read_models
from jumpseat.chat import Fold, merge_deltas
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.http.answer import AnswerReader
from jumpseat.testing import assert_laws
from tests.recorded.recordings import TRANSCRIPTS, recordings

COPILOT = TRANSCRIPTS / "copilot"
STREAMS = sorted([*COPILOT.glob("opencode/*.sse"), *COPILOT.glob("codecompanion/*_streaming*.txt")])
STREAMS = [path for path in STREAMS if "no_streaming" not in path.name]
BODIES = sorted(COPILOT.glob("codecompanion/*no_streaming.txt"))
LISTS = recordings("models")

needs_recordings = pytest.mark.skipif(not LISTS, reason=f"no recordings at {TRANSCRIPTS}")


def decode(pieces, content_type):
    decoder = ChatCompletionsDecoder("acme", "asked-model")
    reader = AnswerReader(decoder, content_type)
    events = []
    for piece in pieces:
        reader.feed(piece, events)
    if not decoder.complete:
        reader.finish(events)
    assert_laws(events)
    return events


def response_of(events):
    fold = Fold("acme", "asked-model")
    for event in events:
        fold.add(event)
    return fold.response()


def add_up(messages):
    """Return the joined text, the joined thinking, and the name and joined arguments of each call."""
    text = thinking = ""
    calls = {}
    for message in messages:
        text += message.get("content") or ""
        thinking += message.get("reasoning_text") or ""
        for place, call in enumerate(message.get("tool_calls") or []):
            known = calls.setdefault(call.get("index", place), ["", ""])
            known[0] = known[0] or call["function"].get("name") or ""
            known[1] += call["function"].get("arguments") or ""
    return text, thinking, [(name, json.loads(raw or "{}")) for name, raw in calls.values()]


def content_of(response):
    thinking = "".join(block.thinking for block in response.content if block.type == "thinking")
    return response.text, thinking, [(call.name, call.arguments) for call in response.tool_calls]


def data_lines(path):
    """Return the data lines of a recording. Some recordings lack the empty lines between events."""
    return [line for line in path.read_text("utf-8").splitlines() if line.startswith("data:")]


@needs_recordings
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in STREAMS])
def test_a_stream_of_copilot_is_the_sum_of_its_chunks(path):
    lines = data_lines(path)
    body = "".join(f"{line}\n\n" for line in lines).encode()
    whole = decode([body], "text/event-stream")
    for step in (1, 7):
        pieces = [body[start : start + step] for start in range(0, len(body), step)]
        assert merge_deltas(decode(pieces, "text/event-stream")) == merge_deltas(whole)
    chunks = [json.loads(line.removeprefix("data:")) for line in lines if "[DONE]" not in line]
    deltas = [choice.get("delta") or {} for chunk in chunks for choice in chunk["choices"]]
    response = response_of(whole)
    assert content_of(response) == add_up(deltas)
    opaque = [delta["reasoning_opaque"] for delta in deltas if delta.get("reasoning_opaque")]
    kept = json.dumps([block.opaque for block in response.content])
    assert all(each in kept for each in opaque)


@needs_recordings
@pytest.mark.parametrize("path", [pytest.param(path, id=path.stem) for path in BODIES])
def test_an_unstreamed_answer_of_copilot_has_all_its_messages(path):
    body = path.read_bytes()
    response = response_of(decode([body], "application/json"))
    # Claude behind Copilot sends text and calls in two choices, neither with an index.
    messages = [choice["message"] for choice in json.loads(body)["choices"]]
    assert content_of(response) == add_up(messages)


@needs_recordings
@pytest.mark.parametrize("recording", [pytest.param(each, id=each.name) for each in LISTS])
def test_a_list_of_models_is_read_completely(recording):
    rows = json.loads(recording.body)["data"]
    models = read_models(json.loads(recording.body), "acme", Capabilities())
    assert [model.model for model in models] == [row["id"] for row in rows]
    limits = [row["top_provider"]["context_length"] or row["context_length"] for row in rows]
    assert [model.max_context_tokens for model in models] == limits
