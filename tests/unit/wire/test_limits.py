"""The limits of JSON are checked before values are built; errors contain the message's id."""

from __future__ import annotations

import json
import time
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.wire import (
    Invalid,
    Malformed,
    MessageReader,
    classify,
    encode_frame,
    limits,
    read_json,
    write_json,
)
from jumpseat.wire.limits import (
    MAX_DEPTH,
    MAX_DIGITS,
    TOO_DEEP,
    TOO_LONG,
    TOO_MANY,
    LimitCheck,
    TooLarge,
    check_limits,
)
from jumpseat.wire.messages import MAX_BATCH

GOOD = {"jsonrpc": "2.0", "id": 7, "method": "good"}
GOOD_FRAME = encode_frame(json.dumps(GOOD).encode())
PADDING = b'"' + b"x" * (1 << 20) + b'"'
"""A value that makes a frame long enough to be checked while it arrives."""


def nest(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return value


def deep(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def request(params: bytes, *, identity: bytes = b'"id":5,', tail: bytes = b"") -> bytes:
    return b'{"jsonrpc":"2.0",' + identity + b'"method":"m","params":' + params + tail + b"}"


def read(data: bytes, size: int = 65_536) -> list[Any]:
    reader = MessageReader()
    return [value for at in range(0, len(data), size) for value in reader.feed(data[at : at + size])]


@pytest.mark.requirement("1:limits")
@pytest.mark.parametrize("depth", [1, 199, 200, 201, 202, 500, MAX_DEPTH])
def test_json_is_read_and_written_to_a_great_depth(depth: int) -> None:
    text = deep(depth)
    assert json.dumps(read_json(text), separators=(",", ":")).encode() == text
    assert write_json(nest(depth)) == text


@pytest.mark.requirement("1:limits")
def test_deep_json_is_read_as_strictly_as_any() -> None:
    for inner in (b"NaN", b"-Infinity", b"1,", b"'x'", b'"\xff"', b'"\t"', b"01", b""):
        with pytest.raises(ValueError, match=r".") as raised:
            read_json(b"[" * 300 + inner + (b"]" * 300 if inner else b""))
        assert not isinstance(raised.value, TooLarge)
    assert read_json(b"[" * 300 + rb'"\ud83d"' + b"]" * 300) == read_json(
        b"[" * 300 + '"\ufffd"'.encode() + b"]" * 300
    )
    assert read_json(b"[" * 300 + b"NaN" + b"]" * 300, allow_inf_nan=True)


@pytest.mark.requirement("1:limits")
@pytest.mark.parametrize(
    ("identity", "tail", "known"),
    [
        (b'"id":5,', b"", 5),
        (b'"id" : "a\\u0062",', b"", "ab"),
        (b"", b',"id":5', 5),
        (b"", b', "id": "x" , "other":"y"', "x"),
        (b"", b"", None),
        (b'"id":null,', b"", None),
        (b'"id":1.5,', b"", None),
        (b'"id":{"id":3},', b"", None),
        (b'"note":"\\"id\\":9,",', b"", None),
        (b'"other":{"id":3},', b',"last":{"x":1,"id":4}', None),
    ],
)
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize(
    ("params", "reason"),
    [
        (deep(MAX_DEPTH), TOO_DEEP),
        (deep(10_000), TOO_DEEP),
        (b'{"x":' + b"9" * (MAX_DIGITS + 1) + b"}", TOO_LONG),
    ],
    ids=["a little too deep", "far too deep", "long number"],
)
def test_a_message_beyond_a_limit_is_refused_under_its_own_id(
    params: bytes, reason: str, identity: bytes, tail: bytes, known: Any, padded: bool
) -> None:
    if padded:
        params = b'{"padding":' + PADDING + b',"x":' + params + b"}"
    data = encode_frame(request(params, identity=identity, tail=tail)) + GOOD_FRAME

    assert read(data) == [Invalid(known, reason), GOOD]
    assert read(data, 7919) == [Invalid(known, reason), GOOD]
    assert classify(Invalid(known, reason)) == Invalid(known, reason)


def test_a_number_at_the_limit_is_read() -> None:
    assert read(encode_frame(b"9" * MAX_DIGITS)) == [int("9" * MAX_DIGITS)]


@pytest.mark.requirement("1:batch", "1:limits")
@pytest.mark.parametrize("item", [b"1", b"[]", b"{}", b'{"a":[{},{"b":",,,"}]}', b'"a,b"'])
def test_a_batch_beyond_its_limit_is_one_error(item: bytes) -> None:
    def batch(items: int) -> bytes:
        return encode_frame(b"[" + b" , ".join([item] * items) + b"]")

    taken, refused, after = map(classify, read(batch(MAX_BATCH) + batch(MAX_BATCH + 1) + GOOD_FRAME))
    assert len(taken.items) == MAX_BATCH
    assert refused == Invalid(None, "A batch may contain at most 1000 messages.")
    assert after == classify(GOOD)


@pytest.mark.slow
@pytest.mark.requirement("1:limits")
@pytest.mark.parametrize(
    ("body", "reason", "known"),
    [
        (b"[" + b"1," * (1 << 20) + b"1]", TOO_MANY, None),
        (b"[" + b"[]," * (20 << 20) + b"[]]", TOO_MANY, None),
        (request(b"[" + b"[]," * (20 << 20) + b"[]]"), TOO_MANY, 5),
        (request(b"[" + b'"",' * (20 << 20) + b'""]', identity=b"", tail=b',"id":5'), TOO_MANY, 5),
    ],
    ids=["a million bad messages", "63 MiB of empty arrays", "in one request", "with its id at its end"],
)
def test_many_small_values_cost_neither_memory_nor_time(body: bytes, reason: str, known: Any) -> None:
    frame = encode_frame(body) + GOOD_FRAME
    pieces = [frame[at : at + 65_536] for at in range(0, len(frame), 65_536)]
    reader = MessageReader()
    out: list[Any] = []
    longest = held = 0.0
    begun = time.process_time()
    for piece in pieces:
        before = time.process_time()
        out += reader.feed(piece)
        longest = max(longest, time.process_time() - before)
        held = max(held, len(reader._buffer))

    assert out == [Invalid(known, reason), GOOD]
    assert held < 8 << 20
    # The longest step takes about 30 ms, and all steps 1 s. Building the values would take one step of 7 s.
    assert longest < 0.5
    assert time.process_time() - begun < 6


@pytest.mark.slow
def test_a_long_text_with_many_escapes_is_read_in_linear_time() -> None:
    frame = encode_frame(b'["' + b'\\"x' * (10 << 20) + b'"]')
    begun = time.process_time()
    [value] = read(frame)

    assert len(value[0]) == 20 << 20
    assert time.process_time() - begun < 10


def test_a_large_message_within_the_limits_is_read() -> None:
    value = {**GOOD, "params": {"text": '\\"é,[{' * 300_000, "many": [[{}, ""]] * 60_000, "n": 10**30}}
    assert read(encode_frame(json.dumps(value).encode())) == [value]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


def measure(value: Any) -> tuple[int, int]:
    """Return the number of commas, colons and opening brackets in the JSON text of a value, and its depth."""
    if not isinstance(value, list | dict):
        return 0, 0
    inner = [measure(each) for each in (value.values() if isinstance(value, dict) else value)]
    own = max(1, len(value) * (2 if isinstance(value, dict) else 1))
    return own + sum(count for count, _ in inner), 1 + max((depth for _, depth in inner), default=0)


@given(st.lists(JSON, max_size=4), st.data())
def test_the_check_is_exact_at_any_split(values: list[Any], draw: st.DataObject) -> None:
    text = json.dumps(values).encode()
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    pieces = [text[start:end] for start, end in pairwise([0, *cuts, len(text)])]
    count, depth = measure(values)

    def check(most_values: int, most_levels: int) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(limits, "MAX_VALUES", most_values)
            patch.setattr(limits, "MAX_DEPTH", most_levels)
            one = LimitCheck()
            for piece in pieces:
                one.feed(piece)

    check(count, depth)
    with pytest.raises(TooLarge, match="values"):
        check(count - 1, depth)
    with pytest.raises(TooLarge, match="levels"):
        check(count, depth - 1)


def test_a_large_body_that_is_not_json_is_still_malformed() -> None:
    [fault, after] = read(encode_frame(b"[" + PADDING + b", nope]") + GOOD_FRAME)
    assert (type(fault), after) == (Malformed, GOOD)


def test_a_text_beyond_a_limit_is_not_json_if_its_arrays_are_not_closed() -> None:
    text = b'["]",' + b"[1]," * 250_000 + b"1"
    with pytest.raises(TooLarge):
        check_limits(text + b"]")
    for rest in (b"", b'"]', b"]]"):
        with pytest.raises(ValueError, match="does not close all its arrays"):
            check_limits(text + rest)
