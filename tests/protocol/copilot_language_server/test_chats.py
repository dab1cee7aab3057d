"""Chats with the Copilot language server through the real daemon, as a client sees them."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.daemon import Daemon, user
from tests.fakes.language_server import FakeLanguageServer
from tests.fakes.language_server_answers import begin, end, round_reply, token_usage, turn
from tests.protocol.copilot_language_server.daemons import CLS, KIND, chat, read_row, start_daemon

pytestmark = pytest.mark.slow


@pytest.mark.requirement("language-server:conversation", "language-server:second-turn")
async def test_a_second_question_continues_the_conversation_at_the_server(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    status = (await served.request("auth/status", CLS)).result
    models = (await served.request("models/list", CLS)).result["models"]
    first = await chat(served, system="Be brief.")
    history = [user("Hi"), {"role": "assistant", "content": first.result["content"]}, user("And now?")]
    second = await chat(served, *history, system="Be brief.")

    assert (status["state"], status["login"], status["plan"]) == ("signed_in", "octocat", "individual")
    shown = [model["id"] for model in models if model["pickerEnabled"]]
    assert shown == ["cls:gpt-4.1", "cls:claude-sonnet-4.6"]
    assert first.result["text"].endswith("Hi")
    assert first.delta_types[0] == "start"
    assert first.delta_types.count("text_delta") >= 1
    assert first.delta_types[-1] == "done"
    assert first.result["stopReason"] == "end_turn"
    assert (first.result["usage"]["inputTokens"], first.result["usage"]["outputTokens"]) == (10, 5)
    assert "warning" not in first.delta_types + second.delta_types
    (created,) = fake.params("conversation/create")
    assert (created["model"], created["modelInfo"]["id"]) == ("gpt-4.1", "gpt-4.1")
    assert created["computeSuggestions"] is False
    (went_on,) = fake.params("conversation/turn")
    assert (went_on["message"], went_on["model"]) == ("And now?", "gpt-4.1")
    assert second.result["text"] == "You said: And now?"
    assert len(fake.starts) == 1


@pytest.mark.requirement("language-server:conversation")
async def test_an_answer_is_streamed_while_it_arrives(served: Daemon, fake: FakeLanguageServer) -> None:
    rest = asyncio.Event()
    fake.on(
        "conversation/create",
        turn(fake, begin(), round_reply("Hel"), rest, round_reply("lo"), token_usage(), end()),
    )
    request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})

    piece = await served.read_delta("text_delta")
    rest.set()
    exchange = await served.read_until(request_id)

    assert piece["delta"]["text"] == "Hel"
    assert exchange.result["text"] == "Hello"


@pytest.mark.requirement("language-server:completion")
async def test_an_answer_through_a_completion_arrives_as_one_delta(
    home: Path, fake: FakeLanguageServer
) -> None:
    async with start_daemon(home, fake, chat_api="completion") as daemon:
        exchange = await daemon.request("chat/start", {"messages": [user("Hi")]})

    assert exchange.result["text"] == "A completion."
    assert exchange.delta_types == ["start", "response", "text_start", "text_delta", "text_done", "done"]
    assert exchange.result["model"] == "gpt-41-copilot"
    (opened,) = fake.params("textDocument/didOpen")
    closed = await fake.wait_for("textDocument/didClose")
    assert "Hi" in opened["textDocument"]["text"]
    assert closed["textDocument"]["uri"] == opened["textDocument"]["uri"]
    assert "conversation/create" not in fake.methods


@pytest.mark.requirement("language-server:auto")
async def test_chats_with_a_server_that_lacks_conversations_become_completions(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    unknown = RpcError(METHOD_NOT_FOUND, "Method not found")
    for method in ("conversation/create", "conversation/turn", "conversation/destroy"):
        fake.on(method, unknown)
    before = await read_row(served)

    exchange = await chat(served)
    after = await read_row(served)
    again = await chat(served)

    assert exchange.result["text"] == "A completion."
    changes = [each for each in exchange.notifications if each["method"] == "providers/didChange"]
    assert len(changes) == 1
    assert "providers/didChange" not in [each["method"] for each in again.notifications]
    assert before["capabilities"]["streaming"] is True
    assert after["capabilities"]["streaming"] is False
    assert after["capabilities"]["vision"] is False


@pytest.mark.requirement("language-server:capabilities")
@pytest.mark.parametrize(
    ("chat_api", "can"),
    [
        ("auto", {"streaming", "vision", "thinking"}),
        ("conversation", {"streaming", "vision", "thinking"}),
        ("completion", set()),
    ],
)
async def test_each_route_is_listed_with_its_capabilities(
    home: Path, fake: FakeLanguageServer, chat_api: str, can: set[str]
) -> None:
    async with start_daemon(home, fake, chat_api=chat_api) as daemon:
        row = await read_row(daemon)
        probed = await read_row(daemon, probe=True)

    assert {name for name, value in row["capabilities"].items() if value} == can
    assert {name for name, value in probed["capabilities"].items() if value} == can
    assert probed["capabilitySources"]["streaming"] == "probe"
    assert (row["kind"], row["configured"], row["auth"]["state"]) == (KIND, True, "signed_in")
    assert [setting["key"] for setting in row["settingsSchema"]] == ["thinking"]


@pytest.mark.requirement("language-server:capabilities-refused")
async def test_a_chat_with_tools_is_refused_before_any_request_to_the_server(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    tool = {"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}}

    error = (await chat(served, tools=[tool])).error

    assert (error["code"], error["data"]["kind"]) == (1004, "request")
    assert "conversation/create" not in fake.methods


@pytest.mark.requirement("language-server:capabilities-refused")
async def test_each_part_of_a_chat_that_is_left_out_causes_a_warning(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    exchange = await chat(served, outputMode="json", stopSequences=["END"])

    codes = [delta["code"] for delta in exchange.deltas if delta["type"] == "warning"]
    assert sorted(codes) == ["json_mode_dropped", "parameter_dropped"]
    assert exchange.result["stopReason"] == "end_turn"


@pytest.mark.requirement("language-server:cancel")
async def test_a_cancel_ends_the_request_to_the_server_and_keeps_the_partial(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), asyncio.Event()))
    request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
    await served.read_delta("text_delta")

    served.notify("$/cancelRequest", {"id": request_id})
    exchange = await served.read_until(request_id)
    cancelled = await fake.wait_for("$/cancelRequest")

    (created,) = (each for each in fake.received if each.get("method") == "conversation/create")
    assert cancelled == {"id": created["id"]}
    assert exchange.error["code"] == -32800
    assert exchange.error["data"]["partial"]["text"] == "Hel"
    assert len(fake.starts) == 1
