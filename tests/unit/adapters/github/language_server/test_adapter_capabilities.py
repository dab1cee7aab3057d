"""Features that a chat API does not support: refused, or dropped with a warning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jumpseat.chat import ImageBlock, JsonSchemaOutput, Message, RequestError, TextBlock, ToolDefinition
from tests.fakes.language_server import FakeLanguageServer
from tests.unit.adapters.github.language_server.adapters import (
    PANEL,
    Make,
    ask,
    collect_events,
    collect_warnings,
    remove_conversations,
)

TOOL = ToolDefinition("weather", "Tells the weather.")
PNG = "data:image/png;base64,aGk="
IMAGE = Message("user", (TextBlock("See"), ImageBlock(PNG)))


@pytest.mark.requirement("language-server:capabilities-refused")
@pytest.mark.parametrize("chat_api", ["conversation", "completion"])
async def test_tools_are_refused_unless_none_may_be_called(
    fake: FakeLanguageServer, make: Make, chat_api: str
) -> None:
    adapter = make(chat_api=chat_api)

    with pytest.raises(RequestError, match="does not accept tools"):
        await collect_events(adapter, ask(tools=(TOOL,)))
    assert not {"conversation/create", PANEL} & set(fake.methods)
    assert await collect_events(adapter, ask(tools=(TOOL,), tool_choice="none"))


@pytest.mark.requirement("language-server:capabilities-refused", "language-server:auto")
@pytest.mark.parametrize("chat_api", ["auto", "completion"])
async def test_a_completion_refuses_images(fake: FakeLanguageServer, make: Make, chat_api: str) -> None:
    remove_conversations(fake)

    with pytest.raises(RequestError, match="does not accept images"):
        await collect_events(make(chat_api=chat_api), ask(messages=[IMAGE]))
    assert PANEL not in fake.methods


@pytest.mark.requirement("language-server:capabilities")
async def test_a_conversation_takes_images(fake: FakeLanguageServer, make: Make) -> None:
    assert await collect_warnings(make(), ask(messages=[IMAGE])) == []
    assert "data:image/png;base64,aGk=" in str(fake.params("conversation/create"))


@pytest.mark.requirement("language-server:capabilities-refused")
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
async def test_a_parameter_that_neither_api_has_is_dropped_with_a_warning(
    make: Make, chat_api: str, wanted: dict[str, Any], code: str, word: str
) -> None:
    adapter = make(chat_api=chat_api)
    await adapter.list_models()
    model = await adapter.find_default_model()

    ((warned, message),) = await collect_warnings(adapter, ask(model=model, **wanted))

    assert warned == code
    assert word in message


@pytest.mark.requirement("language-server:capabilities-refused")
async def test_options_that_were_not_requested_do_not_cause_a_warning(make: Make) -> None:
    adapter = make()
    assert await collect_warnings(adapter, ask()) == []
    await adapter.list_models()
    # The engine limits max_tokens to the model's maximum, so the client need not have requested this value.
    adapter._models.known = [
        row if row.model != "gpt-4.1" else _limit(row, 4096) for row in adapter._models.known
    ]

    assert await collect_warnings(adapter, ask(max_tokens=4096)) == []
    assert len(await collect_warnings(adapter, ask(max_tokens=4095))) == 1


def _limit(row: Any, tokens: int) -> Any:
    return replace(row, max_output_tokens=tokens)


@pytest.mark.requirement("language-server:capabilities", "language-server:completion-models")
async def test_a_completion_drops_thinking_and_uses_its_own_model(make: Make) -> None:
    adapter = make(chat_api="completion")
    await adapter.list_models()

    assert await collect_warnings(adapter, ask(model="gpt-41-copilot")) == []
    assert [
        code for code, _ in await collect_warnings(adapter, ask(model="gpt-41-copilot", thinking="low"))
    ] == ["thinking_dropped"]
    ((_, message),) = await collect_warnings(adapter, ask(model="gpt-4.1"))
    assert "not gpt-4.1" in message
