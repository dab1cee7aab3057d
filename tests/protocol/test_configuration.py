"""Configuration files with mistakes, and files that change while clients are connected."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.copilot import next_notification
from tests.daemon import Daemon, running_daemon, user
from tests.unit.providers.plugged import Site

CHAT: dict[str, Any] = {"messages": [user("hi")], "turnId": "t1"}
SHOW = "window/showMessage"
CHANGED = "workspace/didChangeConfiguration"


def table(provider: str, upstream: FakeUpstream, **more: str) -> str:
    keys = {"kind": "openai", "base_url": upstream.base_url, "default_model": "m", **more}
    return f"[providers.{provider}]\n" + "".join(f'{key} = "{value}"\n' for key, value in keys.items())


def rewrite(home: Path, text: str) -> Path:
    """Replace the configuration file in one step, as careful editors do, and return its path."""
    fresh = home / "fresh.toml"
    fresh.write_text(text, "utf-8")
    fresh.replace(home / "config.toml")
    return home / "config.toml"


async def chat(daemon: Daemon, model: str) -> dict[str, Any]:
    response: dict[str, Any] = (await daemon.request("chat/start", {**CHAT, "model": model})).response
    return response


@pytest.mark.requirement("7:file-errors", "6:config", "5:providers-list")
async def test_a_wrong_table_is_reported_and_other_providers_still_work(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    file = rewrite(
        home, table("good", upstream) + '[providers.bad]\nkind = "openai"\ntimeout = 0\nname = 1\n'
    )
    await daemon.initialize()
    expected = f"{file}:7: providers.bad.timeout: must be greater than 0."
    assert await next_notification(daemon, SHOW) == {"type": 1, "message": expected}

    assert (await chat(daemon, "good:m"))["result"]["text"] == "Hi"
    error = (await chat(daemon, "bad:m"))["error"]
    assert (error["code"], error["message"]) == (1010, expected)
    assert f"{file}:8: providers.bad.name: must be a string." in error["data"]["hint"]
    rows = {row["id"]: row for row in (await daemon.request("providers/list")).result["providers"]}
    assert (rows["bad"]["configured"], rows["bad"]["auth"]["message"]) == (False, expected)
    assert (rows["bad"]["kind"], rows["bad"]["isDefault"]) == ("openai", False)
    assert rows["good"]["configured"]
    (failure,) = (await daemon.request("models/list", {"provider": "bad"})).result["errors"]
    assert failure["error"]["code"] == 1010


@pytest.mark.requirement("7:reread")
async def test_a_changed_file_is_reread_and_a_running_chat_continues(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    gate = Gate()
    events = completion_stream(["Hel", "lo"])
    upstream.script(Reply.events([*events[:2], gate, *events[2:]]))
    rewrite(home, table("one", upstream))
    await daemon.initialize()
    first = daemon.start("chat/start", CHAT)
    await daemon.read_delta("text_delta")

    async with FakeUpstream() as other:
        other.script(Reply.events(completion_stream(["New"])))
        rewrite(home, table("one", other) + table("two", other))
        await next_notification(daemon, "providers/didChange")
        assert (await chat(daemon, "one:m"))["error"]["data"]["kind"] == "invalid_params", (
            "the turn t1 has ended"
        )
        second = await daemon.request("chat/start", {**CHAT, "turnId": "t2", "model": "one:m"})
        assert second.result["text"] == "New"
        gate.open()
        assert (await daemon.read_until(first)).result["text"] == "Hello"
        rows = (await daemon.request("providers/list")).result["providers"]
        assert [row["id"] for row in rows] == ["copilot", "local", "one", "two"]
    assert len(upstream.requests) == 1


CLOSING = """
from pathlib import Path

class Acme(Adapter):
    def __init__(self, provider, config, http):
        super().__init__(provider, config, http)
        self.files = config.parameters

    async def stream(self, request):
        yield TextStartEvent(0)
        yield TextDeltaEvent(0, "Hello")
        while not Path(self.files["waits_for"]).exists():
            await asyncio.sleep(0.01)
        text = "Hello" if not Path(self.files["closed"]).exists() else "closed too early"
        yield TextDoneEvent(0, TextBlock(text))
        yield DoneEvent("end_turn")

    async def aclose(self):
        Path(self.files["closed"]).touch()
"""
"""An adapter that waits for a file in the middle of its answer, and creates another when it is closed."""


@pytest.mark.requirement("7:reread")
async def test_an_adapter_whose_table_changed_is_closed_after_its_last_turn(
    home: Path, tmp_path: Path
) -> None:
    Site(tmp_path / "site").install(CLOSING)

    def slow(waits_for: str, closed: str) -> str:
        files = f"{{ waits_for = '{tmp_path / waits_for}', closed = '{tmp_path / closed}' }}"
        return f'[providers.slow]\nkind = "acme"\nparameters = {files}\n'

    path = os.pathsep.join(filter(None, [str(tmp_path / "site"), os.environ.get("PYTHONPATH")]))
    async with running_daemon(home, env={"PYTHONPATH": path}) as daemon:
        rewrite(home, slow("gate", "first-closed"))
        await daemon.initialize()
        first = daemon.start("chat/start", {**CHAT, "model": "slow:m"})
        await daemon.read_delta("text_delta")
        rewrite(home, slow("first-closed", "second-closed"))
        daemon.notify(CHANGED, {"settings": {}})
        await next_notification(daemon, "providers/didChange")
        await daemon.request("auth/status", {"provider": "slow"})
        assert not (tmp_path / "first-closed").exists()
        (tmp_path / "gate").touch()
        assert (await daemon.read_until(first)).result["text"] == "Hello"
        # The new adapter waits for the file that the old one writes when it is closed.
        assert (await chat(daemon, "slow:m"))["result"]["text"] == "Hello"
        await daemon.request("shutdown")
        daemon.notify("exit")
        assert await daemon.exit_code() == 0
        assert (tmp_path / "second-closed").exists()


@pytest.mark.requirement("7:reread")
@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[providers.one\n", "is not valid TOML: "),
        pytest.param(
            "default_provider = 3\n", ":1: default_provider: must be a string.", marks=pytest.mark.slow
        ),
    ],
)
async def test_a_broken_new_file_is_reported_and_the_old_configuration_stays(
    home: Path, daemon: Daemon, upstream: FakeUpstream, text: str, expected: str
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    file = rewrite(home, table("one", upstream))
    await daemon.initialize()
    rewrite(home, text)
    shown = await next_notification(daemon, SHOW)
    assert shown["type"] == 1
    assert shown["message"].startswith("The previous configuration stays in effect. ")
    assert str(file) in shown["message"]
    assert expected in shown["message"]
    assert (await chat(daemon, "one:m"))["result"]["text"] == "Hi"

    rewrite(home, table("two", upstream))
    await next_notification(daemon, "providers/didChange")
    assert (await chat(daemon, "two:m"))["result"]["text"] == "Hi"
    assert "the previous configuration stays in effect" in await daemon.whole_log()


@pytest.mark.slow
@pytest.mark.requirement("7:reread")
async def test_a_deleted_file_removes_its_providers_but_not_a_running_chat(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    gate = Gate()
    events = completion_stream(["Hel", "lo"])
    upstream.script(Reply.events([*events[:2], gate, *events[2:]]))
    file = rewrite(home, table("one", upstream))
    await daemon.initialize()
    running = daemon.start("chat/start", {**CHAT, "model": "one:m"})
    await daemon.read_delta("text_delta")

    file.unlink()
    await next_notification(daemon, "providers/didChange")
    rows = (await daemon.request("providers/list")).result["providers"]
    assert "one" not in {row["id"] for row in rows}
    gate.open()
    assert (await daemon.read_until(running)).result["text"] == "Hello"


@pytest.mark.slow
@pytest.mark.requirement("7:reread")
async def test_the_configuration_stays_if_the_file_of_the_command_line_is_deleted(
    home: Path, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    file = rewrite(home, table("one", upstream))
    async with running_daemon(home, "--config", str(file)) as daemon:
        await daemon.initialize()
        file.unlink()
        shown = await next_notification(daemon, SHOW)
        assert shown["message"].startswith("The previous configuration stays in effect. ")
        assert "does not exist" in shown["message"]
        assert (await chat(daemon, "one:m"))["result"]["text"] == "Hi"


@pytest.fixture
async def overlaid(home: Path, daemon: Daemon, upstream: FakeUpstream) -> Daemon:
    """A daemon with the providers `one` and `two` in its file; the client's overlay selects `two`."""
    upstream.default(Reply.events(completion_stream(["Hi"])))
    rewrite(home, 'default_provider = "one"\n' + table("one", upstream) + table("two", upstream))
    await daemon.initialize({"default_provider": "two"})
    return daemon


async def default_of(daemon: Daemon) -> str:
    rows = (await daemon.request("providers/list")).result["providers"]
    (found,) = [row["id"] for row in rows if row["isDefault"]]
    return str(found)


@pytest.mark.requirement("7:reread")
async def test_a_client_replaces_its_overlay_and_a_change_without_an_overlay_keeps_it(
    home: Path, overlaid: Daemon, upstream: FakeUpstream
) -> None:
    assert await default_of(overlaid) == "two"
    overlaid.notify(CHANGED, {"settings": {"jumpseat": {"default_provider": "one"}}})
    await next_notification(overlaid, "providers/didChange")
    assert await default_of(overlaid) == "one"

    rewrite(home, 'default_provider = "two"\n' + table("one", upstream))
    for settings in ({}, None, {"jumpseat": None}, {"jumpseat": []}, {"other": {"a": 1}}):
        overlaid.notify(CHANGED, {"settings": settings})
    await next_notification(overlaid, "providers/didChange")
    assert await default_of(overlaid) == "one", "the overlay no longer applies"


@pytest.mark.requirement("7:reread", "7:trust")
async def test_a_later_overlay_beyond_its_limits_is_refused_too(overlaid: Daemon) -> None:
    beyond = {"default_provider": "one", "providers": {"two": {"base_url": "http://127.0.0.1:9/v1"}}}
    overlaid.notify(CHANGED, {"settings": {"jumpseat": beyond}})
    shown = await next_notification(overlaid, SHOW)
    assert "providers.two.base_url may not be changed: this provider is already defined" in shown["message"]
    assert await default_of(overlaid) == "two"


@pytest.mark.requirement("7:reread", "3:did-change")
async def test_a_changed_table_causes_a_notification_that_its_models_have_changed(
    home: Path, overlaid: Daemon, upstream: FakeUpstream
) -> None:
    rewrite(home, table("one", upstream, name="One") + table("two", upstream))
    overlaid.notify(CHANGED, {"settings": {}})
    message = await overlaid.read()
    assert (message["method"], message["params"]) == ("models/didChange", {"provider": "one"})
    assert (await overlaid.read())["method"] == "providers/didChange"
    before = len(upstream.requests)
    os.utime(home / "config.toml")
    overlaid.notify(CHANGED, {"settings": {}})
    exchange = await overlaid.request("chat/start", {**CHAT, "model": "two:m"})
    assert exchange.result["text"] == "Hi"
    assert {each["method"] for each in exchange.notifications} <= {"chat/delta"}, (
        "an unchanged file caused a notification"
    )
    assert len(upstream.requests) == before + 1


ROWS = """
default_model = "m"
parameters = { options = { kept = 1 } }
[providers.one.settings.stop_words]
type = "list"
mapping = "parameters.options"
[providers.one.settings.bias]
type = "map"
[providers.one.settings.tier]
type = "enum"
choices = ["flex", "priority"]
default = "flex"
order = -1
mapping = "parameters.options.deep"
[settings.providers.one]
thinking = "low"
max_tokens = 77
"""


@pytest.mark.requirement("5:settings-schema", "2:settings", "5:settings-precedence")
async def test_settings_rows_of_the_file_are_listed_checked_and_mapped(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    rewrite(home, table("one", upstream).replace('default_model = "m"\n', "") + ROWS)
    await daemon.initialize()
    (row,) = [
        row for row in (await daemon.request("providers/list")).result["providers"] if row["id"] == "one"
    ]
    first = row["settingsSchema"][0]
    assert (first["key"], first["type"], first["choices"]) == ("tier", "enum", ["flex", "priority"])
    assert (first["default"], first["mapping"]) == ("flex", "parameters.options.deep")

    await daemon.request("settings/save", {"settings": {"providers": {"one": {"bias": {"50256": -100}}}}})
    await daemon.request("chat/start", {**CHAT, "settings": {"stop_words": ["x"]}})
    sent = upstream.requests[-1].json
    assert sent["options"] == {"kept": 1, "stop_words": ["x"], "deep": {"tier": "flex"}}
    assert sent["bias"] == {"50256": -100}
    assert (sent["max_tokens"], sent["reasoning_effort"]) == (77, "low")
    await daemon.request("chat/start", {**CHAT, "maxTokens": 5, "thinking": "high"})
    sent = upstream.requests[-1].json
    assert (sent["max_tokens"], sent["reasoning_effort"]) == (5, "high")

    wrong = {"stop_words": "x", "bias": [], "tier": "slow", "thinking": "much", "colour": 1}
    error = (await daemon.request("chat/start", {**CHAT, "settings": wrong})).error
    assert error["code"] == -32602
    assert [each["path"] for each in error["data"]["errors"]] == [f"settings.{key}" for key in wrong]


@pytest.mark.requirement("1:order", "7:reread")
async def test_a_changed_configuration_applies_to_later_chats_and_not_to_earlier_ones(
    overlaid: Daemon, upstream: FakeUpstream
) -> None:
    def overlay(model: str) -> dict[str, Any]:
        settings = {"jumpseat": {"default_model": f"one:{model}"}}
        return {"jsonrpc": "2.0", "method": CHANGED, "params": {"settings": settings}}

    def start(number: int) -> dict[str, Any]:
        params = {"messages": [user("hi")], "stream": False}
        return {"jsonrpc": "2.0", "id": number, "method": "chat/start", "params": params}

    overlaid.send(start(1), overlay("a"), start(2), overlay("b"), start(3))
    models: dict[int, str] = {}
    while len(models) < 3:
        message = await overlaid.read()
        if "id" in message:
            models[message["id"]] = message["result"]["provider"] + ":" + message["result"]["model"]
    asked = [request.json["model"] for request in upstream.requests]
    assert (models[1].partition(":")[0], sorted(asked)) == ("two", ["a", "b", "m"])


@pytest.mark.requirement("1:order", "5:settings-precedence")
async def test_a_chat_right_after_saved_settings_uses_them(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    rewrite(home, table("one", upstream))
    await daemon.initialize()
    for limit in (11, 12, 13):
        daemon.start("settings/save", {"settings": {"max_tokens": limit}})
        started = daemon.start("chat/start", {"messages": [user("hi")], "model": "one:m"})
        while (await daemon.read()).get("id") != started:
            pass
        assert upstream.requests[-1].json["max_tokens"] == limit
