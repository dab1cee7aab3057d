"""Reading JSON: strict, except for halves of surrogate pairs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from jumpseat.wire import read_json


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
