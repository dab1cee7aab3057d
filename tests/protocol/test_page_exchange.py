"""The exchange at the start of the protocol page: the daemon sends exactly the frames on the page."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat import __version__
from jumpseat.testing.answers.chat_completions import MODEL, FakeCall, chunk, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon
from tests.unit.pages import TO_DAEMON, exchange

CALL = FakeCall("call_1", "get_weather", ('{"city": "Rome"}',))


@pytest.mark.requirement("2:exchange")
async def test_the_daemon_sends_exactly_the_frames_of_the_page(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    (home / "config.toml").write_text(
        'default_provider = "example"\n[providers.example]\nkind = "openai"\n'
        f'base_url = "{upstream.base_url}"\ndefault_model = "{MODEL}"\n',
        "utf-8",
    )
    # The daemon joins pieces that arrive together, so the second piece waits until the first delta is read.
    seen, never = Gate(), Gate()
    first, *others = completion_stream(["It is ", "sunny."])[1:]
    upstream.script(
        Reply.events(completion_stream(["Let me look. "], tool_calls=[CALL])),
        Reply.events([first, seen, *others]),
        Reply.events([chunk({"content": "Once upon "}), never]),
    )

    for direction, message in exchange():
        if direction == TO_DAEMON:
            daemon.send(message)
            continue
        if message.get("id") == 1:
            message["result"]["serverInfo"]["version"] = __version__
        assert await daemon.read() == message
        if message.get("params", {}).get("delta", {}).get("text") == "It is ":
            seen.open()

    assert await daemon.exit_code() == 0
    assert len(upstream.requests) == 3
