"""Message limits are checked before values are built, at any split; errors contain the message's id."""

from __future__ import annotations

import json
import sys
import time
from types import FrameType
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
    framing,
    read_json,
    write_json,
)
from jumpseat.wire.json import TooLarge
from jumpseat.wire.outline import (
    MAX_BATCH,
    MAX_DEPTH,
    MAX_DIGITS,
    MAX_VALUES,
    TOO_DEEP,
    TOO_LARGE_BATCH,
    TOO_LONG,
    TOO_MANY,
    Outline,
    fault_in,
)

pytestmark = pytest.mark.slow

GOOD = {"jsonrpc": "2.0", "id": 7, "method": "good"}
GOOD_FRAME = encode_frame(json.dumps(GOOD).encode())
PADDING = b'"' + b"x" * (1 << 20) + b'"'
"""A value that makes a frame long enough to be scanned while it arrives."""


def nested(depth: int) -> Any:
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
    assert write_json(nested(depth)) == text


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
    identity = b'"padding":' + PADDING + b"," + identity if padded else identity
    data = encode_frame(request(params, identity=identity, tail=tail)) + GOOD_FRAME

    assert read(data) == [Invalid(known, reason), GOOD]
    assert read(data, 7919) == [Invalid(known, reason), GOOD]
    assert classify(Invalid(known, reason)) == Invalid(known, reason)


def test_a_number_at_the_limit_is_read() -> None:
    assert read(encode_frame(b"9" * MAX_DIGITS)) == [int("9" * MAX_DIGITS)]


@pytest.mark.requirement("1:batch", "1:limits")
@pytest.mark.parametrize("item", [b"1", b"[]", b"{}", b'{"a":[{},{"b":",,,"}]}', b'"a,b"'])
@pytest.mark.parametrize("padded", [False, True])
def test_a_batch_beyond_its_limit_is_one_fault(item: bytes, padded: bool) -> None:
    def batch(items: int) -> bytes:
        padding = [b"[" + PADDING + b"]"] if padded else [item]
        return encode_frame(b"[" + b" , ".join(padding + [item] * (items - 1)) + b"]")

    taken, refused, after = map(classify, read(batch(MAX_BATCH) + batch(MAX_BATCH + 1) + GOOD_FRAME))
    assert len(taken.items) == MAX_BATCH  # type: ignore[union-attr]
    assert refused == Invalid(None, TOO_LARGE_BATCH)
    assert after == classify(GOOD)


@pytest.mark.requirement("1:limits")
@pytest.mark.parametrize(
    ("body", "reason", "known"),
    [
        (b"[" + b"1," * (1 << 20) + b"1]", TOO_LARGE_BATCH, None),
        (b"[" + b"[]," * (20 << 20) + b"[]]", TOO_LARGE_BATCH, None),
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
    # These take about 30 ms and 1 s; building the values would take 7 s in one step.
    assert longest < 0.5
    assert time.process_time() - begun < 6


def test_a_long_text_is_scanned_once() -> None:
    frame = encode_frame(b'["' + b'\\"x' * (10 << 20) + b'"]')
    begun = time.process_time()
    [value] = read(frame)

    assert len(value[0]) == 20 << 20
    assert time.process_time() - begun < 10


def test_a_long_conversation_is_not_scanned() -> None:
    message = {"role": "user", "content": 'A sentence with a comma, and a colon: `x[1]`. "So." ' * 100}
    value = {**GOOD, "params": {"messages": [message] * 700}}
    looked: list[str] = []

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code is Outline.read.__code__:
            looked.append(event)

    sys.setprofile(note)
    try:
        assert read(encode_frame(json.dumps(value).encode())) == [value]
    finally:
        sys.setprofile(None)
    assert not looked


def test_a_scan_that_begins_late_catches_up_in_small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    scanned = 0

    class Noted(Outline):
        def read(self, text: bytes | bytearray, start: int, end: int) -> str | None:
            nonlocal scanned
            steps.append(end - start - scanned)
            scanned = end - start
            return super().read(text, start, end)

    monkeypatch.setattr(framing, "Outline", Noted)
    value = {**GOOD, "params": {"many": [[{}, ""]] * 300_000}}
    frame = encode_frame(json.dumps(value).encode())
    reader, values = MessageReader(), []
    for start in range(0, len(frame), 4096):
        values += reader.feed(frame[start : start + 4096])
    assert values == [value]
    assert len(steps) > 10
    assert max(steps) <= framing.SCANNED_BYTES


def test_a_large_message_within_the_limits_is_read() -> None:
    value = {**GOOD, "params": {"text": '\\"é,[{' * 300_000, "many": [[{}, ""]] * 100_000, "n": 10**30}}
    assert read(encode_frame(json.dumps(value).encode())) == [value]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=20,
)


@given(st.dictionaries(st.sampled_from(["a", "b", 'i"d', "\\"]), JSON, max_size=4), st.integers(), st.data())
def test_the_outline_of_any_text_is_the_same_at_any_split(
    rest: dict[str, Any], identity: int, draw: st.DataObject
) -> None:
    members = list(rest.items())
    members.insert(draw.draw(st.integers(0, len(members))), ("id", identity))
    text = json.dumps(dict(members)).encode()
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(text)), max_size=5)))
    outline = Outline()
    for end in [*cuts, len(text)]:
        assert outline.read(text, 0, end) is None

    assert outline.id == str(identity).encode()
    assert fault_in(text)[0] is None


@pytest.mark.slow
def test_the_values_are_counted_exactly_at_the_limit() -> None:
    most = b"[[" + b"1," * (MAX_VALUES - 3) + b"1]]"
    assert Outline().read(most, 0, len(most)) is None
    more = b"[[1," + most[2:]
    assert Outline().read(more, 0, len(more)) == TOO_MANY


def test_a_large_body_that_is_not_json_is_still_malformed() -> None:
    [fault, after] = read(encode_frame(b"[" + PADDING + b", nope]") + GOOD_FRAME)
    assert (type(fault), after) == (Malformed, GOOD)
