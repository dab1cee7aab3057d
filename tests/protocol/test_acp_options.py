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

pytestmark = pytest.mark.slow

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


@pytest.mark.requirement("11:live-options", "11:commands")
async def test_a_changed_configuration_updates_the_options_and_commands_of_open_sessions(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    upstream.script(Reply.events(completion_stream(["ok"])), path="/v1/chat/completions")
    config = CONFIG.format(base_url=upstream.base_url)
    async with running_agent(hub, tmp_path, config=config) as agent:
        await agent.initialize()
        session = await agent.new_session()
        await set_option(agent, session, "settings.tone", "warm")
        changed = config.replace('"dry", "warm"', '"dry", "curt"')
        (hub.home / "config.toml").write_text(changed + '[prompts.shout]\ntext = "SHOUT {{input}}"\n')

        commands = await agent.read_update("available_commands_update")
        options = (await agent.read_update("config_option_update"))["configOptions"]
        await agent.prompt(session, "hi")

    assert "shout" in [command["name"] for command in commands["availableCommands"]]
    tone = option(options, "settings.tone")
    assert [row["value"] for row in tone["options"]] == ["default", "dry", "curt"]
    assert tone["currentValue"] == "default"
    assert "tone" not in json.loads(upstream.requests[-1].body)


@pytest.mark.requirement("11:live-options")
async def test_a_changed_default_model_becomes_the_model_of_open_sessions(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    config = CONFIG.format(base_url=upstream.base_url)
    async with running_agent(hub, tmp_path, config=config) as agent:
        await agent.initialize()
        await agent.new_session()
        (hub.home / "config.toml").write_text('default_model = "fake:n"\n' + config)
        options = (await agent.read_update("config_option_update"))["configOptions"]

    assert option(options, "model")["currentValue"] == "fake:n"


@pytest.mark.requirement("11:live-options")
async def test_a_saved_default_model_becomes_the_model_of_open_sessions(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    config = CONFIG.format(base_url=upstream.base_url)
    async with running_agent(hub, tmp_path, config=config) as agent, hub.client() as editor:
        await agent.initialize()
        await agent.new_session()
        await editor.initialize()
        await editor.request("settings/save", {"settings": {"default_model": "fake:n"}})
        options = (await agent.read_update("config_option_update"))["configOptions"]

    assert option(options, "model")["currentValue"] == "fake:n"


@pytest.mark.requirement("11:live-options")
async def test_a_new_fault_in_one_table_is_sent_as_a_notice(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    config = CONFIG.format(base_url=upstream.base_url)
    async with running_agent(hub, tmp_path, config=config) as agent:
        await agent.initialize(session={"notices": {}})
        await agent.new_session()
        (hub.home / "config.toml").write_text(config + "[prompts.wrong]\ntext = 3\n")
        notice = await agent.read_update("notice")

    assert (notice["severity"], "prompts.wrong.text" in notice["title"]) == ("error", True)


@pytest.mark.requirement("11:live-options")
async def test_a_changed_list_of_models_updates_the_options_of_open_sessions(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    for models in (["m"], ["m", "new"]):
        upstream.script(Reply.json({"data": [{"id": model} for model in models]}), path="/v1/models")
    config = f'[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\ndefault_model = "m"\n'
    async with running_agent(hub, tmp_path, config=config) as agent, hub.client() as editor:
        await agent.initialize()
        await agent.new_session()
        await editor.initialize()
        await editor.request("models/list", {"refresh": True})
        options = (await agent.read_update("config_option_update"))["configOptions"]

    assert [row["value"] for row in option(options, "model")["options"]] == ["fake:m", "fake:new"]


@pytest.mark.requirement("11:live-options")
async def test_a_faulty_configuration_causes_a_notice_and_changes_nothing(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    config = CONFIG.format(base_url=upstream.base_url)
    async with running_agent(hub, tmp_path, config=config) as agent:
        await agent.initialize(session={"notices": {}})
        session = await agent.new_session()
        (hub.home / "config.toml").write_text("this is not TOML")
        notice = await agent.read_update("notice")
        options = await set_option(agent, session, "settings.tone", "warm")

    assert notice["severity"] == "error"
    assert "The previous configuration stays in effect." in notice["title"]
    assert option(options, "settings.tone")["currentValue"] == "warm"


@pytest.mark.requirement("11:commands")
async def test_the_commands_are_the_built_in_ones_and_the_prompts(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    upstream.script(Reply.events(completion_stream(["mine"])), path="/v1/chat/completions")
    prompts = (
        '[prompts.status]\ntext = "My status: {{input}}"\n'
        '[prompts.review]\ntext = "Review."\ndescription = "Review a diff"\n'
    )
    async with running_agent(
        hub, tmp_path, config=CONFIG.format(base_url=upstream.base_url) + prompts
    ) as agent:
        await agent.initialize()
        params = {"cwd": str(tmp_path), "mcpServers": []}
        session = (await agent.request("session/new", params)).result["sessionId"]
        commands = (await agent.read_update("available_commands_update"))["availableCommands"]
        replaced = await agent.prompt(session, "/status fine")

    assert [command["name"] for command in commands] == [
        *("model", "system", "status", "clear", "retry"),
        *("commit", "docs", "explain", "fix", "review", "tests"),
    ]
    (review,) = [command for command in commands if command["name"] == "review"]
    assert review["description"] == "Review a diff"
    assert replaced.text() == "mine"
    assert "My status: fine" in json.dumps(json.loads(upstream.requests[-1].body)["messages"])


@pytest.mark.requirement("11:commands")
async def test_a_command_may_follow_the_files_that_a_client_attaches(
    hub: Hub, upstream: FakeUpstream, tmp_path: Path
) -> None:
    upstream.script(Reply.events(completion_stream(["reviewed"])), path="/v1/chat/completions")
    config = CONFIG.format(base_url=upstream.base_url) + '[prompts.review]\ntext = "Review this."\n'
    file = {"type": "resource", "resource": {"uri": "file:///a.py", "text": "x = 1"}}
    async with running_agent(hub, tmp_path, config=config) as agent:
        await agent.initialize()
        session = await agent.new_session()
        status = await agent.prompt(session, file, "/status")
        await agent.prompt(session, file, "/review carefully")

    assert "fake: not required" in status.text()
    sent = json.dumps(json.loads(upstream.requests[-1].body)["messages"])
    assert "Review this." in sent
    assert "carefully" in sent
    assert "x = 1" in sent
