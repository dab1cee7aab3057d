"""Recorded answers of many servers, replayed to one real daemon, which a client asks over the protocol.

Each row of `DIALECTS` is one dialect. The recordings are next to the repository. The tests of a row are
skipped if the recordings or the row's kind of provider are missing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from jumpseat.chat.json_form import to_json_form
from jumpseat.conversations import ConversationStore, conversations_directory
from jumpseat.providers.registry import KINDS
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, Exchange, running_daemon, user
from tests.recorded.recordings import TRANSCRIPTS, Recording, recordings

pytestmark = pytest.mark.slow

Counts = dict[str, Any]


def add_reasoning(usage: Counts) -> Counts:
    """Add the reasoning to an output that does not include it, such as xAI's, as the daemon does."""
    if (usage.get("reasoning") or 0) > usage.get("output", 0):
        return {**usage, "output": usage["output"] + usage["reasoning"]}
    return usage


def add_cached(usage: Counts) -> Counts:
    """Add the cached tokens to the input, as the daemon does. Anthropic's input does not include them."""
    cached = (usage.get("cache_read") or 0) + (usage.get("cache_write") or 0)
    return {**usage, "input": usage["input"] + cached} if "input" in usage else usage


@dataclass(frozen=True)
class Dialect:
    """The configuration of a provider kind, and how the recordings of its dialect count tokens."""

    api: str
    path: str
    """The path of a chat; every other path of the fake server is a 404."""

    base_path: str
    """The path of the provider's `base_url`."""

    usage: Callable[[Counts], Counts] = lambda usage: usage
    """Converts the recorded counts to those that the daemon reports."""


DIALECTS = {
    "openai": Dialect("chat", "/v1/chat/completions", "/v1", add_reasoning),
    "openai-responses": Dialect("responses", "/v1/responses", "/v1"),
    "anthropic": Dialect("anthropic", "/v1/messages", "", add_cached),
    "ollama": Dialect("ollama", "/api/chat", ""),
}

SEVERAL_ANSWERS = (
    "the file has several answers and the last is expected, but a connection has only one answer"
)

ALLOWED: dict[tuple[str, str], str] = {
    ("openai__github-copilot-id-rotation.1.chunks-01", "response_id"): (
        "each event has a different id; jumpseat takes the first, and the last is expected"
    ),
    ("openai__openai-shell-container.1.chunks-01", "text"): (
        "the deltas differ from the text of the last event; streamed text cannot be taken back"
    ),
    (
        "openai__openai-custom-tool.1.chunks-01",
        "tool_calls",
    ): "free text is not a JSON object; it is in `raw`",
    ("openai__openai-custom-tool.1.json-01", "tool_calls"): "free text is not a JSON object; it is in `raw`",
    ("openai__parallel-tool-call-wrapper.1.chunks-01", "model"): (
        "the events that name the model are not JSON, so the result names the requested model"
    ),
    **{
        (name, "usage"): "the daemon counts every iteration, and only the last is expected"
        for name in (
            "anthropic__anthropic-compaction.1.chunks-01",
            "anthropic__anthropic-fallback.chunks-01",
            "anthropic__anthropic-fallback.json-01",
        )
    },
    **{
        (name, field): SEVERAL_ANSWERS
        for name in (
            "azure__azure-reasoning-encrypted-content.1.chunks-01",
            "openai__openai-reasoning-encrypted-content.1.chunks-01",
            "openai__openai-shell-tool.1.chunks-01",
        )
        for field in ("text", "thinking", "tool_calls", "usage", "model", "response_id")
    },
    ("openai__TestClient_FunctionCall-01", "tool_calls"): (
        "no call is expected; the daemon reads the old function_call as a call and generates its id"
    ),
}
"""The allow-list: expected values that are wrong, by recording and field, each with the reason."""

COUNTS = {
    "input": "inputTokens",
    "output": "outputTokens",
    "cache_read": "cacheReadTokens",
    "cache_write": "cacheCreationTokens",
    "reasoning": "reasoningTokens",
}

ARRIVALS = {"streamed whole": (True, None), "streamed in slices": (True, 7), "not streamed": (False, None)}
"""By name: whether the client asks for a stream, and the size in bytes of the slices that it gets, if any."""

CASES = [
    pytest.param(kind, each, arrival, id=f"{kind}-{each.name}-{arrival}")
    for kind, dialect in DIALECTS.items()
    if kind in KINDS
    for each in recordings(dialect.api)
    for arrival, (stream, _) in ARRIVALS.items()
    if stream or not each.streamed
]

needs_recordings = pytest.mark.skipif(not TRANSCRIPTS.is_dir(), reason=f"no recordings at {TRANSCRIPTS}")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[FakeUpstream]:
    async with FakeUpstream() as running:
        running.default(Reply.json({"error": {"message": "not recorded"}}, 404))
        yield running


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def daemon(server: FakeUpstream, home: Path) -> AsyncIterator[Daemon]:
    """Start one daemon for all recordings. It has one provider for each kind, and they never retry."""
    tables = {
        kind: {"kind": kind, "base_url": f"{server.origin}{DIALECTS[kind].base_path}", "max_retries": 0}
        for kind in DIALECTS
        if kind in KINDS
    }
    async with running_daemon(home) as daemon:
        await daemon.initialize({"providers": tables})
        yield daemon


def summary_of(result: dict[str, Any]) -> dict[str, Any]:
    """Return a result in the terms of `expected.json`."""
    counted = result.get("usage", {})
    usage = {name: counted.get(key) for name, key in COUNTS.items()}
    if "cost" in counted:
        usage["cost"] = counted["cost"]["amount"]
    return {
        "text": result["text"],
        "thinking": "".join(each["thinking"] for each in result["content"] if each["type"] == "thinking"),
        "tool_calls": [
            {"id": call["id"], "name": call["name"], "arguments": call["arguments"], "raw": call["raw"]}
            for call in result["toolCalls"]
        ],
        "stop_reason": result.get("rawStopReason"),
        "usage": usage,
        "model": result["model"],
        "response_id": result.get("responseId"),
    }


def expected_result(recording: Recording, dialect: Dialect, got: dict[str, Any]) -> dict[str, Any]:
    """Return the expected result of the recording, from `expected.json` and the allow-list."""
    expected = recording.expected
    values = {name: expected[name] for name in got if name in expected}
    # Arguments have no raw text if they arrived as an object or are absent.
    raws = [call["raw"] for call in got["tool_calls"]] + [""] * len(expected["tool_calls"])
    values["tool_calls"] = [
        {
            "id": call["id"],
            "name": call["name"],
            "arguments": call["arguments"],
            "raw": raw if call["arguments_raw"] is None else call["arguments_raw"],
        }
        for call, raw in zip(expected["tool_calls"], raws, strict=False)
    ]
    usage = dialect.usage(dict(expected.get("usage") or {}))
    values["usage"] = {**got["usage"], **{name: usage[name] for name in usage if name in got["usage"]}}
    return {name: got[name] if (recording.name, name) in ALLOWED else value for name, value in values.items()}


def assert_kept(home: Path, exchange: Exchange) -> None:
    """Check that the kept messages are the request's messages and the answer."""
    failed = "error" in exchange.response
    answer = exchange.error["data"]["partial"] if failed else exchange.result
    kept = ConversationStore(conversations_directory(home)).get(answer["conversationId"])
    sent = {"role": "user", "content": [{"type": "text", "text": "Hi"}]}
    content = answer["content"]
    reply = [{"role": "assistant", "content": content}] if content or not failed else []
    assert to_json_form(kept.messages) == [sent, *reply]


@needs_recordings
@pytest.mark.requirement("10:byte-for-byte")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("kind", "recording", "arrival"), CASES)
async def test_a_recorded_answer_through_the_daemon_has_its_expected_result_and_is_kept(
    server: FakeUpstream, daemon: Daemon, home: Path, kind: str, recording: Recording, arrival: str
) -> None:
    stream, size = ARRIVALS[arrival]
    dialect = DIALECTS[kind]
    reply = Reply(
        (recording.body,),
        recording.status,
        {**recording.headers, "content-type": recording.content_type},
        chunked=recording.streamed,
        # Every slice is one write, so a long answer needs larger slices to be quick.
        slice_size=size and max(size, len(recording.body) // 2000),
    )
    # This is a default, not a script, because after some refusals the daemon makes another attempt.
    server.default(reply, path=dialect.path)
    params = {"messages": [user("Hi")], "model": f"{kind}:{recording.model}", "stream": stream, "keep": True}
    exchange = await daemon.request("chat/start", params)
    assert_kept(home, exchange)

    if recording.fails:
        assert recording.expected["error"]["message"][:100] in exchange.error["message"]
        has_error_status = recording.status >= 400
        assert exchange.error["data"].get("statusCode") == (recording.status if has_error_status else None)
        return
    got = summary_of(exchange.result)
    expected = expected_result(recording, dialect, got)
    assert {name: got[name] for name in expected} == expected
    if stream:
        texts = [delta["text"] for delta in exchange.deltas if delta["type"] == "text_delta"]
        assert "".join(texts) == got["text"]
        assert exchange.delta_types[0] == "start"
        assert exchange.delta_types[-1] == "done"


@needs_recordings
@pytest.mark.parametrize("kind", DIALECTS)
def test_the_kind_of_provider_has_recordings(kind: str) -> None:
    if kind not in KINDS:
        pytest.skip(f"there is no provider kind {kind!r} yet")
    assert recordings(DIALECTS[kind].api)


@needs_recordings
def test_the_allow_list_names_existing_recordings() -> None:
    names = {each.name for dialect in DIALECTS.values() for each in recordings(dialect.api)}
    assert {name for name, _ in ALLOWED} <= names
