"""The example's providers, as a client of the real daemon sees them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from parlour_script import END, lines, whole

from jumpseat.testing.upstream import Gate, Reply
from tests.daemon import Daemon, Exchange, running_daemon, user
from tests.plugins.parlour import FakeParlour

pytestmark = [pytest.mark.requirement("7:plugins"), pytest.mark.slow]

WEATHER = {"name": "weather", "description": "Tells the weather.", "parameters": {"type": "object"}}


async def chat(daemon: Daemon, *messages: Any, **params: Any) -> Exchange:
    return await daemon.request("chat/start", {"messages": list(messages) or [user("hi")], **params})


async def test_a_chat_streams_and_its_lease_is_returned(daemon: Daemon, parlour: FakeParlour) -> None:
    parlour.script(
        lines({"voice": "alto-2", "visit": "v1"}, {"say": "Hel"}, {"say": "lo"}, END), path="/converse"
    )
    exchange = await chat(daemon, system="Be brief.", settings={"warmth": 0.5})

    assert exchange.result["text"] == "Hello"
    assert (exchange.result["provider"], exchange.result["stopReason"]) == ("den", "end_turn")
    assert (exchange.result["responseId"], exchange.result["rawStopReason"]) == ("v1", "finished")
    assert (exchange.result["usage"]["inputTokens"], exchange.result["usage"]["outputTokens"]) == (7, 3)
    assert "".join(each["text"] for each in exchange.deltas if each["type"] == "text_delta") == "Hello"
    (visit,) = parlour.visits
    assert visit.json == {
        "voice": "alto",
        "live": True,
        "at_most": 8192,
        "manners": "Be brief.",
        "warmth": 0.5,
        "tone": "plain",
        "turns": [{"who": "guest", "parts": [{"say": "hi"}]}],
    }
    assert (visit.headers["x-parlour-key"], visit.headers["x-parlour-lease"]) == ("key-of-the-den", "lease-1")
    assert "authorization" not in visit.headers
    assert parlour.requests[0].json == {"region": "south", "seconds": 60}
    assert parlour.returned == {"lease-1": "end_turn"}


async def test_an_unstreamed_answer_has_no_deltas_but_all_blocks(
    daemon: Daemon, parlour: FakeParlour
) -> None:
    parlour.script(whole({"ponder": "Hm", "seal": "s1"}, {"say": "Hello"}), path="/converse")
    exchange = await chat(daemon, stream=False)

    assert exchange.deltas == []
    assert exchange.result["text"] == "Hello"
    assert [block["type"] for block in exchange.result["content"]] == ["thinking", "text"]
    assert parlour.visits[0].json["live"] is False


async def test_tool_calls_and_sealed_thinking_are_sent_back_unchanged(
    daemon: Daemon, parlour: FakeParlour
) -> None:
    parlour.script(
        lines(
            {"ponder": "A tool"},
            {"ponder": "."},
            {"seal": "sealed:\u00e9"},
            {"errand": "weather", "ref": "r1", "input": '{"city": '},
            {"errand": "weather", "ref": "r1", "input": '"Rome"}'},
            {"errand": "weather", "ref": "r2", "input": '{"city": "Oslo"}'},
            {"stop": "errands"},
        ),
        lines({"say": "Sunny."}, END),
        path="/converse",
    )
    first = (await chat(daemon, tools=[WEATHER], thinking="low")).result
    assert first["stopReason"] == "tool_use"
    assert [call["arguments"] for call in first["toolCalls"]] == [{"city": "Rome"}, {"city": "Oslo"}]
    results = [
        {"type": "tool_result", "toolUseId": each["id"], "content": "sunny"} for each in first["toolCalls"]
    ]
    answer = {"role": "assistant", "content": first["content"]}
    second = await chat(daemon, user("hi"), answer, {"role": "user", "content": results}, tools=[WEATHER])

    assert second.result["text"] == "Sunny."
    assert parlour.visits[0].json["errands"] == [
        {"name": "weather", "about": "Tells the weather.", "takes": {"type": "object"}}
    ]
    _, host, guest = parlour.visits[1].json["turns"]
    assert host["parts"] == [
        {"ponder": "A tool.", "seal": "sealed:\u00e9"},
        {"errand": "weather", "ref": "r1", "input": '{"city": "Rome"}'},
        {"errand": "weather", "ref": "r2", "input": '{"city": "Oslo"}'},
    ]
    assert guest["parts"] == [
        {"ref": "r1", "outcome": "sunny", "failed": False},
        {"ref": "r2", "outcome": "sunny", "failed": False},
    ]


@pytest.mark.parametrize("first", [[], [{"say": "Hel"}]], ids=["before the first byte", "in mid-stream"])
async def test_a_cancel_closes_the_connection_and_returns_the_lease(
    daemon: Daemon, parlour: FakeParlour, first: list[dict[str, Any]]
) -> None:
    parlour.script(lines(*first, Gate(), END), path="/converse")
    request_id = daemon.start("chat/start", {"messages": [user("hi")]})
    if first:
        await daemon.read_delta("text_delta")
    else:
        await parlour.wait_for_request(2)
    daemon.notify("$/cancelRequest", {"id": request_id})
    exchange = await daemon.read_until(request_id)

    assert exchange.error["code"] == -32800
    assert exchange.error["data"]["partial"]["text"] == ("Hel" if first else "")
    # The first request is for the lease, the second for the chat, and the third returns the lease.
    await parlour.wait_for_disconnect(2)
    await parlour.wait_for_request(3)
    assert parlour.returned == {"lease-1": "cancelled"}


@pytest.mark.parametrize(
    ("reply", "code", "words"),
    [
        (Reply.json({"error": {"message": "wrong key"}}, 401), 1000, "wrong key"),
        (
            lines({"say": "Hel"}, {"trouble": {"code": "fire", "words": "fire"}}),
            1007,
            "The parlour gave up: fire",
        ),
        (lines({"trouble": {"whose": "guest", "words": "rude"}}), 1004, "rude"),
        (lines({"say": "Hel"}), 1009, "early"),
        (lines({"say": "Hel"}, b'{"say": "l'), 1009, "early"),
        (lines({"say": "Hel"}, {"say": 7}), 1009, "is not a string"),
    ],
)
async def test_a_failure_has_its_code_and_returns_the_lease(
    daemon: Daemon, parlour: FakeParlour, reply: Reply, code: int, words: str
) -> None:
    parlour.script(reply, path="/converse")
    error = (await chat(daemon)).error

    assert error["code"] == code
    assert words in error["message"]
    assert error["data"]["provider"] == "den"
    assert parlour.returned == {"lease-1": "error"}


async def test_each_attempt_of_a_retried_chat_has_its_own_lease(daemon: Daemon, parlour: FakeParlour) -> None:
    busy = Reply.json({"error": {"message": "busy"}}, 503, retry_after="0")
    parlour.script(busy, lines({"say": "Hi"}, END), path="/converse")
    exchange = await chat(daemon)

    assert exchange.result["text"] == "Hi"
    assert "retry" in exchange.delta_types
    assert parlour.returned == {"lease-1": "error", "lease-2": "end_turn"}


async def test_a_failed_set_up_ends_the_chat_before_the_request(daemon: Daemon, parlour: FakeParlour) -> None:
    parlour.default(Reply.json({"come_back_in": 900}), path="/leases")
    error = (await chat(daemon)).error

    assert (error["code"], error["message"]) == (1002, "The parlour is full.")
    assert error["data"]["retryAfter"] == 900
    assert parlour.visits == []


async def test_a_parameter_that_the_dialect_lacks_causes_a_warning(
    daemon: Daemon, parlour: FakeParlour
) -> None:
    parlour.script(lines({"say": "Hi"}, END), path="/converse")
    exchange = await chat(daemon, stopSequences=["."])

    (warning,) = [each for each in exchange.deltas if each["type"] == "warning"]
    assert warning["code"] == "parameter_dropped"


async def test_a_plug_ins_models_capabilities_and_settings_are_listed(
    daemon: Daemon, parlour: FakeParlour
) -> None:
    (model,) = (await daemon.request("models/list", {"provider": "den"})).result["models"]
    assert (model["id"], model["name"], model["maxContextTokens"]) == ("den:alto", "Alto", 4000)
    assert (model["isDefault"], model["supportsVision"]) == (True, False)
    rows = (await daemon.request("providers/list")).result["providers"]
    (row,) = [each for each in rows if each["id"] == "den"]
    assert (row["kind"], row["auth"]["state"]) == ("parlour", "configured")
    assert (row["capabilities"]["vision"], row["capabilitySources"]["vision"]) == (False, "static")
    assert [(each["key"], each["type"]) for each in row["settingsSchema"]] == [
        ("warmth", "number"),
        ("tone", "enum"),
    ]


async def test_a_plug_in_can_count_tokens(daemon: Daemon, parlour: FakeParlour) -> None:
    parlour.script(Reply.json({"tokens": 42}), path="/measure")
    counted = await daemon.request("chat/countTokens", {"messages": [user("hi")], "system": "Be brief."})

    assert counted.result == {"tokens": 42, "method": "provider"}
    assert parlour.requests[-1].json["manners"] == "Be brief."
    assert parlour.given == []


@pytest.mark.requirement("7:plugin-hooks")
@pytest.mark.parametrize(
    ("answer", "replacement"),
    [("Here you are: <<x = 2>> Enjoy!", "x = 2"), ("```python\nx = 2\n```", "x = 2")],
    ids=["the plug-in's format", "the daemon's format"],
)
async def test_a_plug_in_can_extract_the_replacement_of_an_edit(
    daemon: Daemon, parlour: FakeParlour, answer: str, replacement: str
) -> None:
    parlour.script(lines({"say": answer}, END), path="/converse")
    target = {"type": "context", "text": "x = 1", "languageId": "python"}
    edit = await daemon.request("edit/start", {"instruction": "Make it two.", "target": target})

    assert edit.result["replacement"] == replacement


async def test_a_setting_that_its_row_does_not_allow_is_refused(daemon: Daemon) -> None:
    error = (await chat(daemon, settings={"tone": "shrill"})).error

    assert error["code"] == -32602
    assert "plain, florid" in error["message"]


@pytest.mark.requirement("7:plugin-hooks")
async def test_a_plug_in_without_http_answers_a_chat(home: Path, plugin_environment: dict[str, str]) -> None:
    (home / "config.toml").write_text('[providers.parrot]\nkind = "echo"\ndefault_model = "polly"\n', "utf-8")
    async with running_daemon(home, env=plugin_environment) as daemon:
        await daemon.initialize()
        exchange = await chat(daemon, user("Pieces of eight!"))
        assert exchange.result["text"] == "Pieces of eight!"
        assert (exchange.result["provider"], exchange.result["model"]) == ("parrot", "polly")


@pytest.mark.requirement("7:plugins", "7:trust-plugins")
async def test_an_overlay_can_choose_a_plug_in_but_cannot_set_the_plug_ins_own_keys(
    home: Path, plugin_environment: dict[str, str], parlour: FakeParlour
) -> None:
    table = {"kind": "parlour", "base_url": parlour.origin, "default_model": "alto"}
    async with running_daemon(home, env=plugin_environment) as daemon:
        options = {"config": {"providers": {"new": {**table, "region": "south"}}}}
        params = {"processId": None, "capabilities": {}, "initializationOptions": options}
        refused = (await daemon.request("initialize", params)).error
        assert refused["code"] == 1010
        assert "providers.new.region" in refused["message"]

        parlour.script(lines({"say": "Hi"}, END), path="/converse")
        await daemon.initialize({"providers": {"new": table}})
        assert (await chat(daemon)).result["text"] == "Hi"


@pytest.mark.requirement("6:config")
async def test_a_wrong_value_in_a_plug_ins_table_is_reported_and_other_providers_work(
    home: Path, plugin_environment: dict[str, str]
) -> None:
    (home / "config.toml").write_text(
        '[providers.den]\nkind = "parlour"\nbase_url = "http://127.0.0.1:9"\nregion = "east"\n'
        '[providers.parrot]\nkind = "echo"\ndefault_model = "polly"\n',
        "utf-8",
    )
    async with running_daemon(home, env=plugin_environment) as daemon:
        await daemon.initialize()
        error = (await chat(daemon, model="den:alto")).error
        assert error["code"] == 1010
        assert error["message"].startswith("providers.den.region: ")
        rows = {row["id"]: row for row in (await daemon.request("providers/list")).result["providers"]}
        assert "providers.den.region" in rows["den"]["auth"]["message"]
        assert (await chat(daemon, model="parrot:polly")).result["text"] == "hi"


@pytest.mark.requirement("7:unknown-keys")
async def test_only_an_undeclared_key_of_a_plug_in_causes_a_warning(
    home: Path, plugin_environment: dict[str, str], parlour: FakeParlour
) -> None:
    (home / "config.toml").write_text(
        f'[providers.den]\nkind = "parlour"\nbase_url = "{parlour.origin}"\nregion = "south"\nregoin = 1\n',
        "utf-8",
    )
    async with running_daemon(home, env=plugin_environment) as daemon:
        await daemon.initialize()
        await daemon.request("providers/list")
        daemon.close_stdin()
        await daemon.exit_code()
    assert "unknown key providers.den.regoin is ignored by the plug-in parlour" in daemon.log
    assert "providers.den.region" not in daemon.log
