"""A mistyped name never sends a prompt to another vendor."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import FakeUpstream
from tests.daemon import Daemon, user

MISTYPED = "anthropic:claude-sonnet-4-5"


@pytest.mark.requirement("4:mistyped-prefix")
async def test_a_vendor_that_is_not_set_up_is_neither_used_nor_saved(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    chat = await chatty.request("chat/start", {"messages": [user("A secret.")], "model": MISTYPED})
    assert (chat.error["code"], chat.error["data"]["kind"]) == (1004, "request")
    assert "'anthropic', which is not a provider" in chat.error["message"]
    assert chat.deltas == []
    assert upstream.requests == []

    saved = await chatty.request("settings/save", {"settings": {"default_model": MISTYPED, "max_tokens": 0}})
    assert saved.error["code"] == -32602
    assert {each["path"] for each in saved.error["data"]["errors"]} == {
        "settings.default_model",
        "settings.max_tokens",
    }
    assert (await chatty.request("settings/get")).result == {"settings": {"providers": {}}}
