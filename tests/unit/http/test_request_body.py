"""Short and long JSON bodies of requests."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from pydantic_core import to_json

from jumpseat.chat import RequestError
from jumpseat.http import request_body
from jumpseat.http.request_body import MAX_VALUES, PIECE, serialize


def make_body(*contents: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content} for content in contents]
    return {"model": "m", "messages": messages, "tools": [], "options": {}, "stop": None, "top_p": 0.5}


LONG = {
    "one text": make_body('a"\\\n\x00é😀' * PIECE),
    "the last value": {
        "messages": [{"content": "x" * 8 * PIECE, "role": "user"}],
        "model": "m",
    },
    "a text in a block": make_body([{"type": "text", "text": "é" * 8 * PIECE}, {"n": 1}]),
    "many messages": make_body(*[["hi", {"a": [1, 2.5, True, None]}]] * MAX_VALUES),
    "nested deeply": make_body("x" * 3 * PIECE, [[[[[[{"a": ["b"]}]]]]]]),
}


@pytest.mark.parametrize("body", [make_body("hi"), {}, *LONG.values()], ids=["short", "empty", *LONG])
async def test_a_body_is_the_same_text_whatever_its_length(body: dict[str, Any]) -> None:
    assert await serialize(body, "p") == to_json(body)


@pytest.mark.parametrize("body", LONG.values(), ids=LONG)
async def test_a_long_body_is_written_in_another_thread_in_pieces(
    body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, longest = set(), 0

    def spy(value: Any, **options: Any) -> bytes:
        nonlocal longest
        threads.add(threading.current_thread())
        text = to_json(value, **options)
        longest = max(longest, len(text))
        return text

    monkeypatch.setattr(request_body, "to_json", spy)
    await serialize(body, "p")
    assert threading.main_thread() not in threads
    assert longest <= 6 * PIECE + 2  # An escaped character takes up to six bytes, and the quotes two.


@pytest.mark.parametrize("text", ["NaN", "Infinity" * PIECE, "\ud800", "\ud800" * 3 * PIECE])
async def test_nan_and_lone_surrogates_in_a_text_are_sent_unchanged(text: str) -> None:
    assert json.loads(await serialize(make_body(text), "p")) == make_body(text)


@pytest.mark.parametrize("number", [float("nan"), float("inf")])
@pytest.mark.parametrize("text", ["short", "long" * PIECE, "\ud800"])
async def test_a_number_that_json_does_not_support_is_refused(number: float, text: str) -> None:
    with pytest.raises(RequestError, match=r"The request to p has a number .* NaN or infinity"):
        await serialize({**make_body(text), "top_p": number}, "p")
