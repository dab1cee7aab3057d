"""The Copilot language server behind the real daemon: what a client sees of it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.copilot_language_server.identity import STATUS_SECONDS
from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.attempts import ATTEMPTS, is_quick
from tests.daemon import Daemon, Exchange, running_daemon, user
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.fakes.language_server_answers import (
    DEVICE_FLOW,
    MODELS,
    begin,
    end,
    round_reply,
    token_usage,
    turn,
)

KIND = "copilot-language-server"
CLS = {"provider": "cls"}
PANEL = "textDocument/copilotPanelCompletion"
SECRET = "gho_thisIsTheChildsOwnSecret0123456789"


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


def configure(home: Path, fake: FakeLanguageServer | None, **more: Any) -> None:
    """Write a configuration whose one provider is `cls`."""
    table = {"kind": KIND, **({} if fake is None else {"command": fake.command}), **more}
    lines = [f"{key} = {json.dumps(value)}" for key, value in table.items()]
    (home / "config.toml").write_text("\n".join(["[providers.cls]", *lines, ""]), "utf-8")


@contextlib.asynccontextmanager
async def started(
    home: Path, fake: FakeLanguageServer | None, *flags: str, **table: Any
) -> AsyncIterator[Daemon]:
    """An initialized daemon whose one provider is `cls`."""
    configure(home, fake, **table)
    async with running_daemon(home, *flags) as daemon:
        await daemon.initialize()
        yield daemon


@pytest.fixture
async def served(home: Path, fake: FakeLanguageServer) -> AsyncIterator[Daemon]:
    async with started(home, fake) as daemon:
        yield daemon


async def chat(daemon: Daemon, *messages: Any, **params: Any) -> Exchange:
    asked = {"messages": list(messages) or [user("Hi")], "model": "cls:gpt-4.1", **params}
    return await daemon.request("chat/start", asked)


async def told(daemon: Daemon, method: str) -> Any:
    """The params of the next notification of this method."""
    while (message := await daemon.read()).get("method") != method:
        assert "method" in message, message
    return message["params"]


async def listed(daemon: Daemon, **params: Any) -> dict[str, Any]:
    """The row of the provider."""
    rows = (await daemon.request("providers/list", params)).result["providers"]
    return next(row for row in rows if row["id"] == "cls")


# -- chats


@pytest.mark.requirement("language-server:conversation", "language-server:second-turn")
async def test_a_whole_conversation_from_the_first_question_to_the_second_answer(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    status = (await served.request("auth/status", CLS)).result
    models = (await served.request("models/list", CLS)).result["models"]
    first = await chat(served, system="Be brief.")
    history = [user("Hi"), {"role": "assistant", "content": first.result["content"]}, user("And now?")]
    second = await chat(served, *history, system="Be brief.")

    assert (status["state"], status["login"], status["plan"]) == ("signed_in", "octocat", "individual")
    assert [model["id"] for model in models] == ["cls:gpt-4.1", "cls:claude-sonnet-4.6"]
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
async def test_an_answer_is_told_while_it_comes(served: Daemon, fake: FakeLanguageServer) -> None:
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
async def test_a_completion_is_one_piece(home: Path, fake: FakeLanguageServer) -> None:
    async with started(home, fake, chat_api="completion") as daemon:
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
async def test_a_server_without_conversations_completes_and_says_so_from_then_on(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    unknown = RpcError(METHOD_NOT_FOUND, "Method not found")
    for method in ("conversation/create", "conversation/turn", "conversation/destroy"):
        fake.on(method, unknown)
    before = await listed(served)

    exchange = await chat(served)
    after = await listed(served)
    again = await chat(served)

    assert exchange.result["text"] == "A completion."
    told = [each for each in exchange.notifications if each["method"] == "providers/didChange"]
    assert len(told) == 1
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
async def test_each_way_is_listed_with_what_it_can_do(
    home: Path, fake: FakeLanguageServer, chat_api: str, can: set[str]
) -> None:
    async with started(home, fake, chat_api=chat_api) as daemon:
        row = await listed(daemon)
        probed = await listed(daemon, probe=True)

    assert {name for name, value in row["capabilities"].items() if value} == can
    assert {name for name, value in probed["capabilities"].items() if value} == can
    assert probed["capabilitySources"]["streaming"] == "probe"
    assert (row["kind"], row["configured"], row["auth"]["state"]) == (KIND, True, "signed_in")
    assert [setting["key"] for setting in row["settingsSchema"]] == ["thinking"]


@pytest.mark.requirement("language-server:capabilities")
async def test_tools_are_refused_before_anything_is_sent(served: Daemon, fake: FakeLanguageServer) -> None:
    tool = {"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}}

    error = (await chat(served, tools=[tool])).error

    assert (error["code"], error["data"]["kind"]) == (1004, "request")
    assert "conversation/create" not in fake.methods


@pytest.mark.requirement("language-server:capabilities")
async def test_what_is_left_out_of_a_chat_is_said(served: Daemon, fake: FakeLanguageServer) -> None:
    exchange = await chat(served, outputMode="json", stopSequences=["END"])

    codes = [delta["code"] for delta in exchange.deltas if delta["type"] == "warning"]
    assert sorted(codes) == ["json_mode_dropped", "parameter_dropped"]
    assert exchange.result["stopReason"] == "end_turn"


# -- who is signed in


@pytest.mark.requirement("language-server:sign-in", "language-server:sign-out", "language-server:did-change")
async def test_a_person_signs_in_with_a_code_chats_and_signs_out(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.status = {"status": "NotSignedIn"}
    approved = asyncio.Event()

    async def confirm(params: Any) -> Any:
        await approved.wait()
        fake.status = {"status": "OK", "user": "octocat"}
        return fake.status

    fake.on("signInConfirm", confirm)
    before = (await served.request("auth/status", CLS)).result
    request_id = served.start("auth/signIn", {**CLS, "token": "mine"})
    prompt = await told(served, "auth/prompt")
    approved.set()
    signing_in = await served.read_until(request_id)
    answer = await chat(served)
    out = (await served.request("auth/signOut", CLS)).result

    assert before["state"] == "signed_out"
    assert "jumpseat login --provider cls" in before["message"]
    assert (prompt["requestId"], prompt["token"], prompt["provider"]) == (request_id, "mine", "cls")
    assert (prompt["userCode"], prompt["verificationUri"]) == (
        DEVICE_FLOW["userCode"],
        DEVICE_FLOW["verificationUri"],
    )
    assert prompt["expiresAt"].endswith("Z")
    assert (signing_in.result["state"], signing_in.result["login"]) == ("signed_in", "octocat")
    changes = [each for each in signing_in.notifications if each["method"] == "auth/didChange"]
    assert [change["params"]["state"] for change in changes][:1] == ["signed_in"]
    assert answer.result["text"] == "You said: Hi"
    assert out["state"] == "signed_out"


@pytest.mark.requirement("language-server:sign-in")
async def test_a_sign_in_that_a_person_gives_up_is_taken_back(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.status = {"status": "NotSignedIn"}

    async def flow(params: Any) -> Any:
        code = {key: DEVICE_FLOW[key] for key in ("userCode", "verificationUri", "expiresIn")}
        fake.notify("signInWithDeviceFlowProgress", code)
        await asyncio.Event().wait()

    fake.on("signInWithDeviceFlow", flow)
    request_id = served.start("auth/signIn", CLS)
    prompt = await told(served, "auth/prompt")

    served.notify("$/cancelRequest", {"id": request_id})
    error = (await served.read_until(request_id)).error

    assert prompt["intervalSeconds"] == 5
    assert error["code"] == -32800
    await fake.wait_for("$/cancelRequest")


@pytest.mark.requirement("language-server:sign-in")
async def test_a_foreign_sign_in_page_is_not_shown(served: Daemon, fake: FakeLanguageServer) -> None:
    fake.status = {"status": "NotSignedIn"}
    fake.on("signIn", {**DEVICE_FLOW, "verificationUri": "https://github.com.evil.example/login/device"})

    exchange = await served.request("auth/signIn", CLS)

    assert exchange.error["code"] == 1009
    assert "evil" not in json.dumps([exchange.response, exchange.notifications])
    assert "auth/prompt" not in [each["method"] for each in exchange.notifications]


@pytest.mark.requirement("language-server:did-change")
async def test_what_the_server_notifies_of_the_account_is_told_with_the_models(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    await served.request("auth/status", CLS)
    await served.request("models/list", CLS)
    fake.status = {"status": "NotSignedIn"}
    row = {"category": "auth", "kind": "Error", "message": "Gone.", "result": fake.status}

    fake.notify("didChangeStatus/v2", {"statuses": [row]})

    assert await told(served, "models/didChange") == CLS
    change = await told(served, "auth/didChange")
    assert (change["provider"], change["state"]) == ("cls", "signed_out")
    assert "Gone." in change["message"]


@pytest.mark.requirement("language-server:not-ready")
@pytest.mark.parametrize(
    ("status", "code"),
    [({"status": "NotSignedIn"}, 1000), ({"status": "NotAuthorized", "user": "octocat"}, 1001)],
)
async def test_a_chat_of_nobody_is_refused_with_the_command_that_mends_it(
    served: Daemon, fake: FakeLanguageServer, status: dict[str, Any], code: int
) -> None:
    fake.status = status

    error = (await chat(served)).error

    assert error["code"] == code
    assert "`jumpseat login --provider cls`" in error["data"]["hint"]
    assert "conversation/create" not in fake.methods


@pytest.mark.slow  # It waits as long as a list of providers does; a unit test has a shorter patience.
@pytest.mark.requirement("language-server:status")
async def test_a_server_that_never_answers_holds_up_neither_the_start_nor_a_list_for_long(
    home: Path, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    configure(home, fake)
    async with running_daemon(home) as daemon:
        began = time.monotonic()
        await daemon.initialize()
        initialized = time.monotonic() - began
        row = await listed(daemon)
        began = time.monotonic()
        again = await listed(daemon)
        waited = time.monotonic() - began

    assert initialized < STATUS_SECONDS
    assert (row["configured"], row["auth"]["state"]) == (False, "signed_out")
    assert "has not answered within 5 s" in row["auth"]["message"]
    assert again["auth"] == row["auth"]
    assert waited < STATUS_SECONDS, "it is not waited for again"


# -- models


@pytest.mark.requirement("language-server:models")
async def test_the_list_keeps_what_a_picker_needs(served: Daemon, fake: FakeLanguageServer) -> None:
    fake.on("copilot/models", [*MODELS, {"name": "broken"}])

    rows = (await served.request("models/list", CLS)).result["models"]

    assert [row["model"] for row in rows] == ["gpt-4.1", "claude-sonnet-4.6"]
    claude = rows[1]
    assert (claude["maxContextTokens"], claude["maxPromptTokens"]) == (200_000, 168_000)
    assert claude["thinkingLevels"] == ["low", "medium", "high"]
    assert (claude["policy"], claude["billing"]) == ("unconfigured", {"isPremium": True, "multiplier": 1})
    assert (claude["supportsVision"], claude["supportsToolUse"], claude["supportsJson"]) == (
        True,
        False,
        False,
    )
    assert [row["isDefault"] for row in rows] == [True, False]


@pytest.mark.requirement("language-server:terms")
async def test_terms_are_accepted_only_at_a_clients_request_and_that_is_checked(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    accepted = [
        {**row, "modelPolicy": {"state": "enabled"}} if "modelPolicy" in row else row for row in MODELS
    ]
    asked = {"model": "cls:claude-sonnet-4.6", "state": "enabled"}
    await served.request("models/list", CLS)
    untouched = fake.params("copilot/setModelPolicy")
    refused = (await served.request("models/setPolicy", asked)).error
    fake.on("copilot/models", list(MODELS), accepted)
    row = (await served.request("models/setPolicy", asked)).result["model"]
    none = (await served.request("models/setPolicy", {**asked, "model": "cls:gpt-4.1"})).error

    assert untouched == []
    assert refused["code"] == 1001
    assert (row["id"], row["policy"]) == ("cls:claude-sonnet-4.6", "enabled")
    assert none["code"] == 1004


# -- what goes wrong


@pytest.mark.requirement("language-server:command")
async def test_a_server_that_is_not_installed_is_listed_with_the_line_that_installs_it(
    home: Path, tmp_path: Path
) -> None:
    async with started(home, None, command=[str(tmp_path / "nothing")]) as daemon:
        row = await listed(daemon)
        error = (await chat(daemon)).error
        status = (await daemon.request("auth/status", CLS)).result

    assert (row["kind"], row["configured"]) == (KIND, False)
    assert "npm install -g @github/copilot-language-server" in row["auth"]["message"]
    assert status["message"] == row["auth"]["message"]
    assert error["code"] == 1010
    assert "npm install -g @github/copilot-language-server" in error["data"]["hint"]
    assert "providers.cls.command" in error["message"] + error["data"]["hint"]


@pytest.mark.requirement("language-server:failed-start")
async def test_a_program_that_is_no_language_server_is_1008_with_its_last_words(
    home: Path, tmp_path: Path
) -> None:
    program = tmp_path / "other"
    program.write_text("#!/bin/sh\necho 'Node.js 22.13 is wanted' >&2\nexit 24\n", "utf-8")
    program.chmod(0o755)
    async with started(home, None, command=[str(program)]) as daemon:
        row = await listed(daemon)
        error = (await chat(daemon)).error

    assert error["code"] == 1008
    assert "exit code 24" in error["message"]
    assert "Node.js 22.13 is wanted" in error["data"]["hint"]
    assert row["auth"]["state"] == "signed_out"
    assert "exit code 24" in row["auth"]["message"]


@pytest.mark.requirement("language-server:broken-framing")
async def test_what_is_no_message_is_1009_and_the_next_chat_starts_the_server_again(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), asyncio.Event()))
    request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
    await served.read_delta("text_delta")

    fake.send_bytes(b"Node.js crashed here\r\n\r\n")
    error = (await served.read_until(request_id)).error
    fake.on("conversation/create", lambda params: fake.default("conversation/create", params))
    again = await chat(served)

    assert error["code"] == 1009
    assert error["data"]["partial"]["text"] == "Hel"
    assert again.result["text"] == "You said: Hi"
    assert len(fake.starts) == 2


@pytest.mark.requirement("language-server:crash", "language-server:restart")
async def test_a_server_that_is_killed_in_mid_chat_is_1009_within_a_second_with_the_partial(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    async def seconds_until_it_is_told() -> float:
        fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), asyncio.Event()))
        request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
        await served.read_delta("text_delta")
        count = len(fake.starts)

        began = time.monotonic()
        fake.kill()
        exchange = await served.read_until(request_id)
        seconds = time.monotonic() - began
        fake.on("conversation/create", lambda params: fake.default("conversation/create", params))
        again = await chat(served)

        assert exchange.error["code"] == 1009
        assert exchange.error["data"]["partial"]["text"] == "Hel"
        assert exchange.deltas[-1]["type"] == "done"
        assert again.result["text"] == "You said: Hi"
        assert len(fake.starts) == count + 1
        return seconds

    await is_quick(seconds_until_it_is_told, within=1.0)


@pytest.mark.requirement("language-server:cancel")
async def test_a_cancel_takes_the_request_back_and_keeps_the_partial(
    served: Daemon, fake: FakeLanguageServer
) -> None:
    fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), asyncio.Event()))
    request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
    await served.read_delta("text_delta")

    served.notify("$/cancelRequest", {"id": request_id})
    exchange = await served.read_until(request_id)
    taken_back = await fake.wait_for("$/cancelRequest")

    (created,) = (each for each in fake.received if each.get("method") == "conversation/create")
    assert taken_back == {"id": created["id"]}
    assert exchange.error["code"] == -32800
    assert exchange.error["data"]["partial"]["text"] == "Hel"
    assert len(fake.starts) == 1


@pytest.mark.requirement("language-server:overlay")
@pytest.mark.parametrize("with_command", [True, False])
async def test_no_client_can_have_a_program_started(
    home: Path, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch, with_command: bool
) -> None:
    # A program of the right name is on the PATH; nobody but the user may have it run.
    folder = home / "bin"
    folder.mkdir()
    witness = home / "ran"
    program = folder / "copilot-language-server"
    program.write_text(f"#!/bin/sh\ntouch {witness}\n", "utf-8")
    program.chmod(0o755)
    table = {"kind": KIND, **({"command": fake.command} if with_command else {})}
    async with running_daemon(home, env={"PATH": str(folder)}) as daemon:
        params = {
            "processId": None,
            "capabilities": {},
            "initializationOptions": {"config": {"providers": {"cls": table}}},
        }
        exchange = await daemon.request("initialize", params)
        if with_command:
            error = exchange.error
        else:
            daemon.notify("initialized", {})
            row = await listed(daemon)
            assert row["auth"]["state"] == "signed_out"
            error = (await chat(daemon)).error

    assert error["code"] == 1010
    assert fake.starts == []
    assert not witness.exists()


@pytest.mark.requirement("language-server:no-secrets", "language-server:environment")
async def test_the_childs_secrets_never_reach_our_log_or_a_client(
    home: Path, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_COPILOT_TOKEN", SECRET)
    monkeypatch.setenv("GROQ_API_KEY", "gsk-the-key-of-another-provider")
    async with started(home, fake, "--log-level", "debug") as daemon:
        first = await chat(daemon)
        fake.stderr(f"using token {SECRET}\nAuthorization: Bearer {SECRET}x\n")
        fake.on("conversation/create", RpcError(-32603, f"bad token {SECRET}"))
        second = await chat(daemon, user("Another"))
        log = await daemon.whole_log()

    (start,) = fake.starts
    assert start.env["GH_COPILOT_TOKEN"] == SECRET
    assert "GROQ_API_KEY" not in start.env
    assert "using token" in log
    assert SECRET not in log
    assert SECRET not in json.dumps([first.response, first.notifications, second.response])


@pytest.mark.requirement("language-server:shutdown")
async def test_the_server_ends_with_the_daemon(home: Path, fake: FakeLanguageServer) -> None:
    for _ in range(ATTEMPTS):
        async with started(home, fake) as daemon:
            await chat(daemon)
            daemon.close_stdin()
            await daemon.exit_code()
        await fake.current.ended()
        if "shutdown" in fake.methods:
            return  # Else it was killed before it came to hear it, on a machine that is busy.
    pytest.fail("it was never asked to shut down")


@pytest.mark.requirement("language-server:shutdown", "language-server:restart")
async def test_a_table_that_changes_in_mid_chat_ends_the_server_when_the_chat_has_ended(
    served: Daemon, home: Path, fake: FakeLanguageServer
) -> None:
    more = asyncio.Event()
    fake.on("conversation/create", turn(fake, begin(), round_reply("Hel"), more, round_reply("lo"), end()))
    request_id = served.start("chat/start", {"messages": [user("Hi")], "model": "cls:gpt-4.1"})
    await served.read_delta("text_delta")
    configure(home, fake, timeout=77)
    served.notify("workspace/didChangeConfiguration", {"settings": {}})
    await told(served, "providers/didChange")
    running = list(fake.starts)
    more.set()
    first = await served.read_until(request_id)
    await running[0].ended()
    fake.on("conversation/create", lambda params: fake.default("conversation/create", params))
    second = await chat(served)

    assert first.result["text"] == "Hello"
    assert second.result["text"] == "You said: Hi"
    assert (len(running), len(fake.starts)) == (1, 2)


@pytest.mark.requirement("language-server:initialize")
async def test_the_server_is_told_which_editor_asks(served: Daemon, fake: FakeLanguageServer) -> None:
    await chat(served)

    (params,) = fake.params("initialize")
    assert params["initializationOptions"]["editorInfo"] == {"name": "tests", "version": "0"}
    assert params["processId"] == served.process.pid
