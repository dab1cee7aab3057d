"""The counts in the outline of a message; the fast part of its tests."""

from __future__ import annotations

import pytest

from jumpseat.wire import outline
from jumpseat.wire.outline import MAX_DEPTH, TOO_MANY, Outline, fault_in


def test_a_long_string_that_arrives_in_pieces_is_read_once() -> None:
    text = b"[" * MAX_DEPTH + b'"' + b"x" * 5000 + b'"' + b"]" * MAX_DEPTH
    reading = Outline()
    assert [reading.read(text, 0, end) for end in range(0, len(text), 1000)] == [None] * 7
    assert reading.read(text, 0, len(text)) is None


@pytest.mark.parametrize("value", [b"null", b"true", b"7", b'"x"', b"[]", b"{}"])
def test_values_of_each_kind_are_counted(monkeypatch: pytest.MonkeyPatch, value: bytes) -> None:
    monkeypatch.setattr(outline, "MAX_VALUES", 4)
    assert fault_in(b"[" + b",".join([value] * 3) + b"]") == (None, None)
    assert fault_in(b"[" + b",".join([value] * 4) + b"]") == (TOO_MANY, None)
