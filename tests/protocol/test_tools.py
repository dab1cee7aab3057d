"""Tools that the daemon runs, with the tool server of a plug-in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user
from tests.fakes import tool_plugin

APPROVES = {
    "experimental": {"jumpseat": {"approveTools": True, "unsaved": True}},
    "workspace": {"applyEdit": True},
}
WORKSPACE = {"uri": "file:///project", "name": "project"}
ALLOW = '[tools]\nallow = ["shed/*"]\n'


@pytest.fixture
async def shed(home: Path, upstream: FakeUpstream) -> AsyncIterator[Daemon]:
    """Start a daemon with the plug-in, without initializing it."""
    async with running_daemon(home, env=tool_plugin.install(home / "site")) as daemon:
        yield daemon


async def initialize(
    daemon: Daemon, upstream: FakeUpstream, capabilities: Mapping[str, Any] = APPROVES, **options: Any
) -> None:
    """Do the handshake of an editor with a workspace."""
    config = {**provider(upstream.base_url), **options.pop("config", {})}
    params = {
        "processId": None,
        "capabilities": capabilities,
        "workspaceFolders": [WORKSPACE],
        "initializationOptions": {"config": config},
    }
    await daemon.request("initialize", params)
    daemon.notify("initialized", {})


def script_call(upstream: FakeUpstream, name: str, call_id: str = "c1", **arguments: Any) -> None:
    """Script one answer of the model, which is a call."""
    call = FakeCall(call_id, name, [json.dumps(arguments)])
    upstream.script(Reply.events(completion_stream(tool_calls=[call])))


def script_text(upstream: FakeUpstream, text: str = "Done.") -> None:
    """Script one answer of the model, which is text."""
    upstream.script(Reply.events(completion_stream([text])))


async def start(daemon: Daemon, *messages: Any, **params: Any) -> int:
    """Start a chat with the tools of the plug-in, and return the id of the request."""
    asked = {"messages": list(messages) or [user("Go.")], "turnId": "t1", "daemonTools": ["shed/*"], **params}
    return daemon.start("chat/start", asked)


@pytest.mark.requirement("12:one-message", "12:result-blocks", "12:rounds-split")
async def test_a_chat_with_tools_returns_one_message_that_can_be_sent_back(
    shed: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    (home / "config.toml").write_text(ALLOW, "utf-8")
    await initialize(shed, upstream)
    script_call(upstream, "shed__echo", text="hello")
    script_text(upstream)
    first = await shed.read_until(await start(shed))

    result = first.result
    assert [block["type"] for block in result["content"]] == ["tool_use", "tool_result", "text"]
    assert result["content"][1] == {
        "type": "tool_result",
        "toolUseId": "c1",
        "content": "hello in ['/project']",
        "origin": {"provider": "daemon", "model": "shed/echo"},
    }
    assert (result["rounds"], result["toolCalls"], result["stopReason"]) == (2, [], "end_turn")
    assert (result["usage"]["inputTokens"], result["usage"]["outputTokens"]) == (20, 10)
    statuses = [delta["status"] for delta in first.deltas if delta["type"] == "tool_status"]
    assert statuses == ["running", "completed"]
    blocks = [
        delta["block"]
        for delta in first.deltas
        if delta["type"] in ("tool_use_done", "block_done", "text_done")
    ]
    assert blocks == [0, 1, 2]
    assert first.delta_types[0] == "start"
    assert first.delta_types[-1] == "done"

    script_text(upstream, "Bye.")
    again = [user("Go."), {"role": "assistant", "content": result["content"]}, user("Bye")]
    assert (await shed.read_until(await start(shed, *again, daemonTools=None))).result["text"] == "Bye."
    sent = upstream.requests[-1].json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "tool", "assistant", "user"]
    assert sent[2]["tool_call_id"] == "c1"


@pytest.mark.requirement("12:rules", "12:first-decision")
@pytest.mark.parametrize(
    ("decision", "text"), [("allow", "hello in ['/project']"), ("deny", "The user denied this call: No.")]
)
async def test_the_client_decides_about_a_call(
    shed: Daemon, upstream: FakeUpstream, decision: str, text: str
) -> None:
    await initialize(shed, upstream)
    script_call(upstream, "shed__echo", text="hello")
    script_text(upstream)
    request = await start(shed)
    question = (await shed.read_delta("tool_approval"))["delta"]
    assert question == {
        "type": "tool_approval",
        "toolUseId": "c1",
        "server": "shed",
        "tool": "echo",
        "title": 'shed/echo {"text":"hello"}',
        "kind": "read",
        "arguments": {"text": "hello"},
        "reason": "ask",
        "remember": ["turn", "always"],
    }
    decide = {"turnId": "t1", "toolUseId": "c1", "decision": decision, "message": "No."}
    shed.send({"jsonrpc": "2.0", "id": 1, "method": "tools/decide", "params": decide})
    shed.send({"jsonrpc": "2.0", "id": 2, "method": "tools/decide", "params": decide})
    answers, end = {}, None
    while end is None:
        message = await shed.read()
        if message.get("id") == request:
            end = message
        elif "id" in message:
            answers[message["id"]] = message["result"]

    assert answers == {1: {"decided": True}, 2: {"decided": False}}
    assert end["result"]["content"][1]["content"] == text


@pytest.mark.requirement("12:cannot-ask")
@pytest.mark.parametrize(("capabilities", "params"), [({}, {}), (APPROVES, {"stream": False})])
async def test_a_client_that_cannot_show_questions_is_denied(
    shed: Daemon, upstream: FakeUpstream, capabilities: dict[str, Any], params: dict[str, Any]
) -> None:
    await initialize(shed, upstream, capabilities)
    script_call(upstream, "shed__echo")
    script_text(upstream)
    result = (await shed.read_until(await start(shed, **params))).result

    assert result["content"][1]["isError"] is True
    assert "approval" in result["content"][1]["content"]


@pytest.mark.requirement("12:cancel", "12:continuation")
async def test_a_cancelled_turn_can_be_continued_with_its_partial(
    shed: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    (home / "config.toml").write_text(ALLOW, "utf-8")
    await initialize(shed, upstream)
    script_call(upstream, "shed__wait")
    request = await start(shed)
    await shed.read_delta("tool_status")
    shed.notify("$/cancelRequest", {"id": request})
    partial = (await shed.read_until(request)).error["data"]["partial"]
    assert [(block["type"], block.get("content")) for block in partial["content"]] == [
        ("tool_use", None),
        ("tool_result", "Cancelled."),
    ]

    script_text(upstream, "Never mind.")
    messages = [user("Go."), {"role": "assistant", "content": partial["content"]}]
    result = (await shed.read_until(await start(shed, *messages))).result
    assert [block["type"] for block in result["content"]] == ["text"]


@pytest.mark.requirement("12:unsaved")
async def test_unsaved_text_is_replaced_in_the_editor_at_its_version(
    shed: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    (home / "config.toml").write_text(ALLOW, "utf-8")
    await initialize(shed, upstream)
    uri = "file:///project/a.py"
    script_call(upstream, "shed__replace", uri=uri, text="one\nTWO\u2028x\nthree\n")
    script_text(upstream)
    request = await start(shed)
    asked: list[Any] = []
    while True:
        message = await shed.read()
        if message.get("id") == request:
            break
        if "id" in message:
            asked.append((message["method"], message["params"]))
            documents = [{"uri": uri, "version": 7, "text": "one\ntwo\u2028x\nthree\n"}]
            answers = {
                "workspace/unsaved": {"documents": documents},
                "workspace/applyEdit": {"applied": True},
            }
            shed.send({"jsonrpc": "2.0", "id": message["id"], "result": answers[message["method"]]})

    edit = {
        "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}},
        "newText": "TWO\u2028x\n",
    }
    change = {"textDocument": {"uri": uri, "version": 7}, "edits": [edit]}
    assert asked == [
        ("workspace/unsaved", {"uris": [uri]}),
        ("workspace/applyEdit", {"edit": {"documentChanges": [change]}}),
    ]
    assert message["result"]["content"][1]["content"] == "replaced"


@pytest.mark.requirement("12:list")
async def test_the_list_has_tools_and_servers(shed: Daemon, upstream: FakeUpstream, home: Path) -> None:
    (home / "config.toml").write_text('[tools]\nallow = ["shed/echo"]\ndeny = ["shed/wait"]\n', "utf-8")
    await initialize(shed, upstream)
    listed = (await shed.request("tools/list", {})).result

    tools = [tool for tool in listed["tools"] if tool["server"] == "shed"]
    assert [(tool["tool"], tool["decision"]) for tool in tools] == [
        ("echo", "allow"),
        ("wait", "deny"),
        ("replace", "ask"),
    ]
    assert tools[0]["title"] == "Echo"
    assert tools[0]["parameters"] == {"type": "object"}
    assert tools[0]["tokens"] > 0
    servers = {server["name"]: server for server in listed["servers"]}
    assert servers["shed"] == {"name": "shed", "origin": "builtin", "state": "running", "definition": "shed"}


@pytest.mark.requirement("12:selectors")
async def test_an_unknown_server_is_refused_before_the_turn_starts(
    shed: Daemon, upstream: FakeUpstream
) -> None:
    await initialize(shed, upstream)
    exchange = await shed.read_until(await start(shed, daemonTools=["shet/*"]))

    assert exchange.error["code"] == -32602
    assert exchange.error["data"]["errors"][0]["path"] == "daemonTools.0"
    assert "shed" in exchange.error["message"]
    assert exchange.deltas == []


@pytest.mark.requirement("12:tools-ignored")
async def test_edits_and_counts_ignore_tools_with_a_warning(shed: Daemon, upstream: FakeUpstream) -> None:
    await initialize(shed, upstream)
    script_text(upstream, "```\nx\n```")
    target = {"type": "context", "text": "y"}
    edit = await shed.request("edit/start", {"instruction": "x", "target": target, "daemonTools": ["shed/*"]})
    counted = await shed.request("chat/countTokens", {"messages": [user("Hi")], "daemonTools": ["no/*"]})

    assert [warning["code"] for warning in edit.result["warnings"]] == ["tools_ignored"]
    assert [warning["code"] for warning in counted.result["warnings"]] == ["tools_ignored"]
    assert "tools" not in upstream.requests[0].json


@pytest.mark.requirement("12:overlay-rules")
@pytest.mark.parametrize(
    "tools", [{"allow": ["shed/*"]}, {"max_rounds": 26}, {"call_seconds": 121.0}, {"unknown": 1}]
)
async def test_an_overlay_cannot_allow_calls_or_raise_limits(
    shed: Daemon, upstream: FakeUpstream, tools: dict[str, Any]
) -> None:
    params = {"processId": None, "capabilities": {}, "initializationOptions": {"config": {"tools": tools}}}
    error = (await shed.request("initialize", params)).error

    assert (error["code"], f"tools.{next(iter(tools))}" in error["message"]) == (1010, True)


@pytest.mark.requirement("12:overlay-rules")
async def test_an_overlay_can_require_questions_deny_calls_and_lower_limits(
    shed: Daemon, upstream: FakeUpstream, home: Path
) -> None:
    (home / "config.toml").write_text(ALLOW, "utf-8")
    await initialize(
        shed, upstream, config={"tools": {"ask": ["shed/echo"], "deny": ["shed/wait"], "max_rounds": 1}}
    )
    listed = (await shed.request("tools/list", {})).result
    assert [tool["decision"] for tool in listed["tools"] if tool["server"] == "shed"] == [
        "ask",
        "deny",
        "allow",
    ]
