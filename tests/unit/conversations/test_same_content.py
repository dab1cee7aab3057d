"""The comparison of a client's blocks with those that the daemon has."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.chat import ToolResultBlock
from jumpseat.conversations.same_content import is_same_call, is_same_content
from tests.unit.conversations.support import call

pytestmark = pytest.mark.requirement("10:continue")

HUGE = 10**400
"""An integer that no double can hold. JavaScript reads it as infinity."""


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (True, True, True),
        (True, 1, False),
        (1, True, False),
        (False, 0, False),
        (False, 0.0, False),
        (False, None, False),
        (1, 1.0, True),
        (1, 2, False),
        (2**53 + 1, 2.0**53, True),
        (HUGE, HUGE + 1, True),
        (-HUGE, -HUGE - 1, True),
        (HUGE, -HUGE, False),
        (HUGE, 1e308, False),
        (HUGE, "1", False),
        ([], {}, True),
        ([0], {}, False),
        ([True], [1], False),
        ({"deep": [{"a": True}]}, {"deep": [{"a": 1}]}, False),
        ({"a": None}, {}, True),
    ],
)
def test_arguments_are_compared_as_a_client_writes_them_again(one: Any, other: Any, is_same: bool) -> None:
    for theirs, ours in ((one, other), (other, one)):
        assert is_same_call(call(value=theirs), call(value=ours)) is is_same


@pytest.mark.parametrize(
    ("one", "other", "is_same"), [(None, False, True), (None, True, False), (True, True, True)]
)
def test_a_result_without_is_error_is_no_error(one: bool | None, other: bool | None, is_same: bool) -> None:
    results = [ToolResultBlock("1", "a.py", is_error) for is_error in (one, other)]
    assert is_same_content("user", [results[0]], [results[1]]) is is_same
