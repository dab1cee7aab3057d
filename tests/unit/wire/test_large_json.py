"""Parsing of long JSON texts: same results as for short ones, and a bounded number of values."""

import json

import pytest

from jumpseat.wire import LARGE_JSON_BYTES, large_json, read_json, read_large_json

PADDING = "x" * LARGE_JSON_BYTES

VALUES = [
    '{"a": [1, -2.5e3, true, false, null, "ž\\n\\u017e\\\\ud83d"], "b": {"c": {}}, "b": 2}',
    '"\\ud83d\\ude00"',
    '["\\ud83d", {"\\ude00x": "\\ud83d\\ud83d\\ude00"}]',
]


def long(value):
    return f'["{PADDING}", {value}]'


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("encode", [str, str.encode])
def test_a_long_text_is_read_like_a_short_one(value, encode):
    assert read_large_json(encode(long(value)))[1] == read_json(value)
    assert read_large_json(encode(value)) == read_json(value)


@pytest.mark.parametrize("value", ["{", '{"a" 1}', "[1,]", "NaN", "Infinity", '"\n"', "1] 2", "[" * 100_000])
def test_invalid_json_is_refused_in_a_long_text(value):
    with pytest.raises(ValueError, match=r"."):
        read_json(value)
    with pytest.raises(ValueError, match=r"."):
        read_large_json(long(value))


def test_bad_utf8_is_refused():
    with pytest.raises(ValueError, match="utf-8"):
        read_large_json(long('"?"').encode().replace(b"?", b"\xff"))


def test_nan_and_infinity_are_accepted_on_request():
    assert read_large_json(long("-Infinity"), allow_inf_nan=True)[1] == float("-inf")


def test_a_text_of_too_many_values_is_refused(monkeypatch):
    text = json.dumps([[], {}, 1, 2.5, "x", PADDING])
    monkeypatch.setattr(large_json, "MAX_VALUES", 10)
    assert len(read_large_json(text)) == 6
    monkeypatch.setattr(large_json, "MAX_VALUES", 9)
    with pytest.raises(ValueError, match="more than 9 values"):
        read_large_json(text)
