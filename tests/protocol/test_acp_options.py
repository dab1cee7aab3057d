"""The config options, the usage and the notices of the Agent Client Protocol."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.acp import AcpAgent, option, running_agent
from tests.hub import Hub

CONFIG = """
[providers.fake]
kind = "openai"
base_url = "{base_url}"
default_model = "m"
models = [{{ id = "m", max_context_tokens = 1000, supports_thinking = true }}, "n"]

[providers.fake.settings.tone]
type = "enum"
choices = ["dry", "warm"]
optional = true

[providers.fake.settings.polite]
type = "boolean"
optional = true

[providers.fake.settings.words]
type = "integer"
optional = true
"""


async def set_option(agent: AcpAgent, session: str, key: str, value: Any, **more: Any) -> Any:
    return (await agent.set_option(session, key, value, **more)).result["configOptions"]


@pytest.mark.requirement("11:options")
async def test_settings_with_fixed_values_are_options_that_reach_the_provider(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    upstream.script(Reply.events(completion_stream(["ok"])), path="/v1/chat/completions")
    async with running_agent(hub, tmp_path, config=CONFIG.format(base_url=upstream.base_url)) as agent:
        await agent.initialize(session={"configOptions": {"boolean": {}}})
        session = await agent.new_session()
        await set_option(agent, session, "settings.tone", "warm")
        options = await set_option(agent, session, "settings.polite", True, type="boolean")
        await agent.prompt(session, "hi")

    assert option(options, "settings.tone")["currentValue"] == "warm"
    assert option(options, "settings.polite") == {
        "id": "settings.polite",
        "name": "polite",
        "category": "model_config",
        "type": "boolean",
        "currentValue": True,
    }
    assert "settings.words" not in [each["id"] for each in options]
    body = json.loads(upstream.requests[-1].body)
    assert (body["tone"], body["polite"]) == ("warm", True)


@pytest.mark.requirement("11:options")
async def test_a_boolean_is_a_choice_for_clients_without_boolean_options(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    async with running_agent(hub, tmp_path, config=CONFIG.format(base_url=upstream.base_url)) as agent:
        await agent.initialize()
        session = await agent.new_session()
        options = await set_option(agent, session, "settings.polite", "false")
        again = await set_option(agent, session, "settings.polite", "default")

    polite = option(options, "settings.polite")
    assert (polite["type"], polite["currentValue"]) == ("select", "false")
    assert [row["value"] for row in polite["options"]] == ["default", "true", "false"]
    assert option(again, "settings.polite")["currentValue"] == "default"


@pytest.mark.requirement("11:options")
async def test_only_a_model_that_thinks_has_a_thinking_level(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    async with running_agent(hub, tmp_path, config=CONFIG.format(base_url=upstream.base_url)) as agent:
        await agent.initialize()
        session = await agent.new_session()
        thinking = await set_option(agent, session, "thought_level", "high")
        without = await set_option(agent, session, "model", "fake:n")
        refused = await agent.set_option(session, "thought_level", "high")

    assert option(thinking, "thought_level")["currentValue"] == "high"
    assert option(thinking, "thought_level")["category"] == "thought_level"
    assert "thought_level" not in [each["id"] for each in without]
    assert refused.error["code"] == -32602


@pytest.mark.requirement("11:options")
async def test_the_used_context_is_reported_if_its_size_is_known(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    for _ in range(2):
        upstream.script(
            Reply.events(completion_stream(["ok"], usage={"prompt_tokens": 7, "completion_tokens": 3})),
            path="/v1/chat/completions",
        )
    async with running_agent(hub, tmp_path, config=CONFIG.format(base_url=upstream.base_url)) as agent:
        await agent.initialize()
        session = await agent.new_session()
        known = await agent.prompt(session, "hi")
        await set_option(agent, session, "model", "fake:n")
        unknown = await agent.prompt(session, "hi")

    assert known.updates("usage_update") == [{"sessionUpdate": "usage_update", "used": 10, "size": 1000}]
    assert unknown.updates("usage_update") == []


@pytest.mark.requirement("11:options")
async def test_warnings_are_notices_for_clients_that_show_them(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    for _ in range(2):
        upstream.script(
            Reply.events(completion_stream(["ok"], finish_reason="odd")), path="/v1/chat/completions"
        )
    for capabilities, count in (({"session": {"notices": {}}}, 1), ({}, 0)):
        async with running_agent(hub, tmp_path, config=CONFIG.format(base_url=upstream.base_url)) as agent:
            await agent.initialize(**capabilities)
            session = await agent.new_session()
            notices = (await agent.prompt(session, "hi")).updates("notice")

            assert [notice["severity"] for notice in notices] == ["warning"] * count
