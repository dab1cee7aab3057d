"""The problems that a chat would have, found without a request to a provider."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.adapters.base import CachesModels, Capabilities
from jumpseat.chat import Message, Problem, TextBlock, ToolResultBlock, ToolUseBlock
from jumpseat.engine import TokenMemory, check_turn, to_finding
from tests.unit.scripted import ScriptedAdapter, ask, registry_of

pytestmark = pytest.mark.requirement("5:transcript-check")


class Asking(ScriptedAdapter, CachesModels):
    """Has a default model that only a request reveals."""

    def cached_models(self) -> tuple[()]:
        return ()

    async def find_default_model(self) -> str:
        raise AssertionError("the provider was requested")


async def find_all(adapter: ScriptedAdapter, *messages: Message, **more: Any) -> list[tuple[str, str, bool]]:
    findings = await check_turn(registry_of(adapter), ask(*messages, **more), TokenMemory())
    return [(each.path, each.code, each.is_error) for each in findings]


async def test_a_valid_chat_has_no_findings() -> None:
    assert await find_all(ScriptedAdapter(), settings={"temperature": 1}) == []


async def test_all_mistakes_are_found_together() -> None:
    orphan = Message("user", (TextBlock("x"), ToolResultBlock("t", "1")))
    settings = {"temperature": 9, "speed": 1, "top_p": 0.5}

    assert await find_all(ScriptedAdapter(), orphan, settings=settings) == [
        ("settings.temperature", "invalid_params", True),
        ("settings.speed", "invalid_params", True),
        ("messages.0.content.1.toolUseId", "invalid_params", True),
    ]


async def test_an_error_about_the_model_ends_with_its_hint() -> None:
    adapter = ScriptedAdapter()
    (finding,) = await check_turn(registry_of(adapter), ask(model="fkae:m"), TokenMemory())

    assert (finding.path, finding.code, finding.is_error) == ("model", "request", True)
    assert "not a provider" in finding.message
    assert finding.message.endswith("write PROVIDER:fkae:m.")


async def test_a_model_missing_from_the_last_list_is_a_warning() -> None:
    adapter = ScriptedAdapter(models=["one", "two"])
    registry = registry_of(adapter)

    assert await check_turn(registry, ask(model="fake:tow"), TokenMemory()) == []
    assert adapter.listed == 0
    await registry.list_models("fake")
    (finding,) = await check_turn(registry, ask(model="fake:tow"), TokenMemory())
    assert (finding.path, finding.code, finding.is_error) == ("model", "unlisted_model", False)
    assert finding.message == "fake does not list the model 'tow'. Did you mean fake:two?"
    assert await check_turn(registry, ask(model="fake:two"), TokenMemory()) == []


async def test_the_default_model_is_not_looked_up_and_the_settings_are_checked() -> None:
    assert await find_all(Asking(), model="fake:", settings={"temperature": 9}) == [
        ("settings.temperature", "invalid_params", True)
    ]


async def test_problems_that_a_chat_only_warns_about_are_not_errors() -> None:
    adapter = ScriptedAdapter(capabilities=Capabilities(thinking=False))
    call = Message("assistant", (ToolUseBlock("a", "f", {}, "{}"),))

    assert await find_all(adapter, Message.user("x"), call, settings={"thinking": "low"}) == [
        ("messages", "tool_result_missing", False),
        ("settings.thinking", "thinking_dropped", False),
    ]


async def test_a_prompt_that_is_too_long_is_an_error_of_the_messages() -> None:
    tables = {"fake": {"models": [{"id": "m", "max_context_tokens": 100}]}}
    registry = registry_of(ScriptedAdapter(), tables=tables)
    (finding,) = await check_turn(registry, ask(Message.user("word " * 1000)), TokenMemory())

    assert (finding.path, finding.code, finding.is_error) == ("messages", "context_exceeded", True)


@pytest.mark.parametrize(
    ("path", "message", "sentence"),
    [
        ("settings.a", "must be at most 2", "settings.a must be at most 2."),
        ("model", "must not be empty", "model must not be empty."),
        ("messages.0.content.1.id", "must not be empty", "id must not be empty."),
        ("messages.0.content.1", "a user message cannot", "A user message cannot."),
    ],
)
def test_a_problem_becomes_a_sentence_without_indices(path: str, message: str, sentence: str) -> None:
    assert to_finding(Problem(path, message)).message == sentence
