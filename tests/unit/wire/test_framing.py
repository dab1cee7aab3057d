"""Decoding of frames to values: every split of the input, every error, bounded memory."""

from __future__ import annotations

import json
import time
import tracemalloc
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jumpseat.wire import MAX_FRAME_BYTES, MAX_HEADER_BYTES, Malformed, MessageReader, encode_frame

GOOD = {"jsonrpc": "2.0", "id": 7, "method": "good"}
GOOD_FRAME = encode_frame(json.dumps(GOOD).encode())
BODY = b'{"a":1}'


def read(*pieces: bytes) -> list[Any]:
    reader = MessageReader()
    return [value for piece in pieces for value in reader.feed(piece)]


def read_byte_by_byte(data: bytes) -> list[Any]:
    return read(*(data[i : i + 1] for i in range(len(data))))


def faults(values: list[Any]) -> list[str]:
    return [value.reason for value in values if isinstance(value, Malformed)]


def test_a_frame_has_its_length_and_its_body() -> None:
    assert encode_frame("é".encode()) == b"Content-Length: 2\r\n\r\n\xc3\xa9"


@pytest.mark.requirement("1:no-nul")
def test_only_ids_keep_nul() -> None:
    request = {"jsonrpc": "2.0", "id": "1\0", "method": "m\0", "params": {"id": "\0", "k\0": ["\0"]}}
    cancel = {"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": "1\0"}}
    wanted = request | {"method": "m\ufffd", "params": {"id": "\ufffd", "k\ufffd": ["\ufffd"]}}

    assert read(*(encode_frame(json.dumps(each).encode()) for each in (request, cancel))) == [wanted, cancel]
    assert read(encode_frame(json.dumps([cancel, request]).encode())) == [[cancel, wanted]]


@pytest.mark.requirement("1:no-nul")
def test_a_message_that_is_too_deep_keeps_nul_in_its_id() -> None:
    (refused,) = read(encode_frame(b'{"id":"\\u0000","params":' + b"[" * 700 + b"]" * 700 + b"}"))

    assert refused.id == "\0"


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: 7\r\n\r\n",
        b"content-length: 7\r\n\r\n",
        b"CONTENT-LENGTH:7\r\n\r\n",
        b"Content-Length : \t 7 \r\n\r\n",
        b"Content-Length: 7\n\n",
        b"Content-Length: 7\r\n\n",
        b"Content-Length: 0007\r\n\r\n",
        b"Content-Length: 7\r\nContent-Length: 7\r\n\r\n",
        b"X-Other: 1: 2\r\nContent-Length: 7\r\nX-More:\r\n\r\n",
        b"Content-Length: 7\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n",
        b'Content-Type: application/json; charset="UTF8"\r\nContent-Length: 7\r\n\r\n',
        b"Content-Type: application/json\r\nContent-Length: 7\r\n\r\n",
        b"\r\n\n\r\nContent-Length: 7\r\n\r\n",
    ],
)
def test_a_header_may_have_any_usual_form(header: bytes) -> None:
    assert read(header + BODY + GOOD_FRAME) == [{"a": 1}, GOOD]
    assert read_byte_by_byte(header + BODY + GOOD_FRAME) == [{"a": 1}, GOOD]


@dataclass
class Case:
    """Bytes with faults."""

    name: str
    data: bytes
    episodes: int = 1
    """The number of faults that are reported. Garbage after a fault, up to the next header, belongs to it."""


CASES = [
    Case("no JSON", encode_frame(b"{nope}")),
    Case("JSON cut off", encode_frame(b'{"jsonrpc": "2.0", "id": 1, "method')),
    Case("two values in a body", encode_frame(b"{}{}")),
    Case("bad UTF-8", encode_frame(b'"\xff\xfe"')),
    Case("UTF-16", encode_frame('{"a":1}'.encode("utf-16"))),
    Case("byte order mark", encode_frame(b"\xef\xbb\xbf{}")),
    Case("NaN", encode_frame(b'{"a": NaN}')),
    Case("infinity", encode_frame(b"[-Infinity]")),
    Case("empty body", b"Content-Length: 0\r\n\r\n"),
    Case("other charset", b"Content-Length: 7\r\nContent-Type: a/b; charset=latin-1\r\n\r\n" + BODY),
    Case("length not a number", b"Content-Length: seven\r\n\r\n" + BODY),
    Case("length empty", b"Content-Length:\r\n\r\n" + BODY),
    Case("length negative", b"Content-Length: -7\r\n\r\n" + BODY),
    Case("length with a sign", b"Content-Length: +7\r\n\r\n" + BODY),
    Case("length with a fraction", b"Content-Length: 7.0\r\n\r\n" + BODY),
    Case("length of 10 GB", b"Content-Length: 10000000000\r\n\r\n" + BODY),
    Case("length of 5,000 digits", b"Content-Length: " + b"9" * 5_000 + b"\r\n\r\n" + BODY),
    Case("just over the limit", b"Content-Length: %d\r\n\r\n" % (MAX_FRAME_BYTES + 1) + BODY),
    Case("two lengths", b"Content-Length: 7\r\nContent-Length: 70\r\n\r\n" + BODY),
    Case("two lengths, the first one right", b"Content-Length: 7\r\nContent-Length: 5\r\n\r\n" + BODY),
    Case("two lengths, the smaller first", b"Content-Length: 5\r\nContent-Length: 7\r\n\r\n" + BODY),
    Case("two lengths, the larger first", b"Content-Length: 70\r\nContent-Length: 7\r\n\r\n" + BODY),
    Case(
        "three lengths, one bad",
        b"Content-Length: 7\r\nContent-Length: x\r\nContent-Length: 7\r\n\r\n" + BODY,
    ),
    Case("no length", b"Content-Type: application/json\r\n\r\n" + BODY),
    Case("no header", BODY),
    Case("no header, by line", BODY + b"\n" + BODY + b"\n"),
    Case("no colon", b"Content-Length 7\r\n\r\n" + BODY),
    Case("plain text", b"Loading the extension ...\nDone: 100%!\n"),
    Case("text without a line ending", b"warning"),
    Case("text that looks like a header", b"warning: deprecated\r\n", episodes=0),
    Case("binary", bytes(range(256)) * 3),
    Case("header block without an end", b"X-Filler: " + b"a" * (MAX_HEADER_BYTES + 100) + b"\r\n\r\n"),
    Case("many headers without an end", b"X-Filler: 1\r\n" * 5_000),
    Case("length, then headers without an end", b"Content-Length: 7\r\n" + b"X-Filler: 1\r\n" * 5_000),
    Case("length too short", b"Content-Length: 3\r\n\r\n" + BODY),
    Case("length one too short", b"Content-Length: 6\r\n\r\n" + BODY),
    Case("length one too long", b"Content-Length: 8\r\n\r\n" + BODY),
    Case("length much too long", b"Content-Length: 60000000\r\n\r\n" + BODY),
    Case("length too long by the next header", b"Content-Length: 27\r\n\r\n" + BODY),
    Case("length too long into the next header", b"Content-Length: 20\r\n\r\n" + BODY),
    Case(
        "header amid the garbage after a bad length", b"Content-Length: x\r\n\r\nContent-Length: 5\r\nno\r\n"
    ),
    Case("two bad bodies", encode_frame(b"{nope}") + encode_frame(b"{nope}"), episodes=2),
    Case(
        "bad body, then a bad length",
        encode_frame(b"{nope}") + b"Content-Length: 99999999999\r\n\r\n",
        episodes=2,
    ),
    Case("bad body, then garbage", encode_frame(b"{nope}") + b"\x00garbage: yes\r\n\r\nmore"),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_after_any_fault_the_next_good_request_is_served(case: Case) -> None:
    values = read(case.data + GOOD_FRAME)

    assert values[-1] == GOOD
    assert len(faults(values)) == case.episodes == len(values) - 1
    assert all(reason.endswith(".") for reason in faults(values))
    assert read_byte_by_byte(case.data + GOOD_FRAME) == values


@pytest.mark.parametrize(
    "case", [case for case in CASES if len(case.data) < 1000], ids=lambda case: case.name
)
def test_every_split_in_two_gives_the_same_result(case: Case) -> None:
    data = GOOD_FRAME + case.data + GOOD_FRAME
    whole = read(data)
    for i in range(len(data)):
        assert read(data[:i], data[i:]) == whole


@pytest.mark.parametrize("length", [b"10000000000", b"9" * 5_000, b"%d" % (MAX_FRAME_BYTES + 1)])
def test_a_content_length_beyond_the_limit_is_refused_immediately(length: bytes) -> None:
    assert len(faults(read(b"Content-Length: " + length + b"\r\n\r\n"))) == 1
    assert read(b"Content-Length: %d\r\n\r\n" % MAX_FRAME_BYTES) == []


def test_a_header_quoted_in_a_json_string_is_not_a_header() -> None:
    quoting = {"text": "Content-Length: 5\r\n\r\nhello"}
    body = json.dumps(quoting).encode()

    assert read(encode_frame(body)) == [quoting]
    assert read(encode_frame(body + b"}") + GOOD_FRAME)[1:] == [GOOD]


def test_pretty_printed_json_with_empty_lines_is_accepted() -> None:
    assert read(encode_frame(b'{\r\n\r\n"a":\r\n\r\n1}')) == [{"a": 1}]


texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"))  # U+0000 is replaced.
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)


@given(st.lists(json_values, max_size=4), st.lists(st.integers(0, 400), max_size=8))
def test_any_values_are_read_at_any_split(values: list[Any], cuts: list[int]) -> None:
    data = b"".join(encode_frame(json.dumps(value).encode()) for value in values)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]

    assert read(*(data[a:b] for a, b in pairwise(places))) == values


pieces = st.sampled_from(
    [
        b"Content-Length", b"content-length", b": ", b":", b"5", b"7", b"60", b"-1", b"\r\n", b"\r\n\r\n",
        b"\n", b"Content-Type: x; charset=utf-16", BODY, b"{", b'"', b"x", b" ", GOOD_FRAME,
        b"Content-Length: 7\r\n\r\n",
    ]
)  # fmt: skip


@settings(max_examples=300)
@given(st.lists(pieces | st.binary(max_size=5), max_size=25).map(b"".join), st.data())
def test_any_garbage_gives_the_same_result_at_any_split(data: bytes, draw: st.DataObject) -> None:
    whole = read(data)
    cut = draw.draw(st.integers(0, len(data)))

    assert read_byte_by_byte(data) == whole
    assert read(data[:cut], data[cut:]) == whole


@given(st.binary(max_size=60))
def test_after_any_bytes_the_second_of_two_good_frames_is_read(garbage: bytes) -> None:
    assert read(garbage + GOOD_FRAME + GOOD_FRAME)[-1] == GOOD


def test_an_endless_header_and_endless_garbage_take_no_memory() -> None:
    chunk = b"a" * 65_536
    reader = MessageReader()
    reader.feed(b"X-Filler: ")
    tracemalloc.start()
    try:
        for _ in range(1024):
            reader.feed(chunk)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak < 1_000_000
    assert reader.feed(b"\r\n" + GOOD_FRAME) == [GOOD]


def test_a_frame_of_the_maximum_length_is_read_in_linear_time() -> None:
    body = b'"' + b"x" * (MAX_FRAME_BYTES - 2) + b'"'
    frame = memoryview(encode_frame(body))
    reader = MessageReader()
    started = time.process_time()
    out = [value for i in range(0, len(frame), 65_536) for value in reader.feed(bytes(frame[i : i + 65_536]))]

    assert [len(value) for value in out] == [MAX_FRAME_BYTES - 2]
    # This takes about 0.2 s; copying the buffer for each piece would take minutes.
    assert time.process_time() - started < 10


def test_many_frames_in_one_piece_are_read_in_linear_time() -> None:
    started = time.process_time()

    assert len(MessageReader().feed(encode_frame(BODY) * 200_000)) == 200_000
    assert time.process_time() - started < 20
