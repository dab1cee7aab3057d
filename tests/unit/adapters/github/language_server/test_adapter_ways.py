"""Which way a chat takes through a language server, and what each way declares."""

from __future__ import annotations

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import AuthenticationError, ConfigError, Message
from jumpseat.wire import RpcError
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.adapters import (
    COMPLETION,
    CONVERSATION,
    CONVERSATIONS,
    PANEL,
    Make,
    ask,
    events,
    without_conversations,
)


@pytest.mark.requirement("language-server:capabilities")
@pytest.mark.parametrize(
    ("chat_api", "capabilities"),
    [("auto", CONVERSATION), ("conversation", CONVERSATION), ("completion", COMPLETION)],
)
def test_each_way_declares_what_it_can_do_before_anything_is_started(
    fake_free: Make, chat_api: str, capabilities: Capabilities
) -> None:
    assert fake_free(chat_api=chat_api).capabilities == capabilities


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
async def test_a_table_that_asks_for_conversations_gets_an_error_if_the_server_has_none(
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


@pytest.mark.requirement("language-server:auto")
async def test_a_server_that_does_not_know_the_conversation_it_is_asked_about_has_conversations(
    fake: FakeLanguageServer, make: Make
) -> None:
    fake.on("conversation/destroy", RpcError(-32603, "Conversation with id none does not exist"))
    adapter = make()

    assert (await adapter.probe() or {})["streaming"] is True
    assert adapter.capabilities == CONVERSATION
