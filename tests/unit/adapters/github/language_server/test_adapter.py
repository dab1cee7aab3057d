"""The adapter as a whole: its table, its process, requests of the server, other processes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from jumpseat.adapters.base import ClientInfo
from jumpseat.adapters.base.account import AuthStatus
from jumpseat.adapters.github.language_server.adapter import LanguageServerAdapter
from jumpseat.chat import AuthenticationError, AuthorizationError, ConfigError, Message
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.wire import METHOD_NOT_FOUND, RpcError
from tests.environments import here
from tests.fakes.language_server import WAIT_SECONDS, FakeLanguageServer
from tests.fakes.language_server_answers import begin, end, round_reply, turn
from tests.unit.adapters.github.language_server.adapters import PANEL, Make, ask, collect_events

# -- a chat that is refused


@pytest.mark.requirement("language-server:not-ready")
@pytest.mark.parametrize("chat_api", ["conversation", "completion"])
@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        ("NotAuthorized", AuthorizationError, "octocat at github.com may not use Copilot"),
        (None, AuthenticationError, r"^cls is not signed in: HTTP 500\.$"),
    ],
)
async def test_a_refusal_is_explained_by_the_state_that_the_server_notified_before(
    fake: FakeLanguageServer, make: Make, chat_api: str, status: str | None, kind: type[Exception], words: str
) -> None:
    # A sign-in exists, so the server accepts the chat. Only later does it learn that GitHub refuses it.
    def refuse(params: Any) -> RpcError:
        if status is not None:
            row = {"category": "auth", "kind": "Error", "result": {"status": status, "user": "octocat"}}
            fake.notify("didChangeStatus/v2", {"statuses": [row]})
        return RpcError(1000, "Not authenticated: HTTP 500.")

    fake.status = {"status": "MaybeOK", "user": "octocat"}
    for method in ("conversation/create", PANEL):
        fake.on(method, refuse)

    with pytest.raises(AuthenticationError, match=words) as caught:
        await collect_events(make(chat_api=chat_api), ask())
    assert type(caught.value) is kind
    assert "jumpseat login cls" in (caught.value.hint or "")


# -- the table and the process


@pytest.mark.requirement("language-server:overlay")
async def test_a_table_from_a_client_cannot_start_a_program(fake: FakeLanguageServer) -> None:
    config = ProviderConfig(kind="copilot-language-server", command=fake.command).set_environment(here())
    config.is_from_client = True
    adapter = LanguageServerAdapter("cls", config, HttpClient())

    with pytest.raises(ConfigError):
        await collect_events(adapter, ask())
    assert (await adapter.account.auth_status()).state == "signed_out"
    await adapter.aclose()
    assert fake.starts == []


@pytest.mark.requirement("language-server:command")
def test_an_invalid_host_is_a_fault_of_the_table(make_without_program: Make) -> None:
    with pytest.raises(ConfigError, match=r"providers\.cls\.host"):
        make_without_program(host="not a host")


@pytest.mark.requirement("language-server:initialize")
async def test_the_server_gets_the_name_of_the_current_client(fake: FakeLanguageServer, make: Make) -> None:
    adapter = make()
    adapter.client_info = ClientInfo("Neovim", "0.11.4")

    await adapter.account.auth_status()

    options = fake.params("initialize")[0]["initializationOptions"]
    assert options["editorInfo"] == {"name": "Neovim", "version": "0.11.4"}
    assert options["editorPluginInfo"]["name"] == "jumpseat"


@pytest.mark.requirement("language-server:shutdown-bounded")
async def test_a_closed_adapter_ends_its_process_and_does_not_start_another(
    fake: FakeLanguageServer, make: Make
) -> None:
    adapter = make()
    await adapter.account.auth_status()

    await adapter.aclose()
    await fake.current.wait_until_ended()

    assert (await adapter.account.auth_status()).state == "signed_out"
    assert len(fake.starts) == 1


@pytest.mark.requirement("language-server:requests")
async def test_requests_of_the_server_to_an_editor_are_answered(fake: FakeLanguageServer, make: Make) -> None:
    adapter = make()
    asked: list[Any] = []

    async def ask_the_editor(params: Any) -> Any:
        asked.append(await fake.request("workspace/configuration", {"items": [{}, {}]}))
        with pytest.raises(RpcError) as caught:
            await fake.request("editor/everything", {})
        asked.append(caught.value.code)
        return await turn(fake, begin(), round_reply("Fine."), end())(params)

    fake.on("conversation/create", ask_the_editor)

    answer = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])

    assert answer.text == "Fine."
    assert asked == [[None, None], METHOD_NOT_FOUND]


# -- other processes


@pytest.mark.requirement("language-server:did-change", "8:other-process")
async def test_a_sign_in_of_another_process_is_noticed_in_the_servers_store(
    fake: FakeLanguageServer, make: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    adapter, changes = make(), asyncio.Queue[AuthStatus]()
    adapter.account.on_auth_change = changes.put_nowait
    await adapter.account.handle_file_change()
    assert (fake.starts, adapter.account.watched_files()) == ([], []), "the file change started a server"
    fake.status = {"status": "NotSignedIn"}
    await adapter.account.auth_status()

    assert tmp_path / "github-copilot" / "auth.db-wal" in adapter.account.watched_files()
    fake.status = {"status": "OK", "user": "octocat"}
    await adapter.account.handle_file_change()
    async with asyncio.timeout(WAIT_SECONDS):
        change = await changes.get()

    assert (change.state, change.login) == ("signed_in", "octocat")
    assert fake.params("checkStatus")[-1] == {"options": {"localChecksOnly": True}}
