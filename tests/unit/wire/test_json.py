"""Strict parsing of JSON, which accepts halves of surrogate pairs and replaces U+0000."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.wire import LONG_JSON_BYTES, has_half, read_json


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (rb'"\ud83d"', "\ufffd"),
        (rb'"\ude00 x"', "\ufffd x"),
        (rb'"\ud83d\ude00"', "😀"),
        (rb'"\ud83d\ud83d\ude00"', "\ufffd😀"),
        (rb'"\\ud83d \ud83d"', "\\ud83d \ufffd"),
        (rb'{"\udfff": 1}', {"\ufffd": 1}),
        ('["\\uD83D"]', ["\ufffd"]),
    ],
)
def test_half_a_surrogate_pair_becomes_a_replacement_character(text: bytes | str, value: Any) -> None:
    assert read_json(text) == value


NULS = [
    (rb'"\u0000"', "\ufffd"),
    (rb'"a\u0000\u0000b"', "a\ufffd\ufffdb"),
    (rb'{"a\u0000": ["\u0000", {"b": "\u0000"}]}', {"a\ufffd": ["\ufffd", {"b": "\ufffd"}]}),
    (rb'"\\u0000"', "\\u0000"),
    (rb'"\\\u0000 \\\\u0000"', "\\\ufffd \\\\u0000"),
    (rb'"\n\u0000\ud83d"', "\n\ufffd\ufffd"),
    ('["\\u0000"]', ["\ufffd"]),
]


@pytest.mark.requirement("1:no-nul")
@pytest.mark.parametrize(("text", "value"), NULS)
@pytest.mark.parametrize("size", [0, LONG_JSON_BYTES], ids=["short", "long"])
def test_nul_becomes_a_replacement_character(text: bytes | str, value: Any, size: int) -> None:
    blanks = " " * size if isinstance(text, str) else b" " * size

    assert read_json(text + blanks) == value


@pytest.mark.requirement("1:no-nul")
@given(st.recursive(st.text("\0\\u0a\ufffd"), lambda inner: st.lists(inner)))
def test_only_nul_is_replaced(value: Any) -> None:
    text = json.dumps(value)
    wanted = json.loads(text.replace("\\\\", "\x1a").replace("\\u0000", "\\ufffd").replace("\x1a", "\\\\"))

    assert read_json(text) == read_json(text.encode()) == wanted
    assert read_json(text, keep_nul=True) == value


def test_a_text_beyond_the_limits_of_the_fast_parser_may_have_half_a_surrogate_pair() -> None:
    depth = 300
    value = read_json(rb'["\ud83d",' + b"[" * depth + b"]" * depth + b"]")
    assert value[0] == "\ufffd"
    assert json.dumps(value[1]) == "[" * depth + "]" * depth


@pytest.mark.parametrize(
    "text", [b"", b"{", rb'"\ud83d', rb'["\ud83d" NaN]', b"NaN", b"[-Infinity]", b'"\xff"', rb'"\u12"']
)
def test_invalid_json_is_refused(text: bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)


def test_nan_and_infinity_are_accepted_on_request() -> None:
    assert read_json(b"[-Infinity]", allow_inf_nan=True) == [float("-inf")]


@pytest.mark.parametrize(
    ("text", "value"),
    [(rb'"\ud83d"', True), (rb'"\ude00"', True), (r'"\ud83d\ude00"', False), (r'"\\ud83d"', False)],
)
def test_half_a_surrogate_pair_is_found(text: bytes | str, value: bool) -> None:
    assert has_half(text) == value
