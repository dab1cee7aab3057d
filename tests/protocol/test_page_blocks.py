"""The daemon accepts and sends the messages that are on the protocol pages."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ProgressEvent
from jumpseat.rpc.deltas import Progress
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, user
from tests.fakes.ollama import FakeModel, FakeOllama
from tests.unit.pages import PROTOCOL, blocks, fences

FILE = """
[providers.fake]
kind = "openai"
base_url = "{base_url}"
default_model = "m"
[providers.groq]
kind = "openai"
base_url = "https://groq.invalid/v1"
default_model = "llama-3.3-70b-versatile"
proxy = "none"
max_retries = 0
[providers.ollama]
kind = "ollama"
base_url = "{origin}"
[fetch]
private = true
"""
HTML = b"""<title>Getting started</title>
<h1>Getting started</h1><p>Install the package:</p><pre>pip install example</pre>"""


class Outbox:
    """Collects the messages that would be sent."""

    def __init__(self) -> None:
        self.sent: list[Any] = []

    def notify(self, method: str, params: Any) -> None:
        self.sent.append(params)


def form(value: Any) -> Any:
    """Return a message with the names of types in place of its values, to compare messages by their form."""
    if isinstance(value, dict):
        return {key: form(each) for key, each in value.items()}
    if isinstance(value, list):
        return [form(each) for each in value]
    return type(value).__name__


async def check_delta(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    upstream.script(Reply.events(completion_stream(["Hel", "lo."])))
    exchange = await daemon.request("chat/start", {"messages": [user("Hi")], "turnId": "9f1c"})
    sent = [each for each in exchange.notifications if each["params"]["delta"]["type"] == "text_delta"]
    assert form(sent[0]) == form(shown)


async def check_result(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    upstream.script(Reply.events(completion_stream(["Hello!"])))
    exchange = await daemon.request("chat/start", {"messages": [user("Hi")], "turnId": "9f1c"})
    assert form(exchange.result) == form(shown)


async def check_edit(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    usage = {"prompt_tokens": 310, "completion_tokens": 9, "total_tokens": 319}
    answer = completion_stream(["```python\nif x:\n```"], usage=usage)
    upstream.script(
        Reply.events([{**each, "model": "m"} if isinstance(each, dict) else each for each in answer])
    )
    daemon.send(shown)
    (after,) = [json.loads(text) for text in fences(PROTOCOL, "json") if '"replacement"' in text]
    got = (await daemon.read_until(shown["id"])).result
    # These keys are optional. The page omits them, but the scripted provider sends the values.
    assert {"responseId", "rawStopReason"} <= got.keys()
    assert {key: value for key, value in got.items() if key not in ("responseId", "rawStopReason")} == after


async def check_edit_is_shown(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    """Check that the page also shows the request of this result; `check_edit` compares the result."""
    assert any('"edit/start"' in text for text in fences(PROTOCOL, "json"))


async def check_progress(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    outbox = Outbox()
    Progress(outbox, "t1").report(ProgressEvent(shown["value"]["title"]))
    assert outbox.sent == [shown]


async def check_settings(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    assert (await daemon.request("settings/save", shown)).result == shown
    assert (await daemon.request("settings/get")).result == shown


async def check_error(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    params = {"messages": [user("Hi")], "model": "groq:", "turnId": "9f1c"}
    daemon.send({"jsonrpc": "2.0", "id": 2, "method": "chat/start", "params": params})
    sent = (await daemon.read_until(2)).response
    assert json.loads(json.dumps(sent).replace("groq.invalid", "api.groq.com")) == shown


async def check_conversations(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    for _ in range(2):
        upstream.script(Reply.events(completion_stream(["Hi."])))
        await daemon.request("chat/start", {"messages": [user("A race condition?")], "keep": True})
    listed = (await daemon.request("conversations/list", {"query": "race condition", "limit": 1})).result
    assert form(listed) == form(shown)


async def check_page(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    upstream.script(Reply.raw(HTML, 200, "text/html"))
    fetched = (await daemon.request("context/fetch", {"url": f"{upstream.origin}/docs/start"})).result
    assert fetched["context"].pop("uri") == f"{upstream.origin}/docs/start"
    assert shown["context"].pop("uri").endswith("/docs/start")
    assert fetched == shown


async def check_completion(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    FakeOllama(upstream, [FakeModel("qwen2.5-coder:1.5b", capabilities=("completion", "insert"))])
    daemon.send(shown)
    (after,) = [json.loads(text) for text in fences(PROTOCOL, "json") if '"a + b"' in text]
    assert (await daemon.read_until(shown["id"])).result == after


async def check_completion_is_shown(daemon: Daemon, upstream: FakeUpstream, shown: Any) -> None:
    """Check that the page also shows the request of this result; `check_completion` compares the result."""
    assert any('"complete/start"' in text for text in fences(PROTOCOL, "json"))


CHECKS: dict[str, Callable[[Daemon, FakeUpstream, Any], Awaitable[None]]] = {
    '"chat/delta"': check_delta,
    '"responseId"': check_result,
    '"edit/start"': check_edit,
    '"replacement"': check_edit_is_shown,
    '"complete/start"': check_completion,
    '"a + b"': check_completion_is_shown,
    '"token"': check_progress,
    '"settings"': check_settings,
    '"error"': check_error,
    '"conversations"': check_conversations,
    '"context": {': check_page,
}
"""The function that checks a block, by a text that only this block contains.

Its parameter `shown` is the JSON in the block.
"""


@pytest.mark.parametrize("block", blocks(PROTOCOL, "json"), ids=str)
async def test_the_daemon_accepts_and_sends_the_messages_on_the_page(
    home: Path, daemon: Daemon, upstream: FakeUpstream, block: Any
) -> None:
    (check,) = [check for key, check in CHECKS.items() if key in block.text]
    (home / "config.toml").write_text(
        FILE.format(base_url=upstream.base_url, origin=upstream.origin), "utf-8"
    )
    await daemon.initialize()
    await daemon.request("settings/save", {"settings": {"default_provider": "fake"}})
    await check(daemon, upstream, json.loads(block.text))
