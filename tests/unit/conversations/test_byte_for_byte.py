"""The store returns exactly the messages and answers that it received, for all recorded answers."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ChatError, ContentBlock, Fold, Message, Response, TextBlock, ToolUseBlock
from jumpseat.chat.json_form import to_json_form
from jumpseat.conversations import ConversationStore
from jumpseat.dialects import Decoder
from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.http.answer import AnswerReader
from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.params import ChatStartParams
from jumpseat.testing import load_recordings
from tests.recorded.recordings import recordings
from tests.unit.conversations.support import assistant, call, keep, make_answer, result, thought, turn, user

DECODERS_OF_FOLDERS = {
    "anthropic": AnthropicMessagesDecoder,
    "copilot": ChatCompletionsDecoder,
    "local": ChatCompletionsDecoder,
    "ollama": OllamaChatDecoder,
    "openai": ChatCompletionsDecoder,
    "openai-responses": ResponsesDecoder,
}
DECODERS_OF_APIS = {
    "chat": ChatCompletionsDecoder,
    "responses": ResponsesDecoder,
    "anthropic": AnthropicMessagesDecoder,
    "messages": AnthropicMessagesDecoder,
    "ollama": OllamaChatDecoder,
}
CONTENT_TYPES = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}
CONTRACT = Path(__file__).parents[2] / "contract" / "recordings"


def decode(decoder: Decoder, body: bytes, content_type: str) -> tuple[Response, ChatError | None]:
    """Return the answer, or the partial answer with the error."""
    fold = Fold("acme", "m")
    reader = AnswerReader(decoder, content_type)
    events: list[Any] = []
    error = None
    try:
        reader.feed(body, events)
        if not decoder.complete:
            reader.finish(events)
    except ChatError as raised:
        error = raised
    for event in events:
        fold.add(event)
    return (fold.response() if error is None else fold.partial()), error


def contract_answers() -> Iterator[tuple[str, Response, ChatError | None]]:
    """Yield the answers in the project's own recordings."""
    assert {each.name for each in CONTRACT.iterdir()} == {*DECODERS_OF_FOLDERS}
    for folder, decoder in DECODERS_OF_FOLDERS.items():
        for each in load_recordings(CONTRACT / folder):
            yield (
                f"{folder}/{each.name}",
                *decode(decoder("acme", "m"), each.body, CONTENT_TYPES[each.form]),
            )


def answers_outside() -> Iterator[tuple[str, Response, ChatError | None]]:
    """Yield the answers recorded outside the project; none if their folder is missing."""
    for api, decoder in DECODERS_OF_APIS.items():
        for each in recordings(api):
            made = decoder("acme", each.model)
            yield (f"{api}/{each.name}", *decode(made, each.body, each.content_type))


for_all_answers = pytest.mark.parametrize(
    "answers", [contract_answers, pytest.param(answers_outside, marks=pytest.mark.slow)]
)


def exchange(answer: Response, sent: Sequence[ContentBlock]) -> tuple[Message, ...]:
    """Return what the next turn adds: the sent answer, then the results of its calls and a question."""
    results = [result(block.id, "°C") for block in answer.content if isinstance(block, ToolUseBlock)]
    return (Message("assistant", tuple(sent)), user(*results, "And then?"))


def thin(content: Sequence[ContentBlock]) -> list[ContentBlock]:
    """Return the answer as a client would send it back that keeps only trimmed texts and calls."""
    texts: list[str] = []
    found: list[ContentBlock] = []
    for block in content:
        if isinstance(block, TextBlock):
            texts.append(block.text.strip())
        elif isinstance(block, ToolUseBlock):
            written = json.dumps(block.arguments, indent=1)
            found += [TextBlock("".join(texts)), replace(block, raw=written, origin=None, opaque=None)]
            texts.clear()
    return [
        each for each in (*found, TextBlock("".join(texts))) if not isinstance(each, TextBlock) or each.text
    ]


@pytest.mark.requirement("10:byte-for-byte")
@for_all_answers
def test_every_recorded_answer_is_given_back_byte_for_byte(directory: Path, answers: Any) -> None:
    seen = calls = failed = 0
    for number, (name, answer, error) in enumerate(answers()):
        store = ConversationStore(directory)
        first = [user("What is the weather?")]
        store.finish(store.begin(turn(first, str(number))), answer, error)
        expected = [*first]
        if answer.content or error is None:
            expected.append(answer.as_message())
        assert is_read_back(directory, expected, number), name

        more = exchange(answer, answer.content)
        begun = store.begin(turn([*first, *more], str(number)))
        assert (begun.id, begun.forked_from) == (str(number), None), name
        store.finish(begun, make_answer("Rain."))
        # A failed turn without output does not have a message, but this client sends an empty one.
        assert is_read_back(directory, [*expected[:1], *more, assistant("Rain.")], number), name
        seen, failed = seen + 1, failed + (error is not None)
        calls += bool(answer.tool_calls)
    if answers is answers_outside and not seen:
        pytest.skip("no recordings outside the project")
    assert min(seen, calls, failed) > 0


def is_read_back(directory: Path, messages: Sequence[Message], number: int) -> bool:
    """Return whether a new store reads these messages from the files, as values and as JSON."""
    kept = ConversationStore(directory).get(str(number)).messages
    written = [json.dumps(to_json_form(each)) for each in (kept, tuple(messages))]
    return kept == tuple(messages) and written[0] == written[1]


@pytest.mark.requirement("10:continue", "10:compared")
@for_all_answers
def test_a_client_of_texts_and_calls_continues_every_recorded_answer(
    store: ConversationStore, answers: Any
) -> None:
    seen = 0
    for name, answer, error in answers():
        if any(block.arguments is None for block in answer.tool_calls):
            continue  # A client with only texts and calls cannot represent an unreadable call.
        first = [user("What is the weather?")]
        store.finish(store.begin(turn(first, f"c{seen}")), answer, error)
        messages = [*first, *exchange(answer, thin(answer.content))]
        begun = store.begin(turn(messages, f"c{seen}"))
        assert (begun.id, begun.forked_from) == (f"c{seen}", None), name
        store.finish(begun, make_answer("Rain."))
        assert answer.as_message() in store.get(begun.id).messages or not answer.content, name
        seen += 1
    if answers is answers_outside and not seen:
        pytest.skip("no recordings outside the project")
    assert seen > 20


DEEP: dict[str, Any] = {}
for _ in range(550):
    DEEP = {"a": DEEP}


@pytest.mark.requirement("10:byte-for-byte")
def test_values_that_are_hard_to_write_are_given_back(store: ConversationStore, directory: Path) -> None:
    hard = "\x01\r\n\u2028\ufeff\U0001f600 \\u0000 \x7f"
    arguments = {"n": 1.0, "big": 10**30, "small": 1e-300, "é": hard, "none": None, "list": [True, [], {}]}
    messages = [
        user(hard, "\ud83d"),
        assistant(thought(hard), call("1", **arguments), call("2", **DEEP)),
        user(result("1", hard), result("2", "")),
    ]
    keep(store, messages[:1], *messages[1].content)
    keep(store, messages, hard)
    other = ConversationStore(directory)
    assert other.get("a").messages == (*messages, assistant(hard))
    assert repr(other.get("a").messages) == repr((*messages, assistant(hard)))


@pytest.mark.requirement("10:byte-for-byte")
@pytest.mark.parametrize("more", [{}, {"isError": False}, {"isError": True}])
def test_a_tool_result_has_the_keys_that_the_client_sent(
    store: ConversationStore, more: dict[str, bool]
) -> None:
    sent = [{"type": "tool_result", "toolUseId": "1", "content": "a.py", **more}]
    params = ChatStartParams.model_validate({"messages": [{"role": "user", "content": sent}]})
    keep(store, turn_from_wire(params).messages, "Yes")
    assert to_json_form(store.get("a").messages[0].content) == sent
