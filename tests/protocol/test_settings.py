"""Saved settings, on the wire and across daemons."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user

DID_CHANGE = "settings/didChange"


async def read_change(daemon: Daemon) -> Any:
    """Return the params of the next message, which must announce a change of the settings."""
    message = await daemon.read()
    assert message.get("method") == DID_CHANGE, message
    return message["params"]


def read_broken_files(home: Path) -> list[tuple[str, str]]:
    """Return the path and the content of each broken file that was set aside."""
    return [(str(path), path.read_text()) for path in home.glob("settings.json.broken-*")]


async def save(daemon: Daemon, **settings: Any) -> Any:
    return (await daemon.request("settings/save", {"settings": settings})).result


@pytest.mark.requirement("5:settings")
async def test_saved_settings_are_returned_completely_and_survive_a_restart(
    home: Path, upstream: FakeUpstream
) -> None:
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        assert (await daemon.request("settings/get")).result == {"settings": {"providers": {}}}
        await save(daemon, default_model="fake:x", max_tokens=100)
        whole = await save(daemon, providers={"fake": {"temperature": 0.2}})
        assert whole == {
            "settings": {
                "default_model": "fake:x",
                "max_tokens": 100,
                "providers": {"fake": {"temperature": 0.2}},
            }
        }

    async with running_daemon(home) as daemon:
        await daemon.initialize()
        assert (await daemon.request("settings/get", {})).result == whole


@pytest.mark.requirement("5:settings-overridden")
async def test_saving_a_value_that_is_overridden_warns_and_names_the_overriding_place(
    home: Path, upstream: FakeUpstream
) -> None:
    (home / "config.toml").write_text(
        'default_model = "fake:a"\n[settings]\nmax_tokens = 9\n[settings.providers.fake]\ntemperature = 1\n'
    )
    overlay = {**provider(upstream.base_url), "settings": {"max_tokens": 7}}
    async with running_daemon(home) as daemon:
        await daemon.initialize(overlay)
        answer = await save(
            daemon, default_model="fake:b", max_tokens=5, providers={"fake": {"temperature": 0.5, "top_p": 1}}
        )
        same = await save(daemon, default_model="fake:a", max_tokens=None, providers={"fake": {"top_p": 0.5}})

    file = home / "config.toml"
    assert {each["code"] for each in answer["warnings"]} == {"overridden"}
    assert sorted(each["message"] for each in answer["warnings"]) == [
        f'default_model was saved, but has no effect here: {file} sets it to "fake:a".',
        "max_tokens was saved, but has no effect here: the configuration of this editor sets it to 7.",
        f"providers.fake.temperature was saved, but has no effect here: {file} sets it to 1.",
    ]
    assert "warnings" not in same


@pytest.mark.requirement("5:settings-merge")
async def test_null_deletes_a_value_and_absent_values_are_not_changed(chatty: Daemon) -> None:
    await save(chatty, max_tokens=5, providers={"fake": {"temperature": 1, "top_p": 0.5}})
    before = (await chatty.request("settings/get")).result
    for params in (
        None,
        {},
        [],
        {"settings": None},
        {"settings": {}},
        {"settings": []},
        {"settings": {"providers": [], "default_model": {}}},
    ):
        exchange = await chatty.request("settings/save", params)
        assert (exchange.result, exchange.notifications) == (before, [])

    await save(chatty, max_tokens=None)
    left = await save(chatty, providers={"fake": {"top_p": None}})
    assert left == {"settings": {"providers": {"fake": {"temperature": 1}}}}


@pytest.mark.requirement("5:settings-rules")
async def test_an_invalid_value_is_reported_with_its_path_and_not_saved(chatty: Daemon) -> None:
    wrong = {"max_tokens": 0, "default_provider": "unknown", "providers": {"fake": {"temperature": 9}}}
    exchange = await chatty.request("settings/save", {"settings": {"default_model": "fake:x", **wrong}})

    assert exchange.error["code"] == -32602
    assert "max_tokens" in exchange.error["message"]
    assert {each["path"] for each in exchange.error["data"]["errors"]} == {
        "settings.max_tokens",
        "settings.default_provider",
        "settings.providers.fake.temperature",
    }
    assert exchange.notifications == []
    assert (await chatty.request("settings/get")).result == {"settings": {"providers": {}}}
    assert (await chatty.request("settings/save", {"settings": "x"})).error["code"] == -32602


@pytest.mark.requirement("5:settings-unlisted-model")
async def test_a_default_model_that_the_known_list_lacks_is_refused(
    chatty: Daemon, upstream: FakeUpstream
) -> None:
    async def try_to_save(**settings: Any) -> str | None:
        """Save settings with a default model. Return the reason if the model is refused."""
        exchange = await chatty.request("settings/save", {"settings": settings})
        if "result" in exchange.response:
            return None
        assert exchange.error["code"] == -32602
        (found,) = exchange.error["data"]["errors"]
        assert found["path"] == "settings.default_model"
        message: str = found["message"]
        return message

    assert await try_to_save(default_model="fake:swan") is None
    upstream.default(Reply.json({"data": [{"id": "small"}, {"id": "large"}]}))
    await chatty.request("models/list", {"provider": "fake"})
    assert await try_to_save(default_model="fake:smal") == "is not a model of fake; did you mean fake:small?"
    assert await try_to_save(default_model="nonsense") == "is not a model of fake"
    assert await try_to_save(default_model="zzz", default_provider="fake") == "is not a model of fake"
    for name in ("fake:large", "small", "fake:", "fake:small"):
        assert await try_to_save(default_model=name) is None
    # A server may have got a new model, so the daemon requests the list again before it refuses a name.
    upstream.default(Reply.json({"data": [{"id": "small"}, {"id": "pulled"}]}))
    assert await try_to_save(default_model="fake:pulled") is None
    assert (await chatty.request("settings/get")).result["settings"]["default_model"] == "fake:pulled"


@pytest.mark.requirement("5:settings-did-change")
async def test_a_change_is_announced_once_before_the_response(chatty: Daemon) -> None:
    for params, changes in (({"max_tokens": 5}, True), ({"max_tokens": 5}, False), ({}, False)):
        exchange = await chatty.request("settings/save", {"settings": params})
        expected = [{"jsonrpc": "2.0", "method": DID_CHANGE, "params": exchange.result}] if changes else []
        assert exchange.notifications == expected


@pytest.mark.slow
@pytest.mark.requirement("5:settings-did-change", "5:settings-two-processes")
async def test_every_daemon_notifies_its_client_of_what_another_daemon_saved(home: Path) -> None:
    async with running_daemon(home) as one, running_daemon(home) as other:
        for daemon in (one, other):
            await daemon.initialize()
            assert (await daemon.request("settings/get")).result == {"settings": {"providers": {}}}

        saved = await save(one, max_tokens=5)
        assert await read_change(other) == saved
        saved = await save(other, default_model="x")
        assert saved["settings"] == {"max_tokens": 5, "default_model": "x", "providers": {}}
        assert await read_change(one) == saved

        # A request reads the saved values even if the file watcher has not noticed the change yet. There is
        # still only one notification.
        await save(one, max_tokens=6)
        exchange = await other.request("settings/get")
        assert exchange.result["settings"]["max_tokens"] == 6
        assert [each["method"] for each in exchange.notifications] == [DID_CHANGE]
        (home / "settings.json").unlink()
        for daemon in (one, other):
            assert await read_change(daemon) == {"settings": {"providers": {}}}


@pytest.mark.requirement("5:settings-precedence", "2:max-tokens")
async def test_values_of_a_chat_precede_configured_ones_which_precede_saved_ones(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    configured = {"settings": {"providers": {"fake": {"temperature": 0.5}}}}
    await daemon.initialize({**provider(upstream.base_url), **configured})
    await save(daemon, max_tokens=77, providers={"fake": {"temperature": 0.1, "top_p": 0.1}})

    for own, expected in (
        ({}, (0.5, 0.1, 77)),
        ({"settings": {"top_p": 0.9}, "maxTokens": 9}, (0.5, 0.9, 9)),
    ):
        _ = (await daemon.request("chat/start", {"messages": [user("hi")], **own})).result
        body = upstream.requests[-1].json
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        assert (body["temperature"], body["top_p"], limit) == expected


@pytest.mark.requirement("5:settings-broken-file")
async def test_a_broken_file_is_kept_beside_the_new_one(home: Path, upstream: FakeUpstream) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    (home / "settings.json").write_text('{"settings": {"max_tok')
    async with running_daemon(home) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        assert (await daemon.request("chat/start", {"messages": [user("hi")]})).result["text"] == "Hi"
        await save(daemon, max_tokens=5)
        await daemon.request("shutdown")
        daemon.notify("exit")
        await daemon.exit_code()

    ((aside, text),) = read_broken_files(home)
    assert text == '{"settings": {"max_tok'
    assert json.loads((home / "settings.json").read_text())["settings"] == {"max_tokens": 5}
    assert aside in daemon.log


@pytest.mark.requirement("5:settings-kept")
async def test_values_of_a_newer_version_are_shown_kept_and_deletable(home: Path) -> None:
    newer = {"theme": {"dark": True}, "providers": {"gone": {"effort": "high"}}}
    (home / "settings.json").write_text(json.dumps({"version": 1, "settings": newer}))
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        shown = (await daemon.request("settings/get")).result
        assert shown == {"settings": newer}
        again = (await daemon.request("settings/save", shown)).result
        assert again == shown
        assert (await save(daemon, max_tokens=1))["settings"] == {**newer, "max_tokens": 1}
        left = await save(daemon, theme=None, providers={"gone": {"effort": None}})
        assert left == {"settings": {"max_tokens": 1, "providers": {}}}


async def test_saving_into_a_file_of_a_newer_format_is_an_error(home: Path) -> None:
    text = json.dumps({"version": 99, "settings": {"max_tokens": 3}})
    (home / "settings.json").write_text(text)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        error = (await daemon.request("settings/save", {"settings": {"max_tokens": 4}})).error

    assert error["code"] == 1010
    assert "newer version" in error["message"]
    assert (home / "settings.json").read_text() == text


@pytest.mark.requirement("5:settings-schema-of-a-model")
async def test_the_settings_of_a_model_come_from_its_provider(daemon: Daemon, upstream: FakeUpstream) -> None:
    fake = provider(upstream.base_url)["providers"]["fake"]
    row = {"type": "enum", "choices": ["a", "b"], "order": 99}
    other = {**fake, "settings": {"tone": row}, "kind": "anthropic", "api_key": "x"}
    await daemon.initialize({"default_provider": "fake", "providers": {"fake": fake, "other": other}})
    rows = {each["id"]: each for each in (await daemon.request("providers/list")).result["providers"]}

    for model, named in ((None, "fake"), ("fake:m", "fake"), ("other:x", "other")):
        found = (await daemon.request("settings/schema", {"model": model})).result
        assert found == {"provider": named, "settingsSchema": rows[named]["settingsSchema"]}
    assert found["settingsSchema"][-1]["key"] == "tone"
    error = (await daemon.request("settings/schema", {"model": "othre:x"})).error
    assert (error["code"], "did you mean other:x?" in error["message"].lower()) == (1004, True)
    assert upstream.requests == []
