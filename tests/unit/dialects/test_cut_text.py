"""A character that a provider split into two escaped surrogates is joined, in every dialect."""

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.chat import BlockDoneEvent, TextDeltaEvent, ThinkingDeltaEvent, ToolUseDeltaEvent
from jumpseat.dialects.base import read_answer
from jumpseat.dialects.chat_completions.reasoning import merge_details
from jumpseat.dialects.cut_text import CutText, Joiner, join_pieces
from jumpseat.testing import Reply
from tests.unit.dialects.anthropic_messages import answers as messages
from tests.unit.dialects.chat_completions.answers import answer, chunk, stream
from tests.unit.dialects.every_dialect import DIALECTS, Answer, in_every_dialect
from tests.unit.dialects.responses import answers as responses

pytestmark = pytest.mark.requirement("2:split-characters")

HAND = "\U0001f44b"
CUT = ["Hi \ud83d", "\udc4b!"]
WHOLE = f"Hi {HAND}!"

CASES = {
    "cut once": (CUT, WHOLE),
    "cut into halves alone": (["\ud83d", "\udc4b"], HAND),
    "two in a row": (["\ud83d", "\udc4b\ud83d", "\udc4b"], HAND * 2),
    "never ended": (["Hi \ud83d", "there"], "Hi \ufffdthere"),
    "never begun": (["Hi ", "\udc4b!"], "Hi \ufffd!"),
    "at the end": (["Hi \ud83d"], "Hi \ufffd"),
    "within a piece": (["a\ud83db", "c"], "a\ufffdbc"),
}


def join_deltas(events, kind):
    """Return the text of all deltas of a kind, after checking that none has a lone surrogate."""
    field = "argument_delta" if kind is ToolUseDeltaEvent else "text"
    pieces = [getattr(event, field) for event in events if isinstance(event, kind)]
    for piece in pieces:
        piece.encode()  # This fails if the piece contains a lone surrogate.
    return "".join(pieces)


@in_every_dialect
@pytest.mark.parametrize("name", CASES)
def test_text_and_thinking_are_joined(dialect, name):
    pieces, whole = CASES[name]
    said = Answer(pieces, thinking=pieces)
    events = dialect.events(said, streamed=True)
    assert join_deltas(events, TextDeltaEvent) == whole
    assert join_deltas(events, ThinkingDeltaEvent) == whole
    got = dialect.read(said, streamed=True)
    assert [getattr(block, block.type) for block in got.content] == [whole, whole]


@in_every_dialect
def test_a_split_character_in_a_body_is_joined(dialect):
    assert dialect.read(Answer(CUT), streamed=False).text == WHOLE


@pytest.mark.parametrize("name", ["chat_completions", "anthropic_messages", "responses"])
def test_arguments_are_joined(name):
    dialect = DIALECTS[name]
    said = Answer(["a\ud83d"], [("c-1", "f", ('{"a":"\ud83d', '\udc4b"}')), ("c-2", "f", ('{"a":"b"}',))])
    got = dialect.read(said, streamed=True)
    assert [call.arguments for call in got.tool_calls] == [{"a": HAND}, {"a": "b"}]
    assert got.tool_calls[0].raw == f'{{"a":"{HAND}"}}'
    assert got.text == "a\ufffd"
    assert join_deltas(dialect.events(said, streamed=True), ToolUseDeltaEvent).count(HAND) == 1


@pytest.mark.parametrize("tag", ["<think>", ""])
def test_text_that_was_held_back_for_a_tag_is_joined(tag):
    # The tags arrive character by character.
    pieces = [*tag, *CUT, *("</think>" if tag else "")]
    data = stream(*(chunk({"content": piece}) for piece in pieces), chunk({}, "stop"))
    (block,) = answer(data, model="qwq").content
    assert getattr(block, block.type) == WHOLE


def test_parts_and_details_of_reasoning_are_joined():
    parts = [{"type": "thinking", "thinking": [{"text": piece} for piece in CUT]}]
    (thought,) = answer(stream(chunk({"content": parts}, "stop"))).content
    assert thought.thinking == WHOLE
    pieces = read_answer(json.dumps([{"type": "t", "index": 0, "text": piece} for piece in CUT]))
    assert merge_details(pieces) == [{"type": "t", "index": 0, "text": WHOLE}]


def test_blocks_that_are_kept_as_received_are_joined():
    compaction = [{"type": "compaction_delta", "content": piece} for piece in CUT]
    tool = {"type": "server_tool_use", "id": "s", "name": "search", "input": {}}
    query = [messages.json_piece(piece) for piece in ('{"q":"\ud83d', '\udc4b"}')]
    data = [
        messages.start_event(),
        *messages.block(0, {"type": "compaction", "content": ""}, *compaction),
        *messages.block(1, tool, *query),
        *messages.end_events(),
    ]
    events, error = messages.read([Reply.events(data).body])
    assert error is None
    kept = [json.loads(event.content.opaque) for event in events if isinstance(event, BlockDoneEvent)]
    assert (kept[0]["content"], kept[1]["input"]) == (WHOLE, {"q": HAND})


def test_summaries_of_several_parts_are_joined():
    def piece(text, number):
        return responses.delta("reasoning_summary_text", text, summary_index=number)

    events = [piece(text, number) for number in (0, 1) for text in CUT]
    done = responses.done_event(0, "reasoning", summary=[], encrypted_content="sealed")
    got = responses.answer(responses.CREATED, *events, done, responses.end_event())
    assert got.content[0].thinking == f"{WHOLE}\n\n{WHOLE}"


def test_a_lone_surrogate_becomes_a_replacement_character():
    value = read_answer(r'{"id": "a\ud83d", "\ud83d": ["\udc4bx", "a\ud83db", "b", 1, NaN]}')
    assert value["id"] == "a\ufffd"
    assert type(value["id"]) is CutText
    assert value["\ufffd"][:3] == ["\ufffdx", "a\ufffdb", "b"]
    assert type(value["\ufffd"][1]) is str
    json.dumps(value, ensure_ascii=False).encode()


def test_a_deeply_nested_answer_with_a_lone_surrogate_is_read():
    deep = "[" * 300 + r'"\ud83d"' + "]" * 300
    value = read_answer(deep)
    while isinstance(value, list):
        (value,) = value
    assert value == "\ufffd"


@given(st.text(st.sampled_from("ab\ud83d\udc4b\U0001f44b"), max_size=8), st.sets(st.integers(1, 7)))
def test_the_text_is_the_same_for_any_split(text, cuts):
    edges = [0, *sorted(cut for cut in cuts if cut < len(text)), len(text)]
    pieces = [text[start:end] for start, end in itertools.pairwise(edges)]
    joiner = Joiner()
    whole = "".join(map(joiner.add, pieces)) + joiner.finish()
    assert whole == text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    assert str(join_pieces([*pieces, ""])) == whole
