"""The formats of completions between two texts: the bodies of requests, and the events of answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest

from jumpseat.chat import (
    ChatError,
    ChatRequest,
    Fold,
    Infill,
    ProtocolError,
    Response,
    ServerError,
    Usage,
)
from jumpseat.chat.infill import MAX_PREFIX, MAX_SUFFIX
from jumpseat.dialects.infill import (
    InfillDecoder,
    encode_llama,
    encode_ollama,
    encode_openai,
    read_llama_piece,
    read_ollama_piece,
    read_openai_piece,
)
from jumpseat.dialects.infill.decode import ReadPiece
from jumpseat.dialects.ollama_chat import ServerFacts

OPENAI = [
    {"id": "c1", "model": "m-1", "choices": [{"text": text, "finish_reason": None}]} for text in ("a", "b")
]
OPENAI_END = {"choices": [{"text": "", "finish_reason": "stop"}]}
OPENAI_USAGE = {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


def make_request(prefix: str = "before", suffix: str = "after", **more: Any) -> ChatRequest:
    return ChatRequest(messages=(), model="m", infill=Infill(prefix=prefix, suffix=suffix), **more)


def fold(read_piece: ReadPiece, *parts: Mapping[str, Any] | str) -> Response:
    """Return the response of a streamed answer."""
    decoder = InfillDecoder("p", "m", read_piece)
    events = [
        event
        for part in parts
        for event in decoder.feed_event("", part if isinstance(part, str) else json.dumps(part))
    ]
    folded = Fold("p", "m")
    for event in [*events, *decoder.finish()]:
        folded.add(event)
    assert decoder.complete
    return folded.response()


@pytest.mark.requirement("14:openai")
@pytest.mark.parametrize(
    "ending",
    [[OPENAI_END, OPENAI_USAGE, "[DONE]"], [OPENAI_END, OPENAI_USAGE], ["", " ", OPENAI_END, OPENAI_USAGE]],
)
def test_an_openai_stream_ends_with_the_end_mark_or_a_finish_reason(ending: list[Any]) -> None:
    response = fold(read_openai_piece, *OPENAI, *ending)

    assert (response.text, response.stop_reason, response.response_id) == ("ab", "end_turn", "c1")
    assert (response.model, response.usage) == ("m-1", Usage(3, 2))


@pytest.mark.requirement("14:openai")
def test_an_answer_of_mistral_has_the_form_of_an_answer_in_a_chat() -> None:
    streamed = fold(read_openai_piece, {"choices": [{"delta": {"content": "a"}, "finish_reason": "length"}]})
    decoder = InfillDecoder("p", "m", read_openai_piece)
    body = {"choices": [{"message": {"content": "a"}, "finish_reason": "length"}]}
    whole = Fold("p", "m")
    for event in decoder.feed_body(json.dumps(body).encode()):
        whole.add(event)

    assert streamed == whole.response()
    assert (streamed.text, streamed.stop_reason) == ("a", "max_tokens")


@pytest.mark.parametrize(
    ("word", "reason"),
    [("eos", "end_turn"), ("word", "end_turn"), ("limit", "max_tokens"), (None, "end_turn")],
)
@pytest.mark.requirement("14:llama")
def test_an_answer_of_llama_cpp_ends_with_its_last_part(word: str | None, reason: str) -> None:
    end = {"content": "c", "stop": True, "stop_type": word, "tokens_evaluated": 3, "tokens_predicted": 2}
    response = fold(read_llama_piece, {"content": "ab", "stop": False}, end, {"content": "ignored"})

    assert (response.text, response.stop_reason, response.usage) == ("abc", reason, Usage(3, 2))
    assert response.warnings == ()


@pytest.mark.requirement("14:ollama")
def test_an_answer_of_ollama_ends_with_its_last_line() -> None:
    end = {"response": "", "done": True, "done_reason": "length", "eval_count": 2}
    response = fold(read_ollama_piece, {"model": "q", "response": "ab", "done": False}, end)

    assert (response.text, response.model, response.stop_reason) == ("ab", "q", "max_tokens")
    assert response.usage == Usage(0, 2)


@pytest.mark.requirement("14:complete")
def test_text_that_looks_like_thinking_is_text() -> None:
    response = fold(read_openai_piece, {"choices": [{"text": "<think>x</think>", "finish_reason": "stop"}]})

    assert response.text == "<think>x</think>"


@pytest.mark.requirement("14:failures")
@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ([], ProtocolError),
        (OPENAI, ProtocolError),
        (["[DONE]"], ProtocolError),
        (['{"choices": [{"te'], ProtocolError),
        ([OPENAI[0], {"error": {"message": "It broke.", "code": 500}}], ServerError),
        (["7"], ChatError),
    ],
)
def test_a_truncated_answer_and_an_error_in_an_answer_are_raised(
    parts: list[Any], error: type[ChatError]
) -> None:
    with pytest.raises(error):
        fold(read_openai_piece, *parts)


@pytest.mark.requirement("14:complete")
def test_a_keep_alive_that_is_not_json_is_skipped_with_a_warning() -> None:
    response = fold(read_openai_piece, "ping", OPENAI[0], OPENAI_END)

    assert response.text == "a"
    assert [warning.code for warning in response.warnings] == ["unreadable_event"]


@pytest.mark.requirement("14:line", "14:openai", "14:llama")
def test_a_request_has_a_limit_and_its_stop_sequences() -> None:
    request = make_request(max_tokens=5, stop_sequences=("\n",), stream=False)

    assert encode_openai(request) == {
        "model": "m",
        "prompt": "before",
        "suffix": "after",
        "max_tokens": 5,
        "temperature": 0,
        "stream": False,
        "stop": ["\n"],
    }
    body = encode_llama(request)
    assert (body["input_prefix"], body["input_suffix"], body["n_predict"]) == ("before", "after", 5)
    assert body["stop"] == ["\n"]
    assert "stop" not in encode_llama(make_request())


@pytest.mark.requirement("14:ollama")
def test_ollama_gets_the_options_of_the_table() -> None:
    parameters = {"temperature": 0.5, "num_gpu": 1, "think": True, "options": {"num_gpu": 2}, "keep_alive": 5}
    body = encode_ollama(
        make_request(max_tokens=5), ServerFacts(provider="p", num_ctx=9, parameters=parameters)
    )

    assert body["options"] == {"num_predict": 5, "temperature": 0.5, "num_ctx": 9, "num_gpu": 2}
    assert (body["keep_alive"], body.keys() & {"think", "messages"}) == (5, set())


@pytest.mark.requirement("14:near")
def test_a_line_that_is_longer_than_the_limits_is_cut() -> None:
    place = Infill(prefix="a" * 20_000, suffix="b" * 20_000).trim()
    assert (place.prefix, place.suffix) == ("a" * MAX_PREFIX, "b" * MAX_SUFFIX)


@pytest.mark.requirement("14:near")
def test_a_short_text_is_not_cut() -> None:
    place = Infill(prefix="one\ntwo", suffix="three\nfour", uri="file:///a", language_id="python")
    assert place.trim() == place
