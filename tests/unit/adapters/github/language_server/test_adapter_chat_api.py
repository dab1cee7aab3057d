"""The API of a language server that a chat uses, and the capabilities of each API."""

from __future__ import annotations

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import AuthenticationError, ConfigError, Message
from jumpseat.wire import RpcError
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.adapters import (
    COMPLETION_CAPABILITIES,
    CONVERSATION_CAPABILITIES,
    CONVERSATION_METHODS,
    PANEL,
    Make,
    ask,
    collect_events,
    remove_conversations,
)


@pytest.mark.requirement("language-server:capabilities")
@pytest.mark.parametrize(
    ("chat_api", "capabilities"),
    [
        ("auto", CONVERSATION_CAPABILITIES),
        ("conversation", CONVERSATION_CAPABILITIES),
        ("completion", COMPLETION_CAPABILITIES),
    ],
)
def test_each_api_declares_its_capabilities_before_a_start(
    make_without_program: Make, chat_api: str, capabilities: Capabilities
) -> None:
    assert make_without_program(chat_api=chat_api).capabilities == capabilities


@pytest.mark.requirement("language-server:conversation", "language-server:auto")
@pytest.mark.parametrize("chat_api", ["auto", "conversation"])
async def test_a_chat_is_a_conversation_if_the_server_supports_conversations(
    fake: FakeLanguageServer, make: Make, chat_api: str
) -> None:
    adapter = make(chat_api=chat_api)

    answer = await adapter.bind("gpt-4.1").chat([Message.user("Hi")], stream=True)

    assert answer.text == "You said: Hi"
    assert PANEL not in fake.methods
    assert fake.methods.index("checkStatus") < fake.methods.index("conversation/create")


@pytest.mark.requirement("language-server:completion")
async def test_a_chat_is_a_completion_if_the_table_says_so(fake: FakeLanguageServer, make: Make) -> None:
    answer = await make(chat_api="completion").bind("gpt-41-copilot").chat([Message.user("Hi")])

    assert answer.text == "A completion."
    assert not any(method.startswith("conversation/") for method in fake.methods)


@pytest.mark.requirement("language-server:auto", "language-server:capabilities")
async def test_a_server_without_conversations_answers_every_chat_with_a_completion(
    fake: FakeLanguageServer, make: Make
) -> None:
    remove_conversations(fake)
    adapter = make()

    first = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])
    second = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])

    assert (first.text, second.text) == ("A completion.", "A completion.")
    assert fake.methods.count("conversation/create") == 1, "the missing method was called again"
    assert adapter.capabilities == COMPLETION_CAPABILITIES


@pytest.mark.requirement("language-server:auto", "language-server:restart")
async def test_a_restarted_server_is_checked_for_conversations_again(
    fake: FakeLanguageServer, make: Make
) -> None:
    remove_conversations(fake)
    adapter = make()
    await adapter.bind("gpt-4.1").chat([Message.user("Hi")])
    running = adapter._server.running_connection
    assert running is not None
    fake.kill()
    await running.wait_until_ended()
    for method in CONVERSATION_METHODS:
        fake.on(method, lambda params, method=method: fake.default(method, params))

    answer = await adapter.bind("gpt-4.1").chat([Message.user("Hi")])

    assert answer.text == "You said: Hi"
    assert adapter.capabilities == CONVERSATION_CAPABILITIES


@pytest.mark.requirement("language-server:auto")
async def test_a_configured_conversation_api_that_the_server_lacks_is_an_error(
    fake: FakeLanguageServer, make: Make
) -> None:
    remove_conversations(fake)

    with pytest.raises(ConfigError, match=r"^providers\.cls\.chat_api: ") as caught:
        await collect_events(make(chat_api="conversation"), ask())

    assert "npm install" in (caught.value.hint or "")
    assert 'chat_api = "completion"' in (caught.value.hint or "")
    assert PANEL not in fake.methods


@pytest.mark.requirement("language-server:auto")
async def test_a_refused_conversation_is_not_tried_as_a_completion(
    fake: FakeLanguageServer, make: Make
) -> None:
    fake.on("conversation/create", RpcError(1002, "Copilot is not available to this account."))

    with pytest.raises(AuthenticationError):
        await collect_events(make(), ask())
    assert PANEL not in fake.methods


@pytest.mark.requirement("language-server:capabilities", "language-server:auto")
async def test_a_probe_gives_the_capabilities_of_the_api_in_use(fake: FakeLanguageServer, make: Make) -> None:
    adapter = make()
    newer = await adapter.probe()
    remove_conversations(fake)
    older_adapter = make()
    older = await older_adapter.probe()

    assert newer == {
        "streaming": True,
        "tool_calls": False,
        "json_mode": False,
        "vision": True,
        "thinking": True,
    }
    assert older == dict.fromkeys(newer, False)
    assert older_adapter.capabilities == COMPLETION_CAPABILITIES
    # The probe calls a method that costs nothing.
    assert "conversation/create" not in fake.methods


@pytest.mark.requirement("language-server:auto")
async def test_an_unknown_conversation_id_shows_that_the_server_has_conversations(
    fake: FakeLanguageServer, make: Make
) -> None:
    fake.on("conversation/destroy", RpcError(-32603, "Conversation with id none does not exist"))
    adapter = make()

    assert (await adapter.probe() or {})["streaming"] is True
    assert adapter.capabilities == CONVERSATION_CAPABILITIES
