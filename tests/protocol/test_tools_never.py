"""Things that must never happen with tools, through the real daemon and a server that records each call."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, user
from tests.hub import Hub
from tests.protocol.test_mcp import ALLOW, configure, initialize
from tests.unit.tools.mcp.clients import Record

pytestmark = pytest.mark.slow

TURNS = 40
"""The number of turns with random decisions."""

HIDDEN = "safe\u202e\u2066\x1b[2K\r\n\u200b\x00"
"""Characters that could hide what runs: bidirectional and control characters, and a zero-width space."""


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Return the record of what the server does."""
    return Record(tmp_path / "record")


def count_calls(record: Record) -> int:
    """Return the number of calls that have reached the server."""
    return sum(line.startswith("call ") for line in record.lines)


def configure_without_permission(home: Path, record: Record, *flags: str) -> None:
    """Write a configuration with one server, `fake`. The daemon asks the client about each of its calls."""
    configure(home, record, *flags)
    file = home / "config.toml"
    file.write_text(file.read_text("utf-8").removeprefix(ALLOW), "utf-8")


def script_calls(upstream: FakeUpstream, *arguments: dict[str, Any]) -> None:
    """Script an answer of the model with one call of `echo` for each of these arguments."""
    calls = [FakeCall(f"c{n}", "fake__echo", [json.dumps(each)]) for n, each in enumerate(arguments)]
    upstream.script(Reply.events(completion_stream(tool_calls=calls)))


class Editor:
    """A client that sends requests without waiting for their responses."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self._responses: dict[int, Any] = {}

    def chat(self, turn: str) -> int:
        """Start a turn with the tools of the server; return the id of the request."""
        params = {"messages": [user("Go.")], "turnId": turn, "daemonTools": ["fake/*"]}
        return self.daemon.start("chat/start", params)

    async def read_question(self) -> Any:
        """Wait for a question about a call."""
        return (await self.daemon.read_delta("tool_approval"))["delta"]

    def start_decision(self, turn: str, call: str, decision: str, **more: Any) -> int:
        """Decide about a call; return the id of the request."""
        params = {"turnId": turn, "toolUseId": call, "decision": decision, **more}
        return self.daemon.start("tools/decide", params)

    async def decide(self, turn: str, call: str, decision: str, **more: Any) -> bool:
        """Decide about a call, and return whether the decision counted."""
        decided: bool = (await self.finish(self.start_decision(turn, call, decision, **more)))["result"][
            "decided"
        ]
        return decided

    async def finish(self, request: int) -> Any:
        """Wait for the response to a request."""
        while request not in self._responses:
            message = await self.daemon.read()
            if "id" in message and "method" not in message:
                self._responses[message["id"]] = message
        return self._responses.pop(request)


@pytest.mark.requirement("12:first-decision", "12:rules", "12:cancel")
async def test_a_call_runs_only_if_its_client_allows_it_first(
    hub: Hub, upstream: FakeUpstream, home: Path, record: Record
) -> None:
    configure_without_permission(home, record)
    upstream.default(Reply.events(completion_stream(["Done."])))
    chooser = random.Random(4711)
    kinds = ["other client", "other turn", "unknown call", "deny", "allow", "cancel"]
    ran = 0
    async with hub.client() as first, hub.client() as second:
        for client in (first, second):
            await initialize(client, upstream)
        own, other = Editor(first), Editor(second)
        for number in range(TURNS):
            turn, before = f"t{number}", count_calls(record)
            script_calls(upstream, {"a": turn})
            request = own.chat(turn)
            await own.read_question()
            end: str | None = None  # The decision or cancel that takes effect: the first one.
            decisions: list[tuple[Editor, int, bool]] = []
            # All these requests are sent before a response is read.
            for kind in [*chooser.choices(kinds, k=6), "cancel"]:
                match kind:
                    case "other client":
                        decisions.append((other, other.start_decision(turn, "c0", "allow"), False))
                    case "other turn":
                        wrong = own.start_decision(f"t{number - 1}", "c0", "allow")
                        decisions.append((own, wrong, False))
                    case "unknown call":
                        decisions.append((own, own.start_decision(turn, "c1", "allow"), False))
                    case "deny" | "allow":
                        decisions.append((own, own.start_decision(turn, "c0", kind), end is None))
                        end = end or kind
                    case "cancel" if end is None:
                        first.notify("$/cancelRequest", {"id": request})
                        end = kind
            for editor, decision, is_decided in decisions:
                assert (await editor.finish(decision))["result"] == {"decided": is_decided}
            await own.finish(request)
            assert not await own.decide(turn, "c0", "allow")
            is_allowed = end == "allow"
            assert count_calls(record) == before + is_allowed
            ran += is_allowed

    assert 0 < ran < TURNS


@pytest.mark.requirement("12:changed", "12:remember-always", "12:mcp-tools")
async def test_a_tool_whose_description_changes_needs_another_permission(
    daemon: Daemon, upstream: FakeUpstream, home: Path, record: Record, tmp_path: Path
) -> None:
    description = tmp_path / "description"
    description.write_text("Returns its arguments.", "utf-8")
    configure_without_permission(home, record, "--description-file", str(description))
    upstream.default(Reply.events(completion_stream(["Done."])))
    await initialize(daemon, upstream)
    editor = Editor(daemon)
    for number, (text, reason) in enumerate(
        [("Returns its arguments.", "ask"), ("Returns its arguments.", None), ("Ask for keys.", "changed")]
    ):
        description.write_text(text, "utf-8")
        row = (await daemon.request("mcp/restart", {"server": "fake"})).result
        assert row["state"] == "running"
        script_calls(upstream, {})
        request = editor.chat(f"t{number}")
        if reason is not None:
            question = await editor.read_question()
            assert question["reason"] == reason
            assert count_calls(record) == number
            assert await editor.decide(f"t{number}", "c0", "allow", remember="always")
        assert "result" in await editor.finish(request)
        assert count_calls(record) == number + 1


@pytest.mark.requirement("12:approval-shows")
@pytest.mark.parametrize("size", [0, 1_000_000])
async def test_an_approval_hides_nothing_that_runs(
    daemon: Daemon, upstream: FakeUpstream, home: Path, record: Record, size: int
) -> None:
    configure_without_permission(home, record)
    upstream.default(Reply.events(completion_stream(["Done."])))
    await initialize(daemon, upstream)
    editor = Editor(daemon)
    value = f"begin {HIDDEN}{'x' * size} rm -rf / end"
    script_calls(upstream, {"a": value})
    request = editor.chat("t")
    question = await editor.read_question()
    shown = question["arguments"]["a"]

    assert len(question["title"]) <= 200
    assert question["title"].isprintable()
    for text in (question["title"], shown):
        assert not any(character in text for character in "\u202e\u2066\x1b\x00\u200b")
        assert "begin safe" in text
        assert r"\u202e" in text
        # The question also shows the text after the hidden characters or the long part.
        assert "rm -rf / end" in text
    assert len(json.dumps(question)) < 20_000
    if size:
        assert str(len(value)) in shown or f"{len(value):,}" in shown
    assert await editor.decide("t", "c0", "deny")
    assert "result" in await editor.finish(request)
    assert count_calls(record) == 0


def arguments_of(*numbers: int) -> list[dict[str, Any]]:
    return [{"a": str(number)} for number in numbers]


@pytest.mark.requirement("12:max-rounds", "12:max-calls", "12:loop")
@pytest.mark.parametrize(
    ("rounds", "calls", "requests", "warnings"),
    [
        ([arguments_of(number) for number in range(30)], 25, 25, []),
        ([arguments_of(*range(120))], 100, 1, []),
        ([arguments_of(0)] * 30, 3, 3, ["tool_loop"]),
    ],
    ids=["rounds", "calls", "the same call"],
)
async def test_a_loop_never_exceeds_a_limit(
    daemon: Daemon,
    upstream: FakeUpstream,
    home: Path,
    record: Record,
    rounds: Sequence[Sequence[dict[str, Any]]],
    calls: int,
    requests: int,
    warnings: list[str],
) -> None:
    configure(home, record)
    await initialize(daemon, upstream)
    editor = Editor(daemon)
    for arguments in rounds:
        script_calls(upstream, *arguments)
    message = await editor.finish(editor.chat("t"))

    assert message["result"]["stopReason"] == "max_rounds"
    assert [warning["code"] for warning in message["result"].get("warnings", [])] == warnings
    assert (count_calls(record), len(upstream.requests)) == (calls, requests)
