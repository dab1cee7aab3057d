"""Notifications that are dropped before the SDK reads them."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.tools.mcp.notifications import is_used
from jumpseat.wire import Invalid

pytestmark = pytest.mark.requirement("12:mcp-bad-servers")


@pytest.mark.parametrize(
    ("message", "used"),
    [
        ({"jsonrpc": "2.0", "method": "notifications/message", "params": {}}, False),
        ({"jsonrpc": "2.0", "method": "notifications/resources/updated"}, False),
        ({"jsonrpc": "2.0", "method": ["x"]}, False),
        ({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}, True),
        ({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}, True),
        ({"jsonrpc": "2.0", "method": "sampling/createMessage", "id": 1}, True),
        ({"jsonrpc": "2.0", "id": 1, "result": {}}, True),
        ({}, True),
        ([], True),
        (Invalid(1, "It is too large."), True),
    ],
)
def test_only_notifications_without_a_use_are_dropped(message: Any, used: bool) -> None:
    assert is_used(message) == used
