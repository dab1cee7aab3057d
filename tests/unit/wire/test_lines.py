"""Lines of JSON: any split of the input, any garbage, and the limit of a line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jumpseat.wire import Invalid, LineReader, Malformed, encode_line, write_json
from jumpseat.wire.lines import TooLongLine

VALUES = [{"a": "ä\n"}, [1, 2], "text", {"id": 7}]


@given(st.lists(st.integers(0, 60), max_size=8))
def test_the_values_do_not_depend_on_how_the_input_is_split(cuts: list[int]) -> None:
    data = b"".join(encode_line(write_json(value)) for value in VALUES)
    reader, read, at = LineReader(), [], 0
    for cut in [*sorted(cuts), len(data)]:
        read += reader.feed(data[at:cut])
        at = max(at, cut)

    assert read == VALUES


def test_a_value_is_one_line() -> None:
    assert encode_line(write_json({"text": "two\nlines"})).count(b"\n") == 1


@pytest.mark.parametrize("line", [b"garbage", b"\xff", b'{"a":', b"NaN"])
def test_a_line_that_is_not_json_is_reported_and_the_next_one_is_read(line: bytes) -> None:
    first, second = LineReader().feed(line + b"\n{}\n")

    assert isinstance(first, Malformed)
    assert second == {}


def test_blank_lines_are_skipped() -> None:
    assert LineReader().feed(b"\n\r\n  \n{}\r\n") == [{}]


def test_a_line_beyond_the_limit_is_reported_once_and_the_next_one_is_read() -> None:
    reader = LineReader(10)
    read: list[Any] = [value for _ in range(5) for value in reader.feed(b"x" * 8)]
    read += reader.feed(b"x\n{}\n" + b"y" * 11 + b"\n[]\n")

    assert [type(value) for value in read] == [TooLongLine, dict, TooLongLine, list]


def test_a_value_beyond_a_limit_keeps_the_id_of_its_request() -> None:
    deep = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "m"})[:-1].encode()
    (value,) = LineReader().feed(deep + b',"params":' + b"[" * 700 + b"]" * 700 + b"}\n")

    assert isinstance(value, Invalid)
    assert value.id == 7
