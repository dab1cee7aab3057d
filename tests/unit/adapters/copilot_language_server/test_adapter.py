"""The provider as a whole: which way a chat takes, what each way declares, what is left out and said."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base import Capabilities, ClientInfo
from jumpseat.adapters.copilot_language_server.adapter import LanguageServerAdapter
from jumpseat.auth import AuthStatus
from jumpseat.chat import (
    AuthenticationError,
    AuthorizationError,
    ChatRequest,
    ConfigError,
    ContextExceededError,
    DoneEvent,
    ImageBlock,
    JsonSchemaOutput,
    Message,
    RequestError,
    TextBlock,
    ToolDefinition,
    WarningEvent,
)
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.fakes.language_server import WAIT_SECONDS, FakeLanguageServer
from tests.fakes.language_server_answers import MODELS, begin, end, round_reply, turn

UNKNOWN = RpcError(METHOD_NOT_FOUND, "Method not found")
CONVERSATIONS = ("conversation/create", "conversation/turn", "conversation/destroy")
CONVERSATION = Capabilities(tool_calls=False, json_mode=False)
COMPLETION = Capabilities(streaming=False, tool_calls=False, json_mode=False, vision=False, thinking=False)
PANEL = "textDocument/copilotPanelCompletion"


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def make(fake: FakeLanguageServer) -> AsyncIterator[Callable[..., LanguageServerAdapter]]:
    """Makes adapters of the fake, which are closed at the end."""
    made: list[LanguageServerAdapter] = []

    def one(**table: Any) -> LanguageServerAdapter:
        config = ProviderConfig(kind="copilot-language-server", **{"command": fake.command, **table})
        made.append(LanguageServerAdapter("cls", config, HttpClient()))
        return made[-1]

    yield one
    for adapter in made:
        await adapter.aclose()


Make = Callable[..., LanguageServerAdapter]


def ask(text: str = "Hi", **more: Any) -> ChatRequest:
    return ChatRequest(**{"messages": [Message.user(text)], "model": "gpt-4.1", **more})


async def events(adapter: LanguageServerAdapter, request: ChatRequest) -> list[Any]:
    return [event async for event in adapter.stream(request)]


async def warnings(adapter: LanguageServerAdapter, request: ChatRequest) -> list[tuple[str, str]]:
    found = await events(adapter, request)
    assert isinstance(found[-1], DoneEvent)
    return [(event.code, event.message) for event in found if isinstance(event, WarningEvent)]


def without_conversations(fake: FakeLanguageServer) -> None:
    """Make it a server of before there were any."""
    for method in CONVERSATIONS:
        fake.on(method, UNKNOWN)


# -- the way


@pytest.mark.requirement("language-server:capabilities")
@pytest.mark.parametrize(
    ("chat_api", "capabilities"),
    [("auto", CONVERSATION), ("conversation", CONVERSATION), ("completion", COMPLETION)],
)
def test_each_way_declares_what_it_can_do_before_anything_is_started(
    fake_free: Make, chat_api: str, capabilities: Capabilities
) -> None:
    assert fake_free(chat_api=chat_api).capabilities == capabilities


@pytest.fixture
def fake_free() -> Make:
    """Makes adapters whose program does not exist: whatever starts it fails."""

    def one(**table: Any) -> LanguageServerAdapter:
        config = ProviderConfig(kind="copilot-language-server", **{"command": ["/nothing/here"], **table})
        return LanguageServerAdapter("cls", config, HttpClient())

    return one


@pytest.mark.requirement("language-server:conversation", "language-server:auto")
@pytest.mark.parametrize("chat_api", ["auto", "conversation"])
async def test_a_chat_is_a_conversation_where_the_server_has_them(
    fake: FakeLanguageServer, make: Make, chat_api: str
) -> None:
    adapter = make(chat_api=chat_api)

    answer = await adapter.bind("gpt-4.1").chat([Message.user("Hi")], stream=True)

    assert answer.text == "You said: Hi"
    assert PANEL not in fake.methods
    assert fake.methods.index("checkStatus") < fake.methods.index("conversation/create")


@pytest.mark.requirement("language-server:completion")
async def test_a_chat_is_completed_where_the_table_says_so_and_no_conversation_is_asked_for(
    fake: FakeLanguageServer, make: Make
) -> None:
    answer = await make(chat_api="completion").bind("gpt-41-copilot").chat([Message.user("Hi")])

    assert answer.text == "A completion."
    assert not any(method.startswith("conversation/") for method in fake.methods)


@pytest.mark.requirement("language-server:auto", "language-server:capabilities")
async def test_a_server_without_conversations_completes_from_its_first_chat_on(
    fake: FakeLanguageServer, make: Make
) -> None:
    without_conversations(fake)
    adapter = make()

    first = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])
    second = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])

    assert (first.text, second.text) == ("A completion.", "A completion.")
    assert fake.methods.count("conversation/create") == 1, "what it has not is not asked for again"
    assert adapter.capabilities == COMPLETION


@pytest.mark.requirement("language-server:auto", "language-server:restart")
async def test_a_server_that_was_started_again_may_be_a_newer_one(
    fake: FakeLanguageServer, make: Make
) -> None:
    without_conversations(fake)
    adapter = make()
    await adapter.bind("gpt-4.1").chat([Message.user("Hi")])
    running = adapter._server.running
    assert running is not None
    fake.kill()
    await running.ended()
    for method in CONVERSATIONS:
        fake.on(method, lambda params, method=method: fake.default(method, params))

    answer = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])

    assert answer.text == "You said: Hi"
    assert adapter.capabilities == CONVERSATION


@pytest.mark.requirement("language-server:auto")
async def test_a_table_that_asks_for_conversations_is_told_that_the_server_has_none(
    fake: FakeLanguageServer, make: Make
) -> None:
    without_conversations(fake)

    with pytest.raises(ConfigError, match=r"^providers\.cls\.chat_api: ") as caught:
        await events(make(chat_api="conversation"), ask())

    assert "npm install" in (caught.value.hint or "")
    assert 'chat_api = "completion"' in (caught.value.hint or "")
    assert PANEL not in fake.methods


@pytest.mark.requirement("language-server:auto")
async def test_what_a_server_refuses_in_a_conversation_it_is_not_asked_to_complete(
    fake: FakeLanguageServer, make: Make
) -> None:
    fake.on("conversation/create", RpcError(1002, "Copilot is not available to this account."))

    with pytest.raises(AuthenticationError):
        await events(make(), ask())
    assert PANEL not in fake.methods


@pytest.mark.requirement("language-server:capabilities", "language-server:auto")
async def test_a_probe_tells_of_the_way_that_chats_will_take(fake: FakeLanguageServer, make: Make) -> None:
    adapter = make()
    newer = await adapter.probe()
    without_conversations(fake)
    older_one = make()
    older = await older_one.probe()

    assert newer == {
        "streaming": True,
        "tool_calls": False,
        "json_mode": False,
        "vision": True,
        "thinking": True,
    }
    assert older == dict.fromkeys(newer, False)
    assert older_one.capabilities == COMPLETION
    # It is asked for by something that costs nothing.
    assert "conversation/create" not in fake.methods


@pytest.mark.requirement("language-server:not-ready")
@pytest.mark.parametrize("chat_api", ["conversation", "completion"])
@pytest.mark.parametrize(
    ("told", "kind", "words"),
    [
        ("NotAuthorized", AuthorizationError, "octocat at github.com may not use Copilot"),
        (None, AuthenticationError, r"^cls is not signed in: HTTP 500\.$"),
    ],
)
async def test_a_refusal_that_the_server_has_explained_meanwhile_is_told_so(
    fake: FakeLanguageServer, make: Make, chat_api: str, told: str | None, kind: type[Exception], words: str
) -> None:
    # It lets the chat begin, for there is a sign-in, and finds out only then what it is good for.
    def refuse(params: Any) -> RpcError:
        if told is not None:
            row = {"category": "auth", "kind": "Error", "result": {"status": told, "user": "octocat"}}
            fake.notify("didChangeStatus/v2", {"statuses": [row]})
        return RpcError(1000, "Not authenticated: HTTP 500.")

    fake.status = {"status": "MaybeOK", "user": "octocat"}
    for method in ("conversation/create", PANEL):
        fake.on(method, refuse)

    with pytest.raises(AuthenticationError, match=words) as caught:
        await events(make(chat_api=chat_api), ask())
    assert type(caught.value) is kind
    assert "jumpseat login --provider cls" in (caught.value.hint or "")


@pytest.mark.requirement("language-server:terms", "language-server:errors")
@pytest.mark.parametrize("heard", [True, False])
@pytest.mark.parametrize(
    ("model", "reason", "kind"),
    [
        ("claude-sonnet-4.6", "model_not_supported", AuthorizationError),
        ("claude-sonnet-4.6", "model_max_prompt_tokens_exceeded", ContextExceededError),
        ("gpt-4.1", "model_not_supported", RequestError),
        ("gone", "model_not_supported", RequestError),
    ],
)
async def test_a_model_whose_terms_were_not_accepted_is_refused_with_the_command_that_accepts_them(
    fake: FakeLanguageServer, make: Make, model: str, reason: str, kind: type[Exception], heard: bool
) -> None:
    refused = {"message": "the model is not supported. Please try again.", "code": 400, "reason": reason}
    fake.on("conversation/create", turn(fake, begin(), end(refused)))
    adapter = make()
    if heard:
        await adapter.list_models()

    with pytest.raises(RequestError if kind is not AuthorizationError else AuthorizationError) as caught:
        await events(adapter, ask(model=model))

    assert type(caught.value) is kind
    is_told = "`jumpseat accept-terms cls:claude-sonnet-4.6`" in (caught.value.hint or "")
    assert is_told is (kind is AuthorizationError)
    if heard and model != "gone":
        assert len(fake.params("copilot/models")) == 1
    assert fake.params("copilot/setModelPolicy") == []


@pytest.mark.requirement("language-server:terms")
async def test_a_list_that_cannot_be_had_takes_nothing_from_a_refusal(
    fake: FakeLanguageServer, make: Make
) -> None:
    refused = {"message": "the model is not supported.", "code": 400, "reason": "model_not_supported"}
    fake.on("conversation/create", turn(fake, begin(), end(refused)))
    fake.on("copilot/models", RpcError(-32603, "HTTP 500"))

    with pytest.raises(RequestError, match="does not offer"):
        await events(make(), ask(model="claude-sonnet-4.6"))


@pytest.mark.requirement("language-server:auto")
async def test_a_server_that_does_not_know_the_conversation_it_is_asked_about_has_conversations(
    fake: FakeLanguageServer, make: Make
) -> None:
    fake.on("conversation/destroy", RpcError(-32603, "Conversation with id none does not exist"))
    adapter = make()

    assert (await adapter.probe() or {})["streaming"] is True
    assert adapter.capabilities == CONVERSATION


# -- what is refused, and what is left out


TOOL = ToolDefinition("weather", "Tells the weather.")
PNG = "data:image/png;base64,aGk="
IMAGE = Message("user", (TextBlock("See"), ImageBlock(PNG)))


@pytest.mark.requirement("language-server:capabilities")
@pytest.mark.parametrize("chat_api", ["conversation", "completion"])
async def test_tools_are_refused_unless_none_may_be_called(
    fake: FakeLanguageServer, make: Make, chat_api: str
) -> None:
    adapter = make(chat_api=chat_api)

    with pytest.raises(RequestError, match="does not take tools"):
        await events(adapter, ask(tools=(TOOL,)))
    assert not {"conversation/create", PANEL} & set(fake.methods)
    assert await events(adapter, ask(tools=(TOOL,), tool_choice="none"))


@pytest.mark.requirement("language-server:capabilities", "language-server:auto")
@pytest.mark.parametrize("chat_api", ["auto", "completion"])
async def test_images_are_refused_where_text_is_completed(
    fake: FakeLanguageServer, make: Make, chat_api: str
) -> None:
    without_conversations(fake)

    with pytest.raises(RequestError, match="does not take images"):
        await events(make(chat_api=chat_api), ask(messages=[IMAGE]))
    assert PANEL not in fake.methods


@pytest.mark.requirement("language-server:capabilities")
async def test_a_conversation_takes_images(fake: FakeLanguageServer, make: Make) -> None:
    assert await warnings(make(), ask(messages=[IMAGE])) == []
    assert "data:image/png;base64,aGk=" in str(fake.params("conversation/create"))


@pytest.mark.requirement("language-server:capabilities")
@pytest.mark.parametrize(
    ("wanted", "code", "word"),
    [
        ({"stop_sequences": ["END"]}, "parameter_dropped", "stop_sequences"),
        ({"max_tokens": 100}, "parameter_dropped", "max_tokens"),
        ({"settings": {"temperature": 0.2}}, "parameter_dropped", "temperature"),
        ({"output_mode": "json"}, "json_mode_dropped", "JSON mode"),
        ({"output_mode": JsonSchemaOutput({})}, "json_mode_dropped", "JSON mode"),
    ],
)
@pytest.mark.parametrize("chat_api", ["conversation", "completion"])
async def test_what_no_way_has_a_word_for_is_left_out_and_said(
    make: Make, chat_api: str, wanted: dict[str, Any], code: str, word: str
) -> None:
    adapter = make(chat_api=chat_api)
    await adapter.list_models()
    model = adapter.default_model

    ((told, message),) = await warnings(adapter, ask(model=model, **wanted))

    assert told == code
    assert word in message


@pytest.mark.requirement("language-server:capabilities")
async def test_what_nobody_asked_for_is_not_warned_of(make: Make) -> None:
    adapter = make()
    assert await warnings(adapter, ask()) == []
    await adapter.list_models()
    # The engine asks for no more than a model can say.
    adapter._models.known = [
        row if row.model != "gpt-4.1" else _limited(row, 4096) for row in adapter._models.known
    ]

    assert await warnings(adapter, ask(max_tokens=4096)) == []
    assert len(await warnings(adapter, ask(max_tokens=4095))) == 1


def _limited(row: Any, tokens: int) -> Any:
    from dataclasses import replace

    return replace(row, max_output_tokens=tokens)


@pytest.mark.requirement("language-server:capabilities", "language-server:completion")
async def test_a_completion_has_no_thinking_levels_and_a_model_of_its_own(make: Make) -> None:
    adapter = make(chat_api="completion")
    await adapter.list_models()

    assert await warnings(adapter, ask(model="gpt-41-copilot")) == []
    assert [code for code, _ in await warnings(adapter, ask(model="gpt-41-copilot", thinking="low"))] == [
        "thinking_dropped"
    ]
    ((_, message),) = await warnings(adapter, ask(model="gpt-4.1"))
    assert "not with gpt-4.1" in message


# -- models


@pytest.mark.requirement("language-server:models")
async def test_the_list_is_what_chats_and_the_default_is_asked_for(
    fake: FakeLanguageServer, make: Make
) -> None:
    adapter = make()

    assert adapter.default_model is None
    assert await adapter.find_default_model() == "gpt-4.1"
    assert adapter.default_model == "gpt-4.1"
    assert [row.model for row in adapter.heard_models()] == ["gpt-4.1", "claude-sonnet-4.6"]
    assert adapter.max_context_tokens("claude-sonnet-4.6") == 200_000
    assert adapter.max_context_tokens("nothing") is None
    await adapter.find_default_model()
    assert fake.methods.count("copilot/models") == 1


@pytest.mark.requirement("language-server:models")
async def test_the_configured_default_goes_before_the_servers(fake: FakeLanguageServer, make: Make) -> None:
    adapter = make(default_model="claude-sonnet-4.6")

    assert await adapter.find_default_model() == "claude-sonnet-4.6"
    assert fake.starts == []
    rows = await adapter.list_models()
    assert [row.model for row in rows if row.is_default] == ["claude-sonnet-4.6"]


@pytest.mark.requirement("language-server:models", "language-server:auto")
async def test_a_server_that_completes_lists_what_it_completes_with(
    fake: FakeLanguageServer, make: Make
) -> None:
    without_conversations(fake)

    (row,) = await make().list_models()

    assert (row.model, row.is_default, row.supports_streaming) == ("gpt-41-copilot", True, False)


@pytest.mark.requirement("language-server:models", "language-server:not-ready")
async def test_models_of_nobody_are_not_asked_for(fake: FakeLanguageServer, make: Make) -> None:
    fake.status = {"status": "NotSignedIn"}

    with pytest.raises(AuthenticationError) as caught:
        await make().list_models()

    assert "jumpseat login --provider cls" in (caught.value.hint or "")
    assert "copilot/models" not in fake.methods


@pytest.mark.requirement("language-server:terms")
async def test_terms_are_accepted_by_the_server(fake: FakeLanguageServer, make: Make) -> None:
    accepted = [
        {**row, "modelPolicy": {"state": "enabled"}} if "modelPolicy" in row else row for row in MODELS
    ]
    fake.on("copilot/models", list(MODELS), accepted)

    row = await make().accept_terms("claude-sonnet-4.6")

    assert row.policy == "enabled"
    assert fake.params("copilot/setModelPolicy") == [{"model": "claude-sonnet-4.6", "status": "enabled"}]


@pytest.mark.requirement("language-server:terms", "language-server:completion")
@pytest.mark.parametrize("model", ["claude-sonnet-4.6", "gpt-41-copilot"])
async def test_no_terms_are_accepted_of_a_model_that_chats_do_not_get(
    fake: FakeLanguageServer, make: Make, model: str
) -> None:
    adapter = make(chat_api="completion")

    with pytest.raises(RequestError):
        await adapter.accept_terms(model)
    assert "copilot/setModelPolicy" not in fake.methods
    assert [row.model for row in adapter.heard_models()] == ["gpt-41-copilot"]


@pytest.mark.requirement("language-server:models", "language-server:did-change")
async def test_another_account_has_other_models_and_a_used_quota_has_not(
    fake: FakeLanguageServer, make: Make
) -> None:
    adapter = make()
    changes: list[AuthStatus] = []
    adapter.on_auth_change = changes.append
    await adapter.auth_status(refresh=True)
    await adapter.list_models()
    connection = await adapter._server.connection()

    used = {"premium_interactions": {"percentRemaining": 1, "unlimited": False}, "copilotPlan": "individual"}
    fake.notify("copilot/quotaChange", used)
    await connection.request("getVersion", seconds=20.0)
    assert adapter.heard_models()

    row = {"category": "auth", "kind": "Normal", "result": {"status": "OK", "user": "hubot"}}
    fake.notify("didChangeStatus/v2", {"statuses": [row]})
    await connection.request("getVersion", seconds=20.0)

    assert list(adapter.heard_models()) == []
    assert [change.login for change in changes[-2:]] == ["octocat", "hubot"]


# -- the rest


@pytest.mark.requirement("language-server:overlay")
async def test_a_table_of_a_clients_starts_nothing(fake: FakeLanguageServer) -> None:
    config = ProviderConfig(kind="copilot-language-server", command=fake.command)
    config.is_from_client = True
    adapter = LanguageServerAdapter("cls", config, HttpClient())

    with pytest.raises(ConfigError):
        await events(adapter, ask())
    assert (await adapter.auth_status()).state == "signed_out"
    await adapter.aclose()
    assert fake.starts == []


@pytest.mark.requirement("language-server:command")
def test_a_host_that_is_none_is_a_fault_of_the_table(fake_free: Make) -> None:
    with pytest.raises(ConfigError, match=r"providers\.cls\.host"):
        fake_free(host="not a host")


@pytest.mark.requirement("language-server:initialize")
async def test_the_server_is_told_of_the_client_that_is_attached_when_it_starts(
    fake: FakeLanguageServer, make: Make
) -> None:
    adapter = make()
    adapter.client_info = ClientInfo("Neovim", "0.11.4")

    await adapter.auth_status()

    options = fake.params("initialize")[0]["initializationOptions"]
    assert options["editorInfo"] == {"name": "Neovim", "version": "0.11.4"}
    assert options["editorPluginInfo"]["name"] == "jumpseat"


@pytest.mark.requirement("language-server:shutdown")
async def test_a_provider_that_was_closed_has_no_process_and_starts_none(
    fake: FakeLanguageServer, make: Make
) -> None:
    adapter = make()
    await adapter.auth_status()

    await adapter.aclose()
    await fake.current.ended()

    assert (await adapter.auth_status()).state == "signed_out"
    assert len(fake.starts) == 1


@pytest.mark.requirement("language-server:requests")
async def test_what_the_server_asks_of_an_editor_is_answered(fake: FakeLanguageServer, make: Make) -> None:
    adapter = make()
    asked: list[Any] = []

    async def curious(params: Any) -> Any:
        asked.append(await fake.request("workspace/configuration", {"items": [{}, {}]}))
        with pytest.raises(RpcError) as caught:
            await fake.request("editor/everything", {})
        asked.append(caught.value.code)
        return await turn(fake, begin(), round_reply("Fine."), end())(params)

    fake.on("conversation/create", curious)

    answer = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])

    assert answer.text == "Fine."
    assert asked == [[None, None], METHOD_NOT_FOUND]


# -- other processes


@pytest.mark.requirement("language-server:did-change", "8:other-process")
async def test_a_sign_in_of_another_process_is_noticed_by_the_servers_store(
    fake: FakeLanguageServer, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    adapter, told = make(), asyncio.Queue[AuthStatus]()
    adapter.on_auth_change = told.put_nowait
    await adapter.files_changed()
    assert (fake.starts, adapter.watched_files()) == ([], []), "nobody starts a server for this"
    fake.status = {"status": "NotSignedIn"}
    await adapter.auth_status()

    assert tmp_path / "github-copilot" / "auth.db-wal" in adapter.watched_files()
    fake.status = {"status": "OK", "user": "octocat"}
    await adapter.files_changed()
    async with asyncio.timeout(WAIT_SECONDS):
        change = await told.get()

    assert (change.state, change.login) == ("signed_in", "octocat")
    assert fake.params("checkStatus")[-1] == {"options": {"localChecksOnly": True}}
