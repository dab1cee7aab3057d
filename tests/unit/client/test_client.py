"""The asyncio client, whose daemon is a real process that follows a script."""

from __future__ import annotations

import asyncio
import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jumpseat_client import (
    ChatFailed,
    Client,
    DaemonDied,
    Delta,
    RequestFailed,
    RequestTimeout,
    StartFailed,
    connection,
)
from tests.fakes.scenario import Scenario, answer_steps

TEXT = {"delta": {"type": "text_delta", "block": 0, "text": "Hel"}}
CANCELLED = {
    "error": {
        "code": -32800,
        "message": "Cancelled.",
        "data": {"kind": "cancelled", "retryable": False, "partial": {"text": "Hel", "content": []}},
    }
}


pytestmark = pytest.mark.timeout(60)


def client(scenario: Scenario, **options: Any) -> Client:
    return Client.spawn(scenario.command, **options)


async def wait_until_received(scenario: Scenario, method: str) -> list[dict[str, Any]]:
    """Wait until the daemon has logged a message with this method, and return all such messages."""
    # The test's timeout limits this loop.
    while not (messages := scenario.read_messages(method)):  # noqa: ASYNC110 - there is no event to await
        await asyncio.sleep(0.005)
    return messages


async def test_the_client_initializes_the_daemon_and_shuts_it_down(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path)
    async with client(scenario, config={"default_provider": "x"}, coalesce_ms=5, client_name="me") as daemon:
        assert daemon.server_info["name"] == "fake"
        assert daemon.server_capabilities["protocolVersion"] == 1

    assert [message["method"] for message in scenario.read_messages()] == [
        "initialize", "initialized", "shutdown", "exit",
    ]  # fmt: skip
    params = scenario.read_messages()[0]["params"]
    assert params["processId"] == os.getpid()
    assert params["clientInfo"]["name"] == "me"
    assert params["initializationOptions"] == {
        "protocolVersions": [1], "config": {"default_provider": "x"}, "coalesceMs": 5,
    }  # fmt: skip


async def test_a_chat_yields_its_deltas_and_then_has_a_result(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, answer_steps("Hel", "lo"))
    async with client(scenario) as daemon:
        stream = daemon.chat("Hi", model="fake:m", max_tokens=5, output_mode="json")
        assert stream.result is None
        deltas = [delta async for delta in stream]
        result = await stream.response()

    assert [delta.seq for delta in deltas] == list(range(6))
    assert "".join(delta.text for delta in deltas) == "Hello"
    assert deltas[-1].stopReason == deltas[-1].stop_reason == deltas[-1]["stopReason"] == "end_turn"
    assert result is stream.result
    assert (result.text, result.stop_reason, result.tool_calls) == ("Hello", "end_turn", [])
    assert result.as_message() == {"role": "assistant", "content": [{"type": "text", "text": "Hello"}]}
    assert result.usage["outputTokens"] == result["usage"]["outputTokens"] == 2
    assert scenario.read_messages("chat/start")[0]["params"] == {
        "messages": [{"role": "user", "content": "Hi"}],
        "model": "fake:m",
        "maxTokens": 5,
        "outputMode": "json",
    }
    assert not scenario.read_messages("$/cancelRequest")


async def test_the_result_is_available_without_the_deltas(tmp_path: Path) -> None:
    async with client(Scenario.chat(tmp_path, answer_steps("Hello"))) as daemon:
        stream = daemon.chat([{"role": "user", "content": "Hi"}], stream=False)
        assert (await stream.response()).text == "Hello"
        with pytest.raises(RuntimeError, match="once"):
            aiter(stream)


async def test_concurrent_chats_do_not_mix(tmp_path: Path) -> None:
    async with client(Scenario.chat(tmp_path, answer_steps("one"), answer_steps("two"))) as daemon:
        first, second = daemon.chat("1"), daemon.chat("2")

        async def text(stream: Any) -> str:
            return "".join([delta.text async for delta in stream])

        assert await asyncio.gather(text(first), text(second)) == ["one", "two"]


async def test_breaking_out_of_the_loop_cancels_the_turn_immediately(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    async with client(scenario) as daemon:
        stream = daemon.chat("Hi")
        async for delta in stream:
            assert delta.text == "Hel"
            break
        cancel = await wait_until_received(scenario, "$/cancelRequest")
        assert cancel[0]["params"] == {"id": stream.request_id}
        with pytest.raises(ChatFailed) as caught:
            await stream.response()

    assert len(scenario.read_messages("$/cancelRequest")) == 1
    assert caught.value.kind == "cancelled"
    assert caught.value.partial == {"text": "Hel", "content": []}


async def test_breaking_out_of_the_loop_cancels_a_chat_without_other_references_too(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    async with client(scenario) as daemon:
        async for _ in daemon.chat("Hi"):
            break
        await wait_until_received(scenario, "$/cancelRequest")


async def test_an_exception_in_the_loop_cancels_the_turn(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    async with client(scenario) as daemon:
        with suppress(KeyError):
            async for _ in daemon.chat("Hi"):
                raise KeyError
        await wait_until_received(scenario, "$/cancelRequest")


@pytest.mark.parametrize("how", ["iterating", "awaiting"])
async def test_a_cancelled_task_cancels_its_turn(tmp_path: Path, how: str) -> None:
    scenario = Scenario.chat(tmp_path, [{"wait": "cancel"}, CANCELLED])
    async with client(scenario) as daemon:
        stream = daemon.chat("Hi")

        held: list[BaseException] = []

        async def use() -> None:
            try:
                if how == "awaiting":
                    await stream.response()
                else:
                    _ = [delta async for delta in stream]
            except asyncio.CancelledError as error:
                # The traceback refers to the loop's iterator, which must not prevent the turn from ending.
                held.append(error)
                raise

        task = asyncio.create_task(use())
        await wait_until_received(scenario, "chat/start")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_until_received(scenario, "$/cancelRequest")


async def test_a_failed_chat_raises_after_its_deltas(tmp_path: Path) -> None:
    error = {"code": 1002, "message": "Too many requests.", "data": {
        "kind": "rate_limit", "retryable": True, "hint": "Wait.", "partial": {"text": "Hel"}}}  # fmt: skip
    async with client(Scenario.chat(tmp_path, [TEXT, {"error": error}])) as daemon:
        seen: list[Delta] = []

        async def use() -> None:
            async for delta in daemon.chat("Hi"):
                seen.append(delta)  # noqa: PERF401 - the deltas before the error must be kept

        with pytest.raises(ChatFailed, match=r"Too many requests\.") as caught:
            await use()

    assert [delta.text for delta in seen] == ["Hel"]
    failed = caught.value
    assert (failed.code, failed.kind, failed.hint, failed.retryable) == (1002, "rate_limit", "Wait.", True)
    assert failed.partial == {"text": "Hel"}


async def test_progress_is_passed_on_with_its_percentage(tmp_path: Path) -> None:
    steps = [
        {"progress": {"kind": "begin", "title": "Loading the model"}},
        {"progress": {"kind": "report", "message": "Half of it", "percentage": 50}},
        {"progress": {"kind": "end"}},
        *answer_steps("Hi"),
    ]
    scenario = Scenario.chat(tmp_path, steps)
    seen: list[tuple[str, int | None]] = []
    async with client(scenario) as daemon:
        await daemon.chat("Hi", on_progress=lambda *progress: seen.append(progress)).response()

    assert seen == [("Loading the model", None), ("Half of it", 50)]
    assert scenario.read_messages("chat/start")[0]["params"]["workDoneToken"]


async def test_a_daemon_that_ends_in_a_chat_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"stderr": "out of luck\n"}, {"die": 7}])
    async with client(scenario) as daemon:
        with pytest.raises(DaemonDied, match=r"code 7(?s:.*)out of luck") as caught:
            _ = [delta async for delta in daemon.chat("Hi")]
        with pytest.raises(DaemonDied):
            await daemon.request("models/list")
        with pytest.raises(DaemonDied):
            await daemon.chat("again").response()
        with pytest.raises(DaemonDied):
            daemon.notify("$/anything")
    assert caught.value.return_code == 7


async def test_a_flood_on_stderr_is_logged_and_does_not_block_the_chat(tmp_path: Path, caplog: Any) -> None:
    flood = [{"stderr": "x" * 99 + "\n", "times": 20_000}, {"stderr": "y" * 100_000}]
    scenario = Scenario.chat(tmp_path, [*flood, *answer_steps("Hi")])
    with caplog.at_level(logging.INFO, "jumpseat_client.daemon"):
        async with client(scenario) as daemon:
            assert (await daemon.chat("Hi").response()).text == "Hi"
    assert caplog.messages.count("x" * 99) == 20_000


async def test_the_error_names_a_daemon_that_cannot_be_started() -> None:
    with pytest.raises(StartFailed, match="no-such-program"):
        async with Client.spawn(["no-such-program"]):
            pass


async def test_a_daemon_that_ends_while_it_starts_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    with pytest.raises(DaemonDied, match=r"code 3(?s:.*)ends as scripted"):
        async with client(Scenario(tmp_path, initialize="die")):
            pass


async def test_a_daemon_that_never_answers_is_reported_after_the_start_timeout(tmp_path: Path) -> None:
    scenario = Scenario(tmp_path, initialize="silence")
    with pytest.raises(StartFailed, match=r"within 0\.5 seconds"):
        async with client(scenario, start_timeout=0.5):
            pass


async def test_the_daemons_reason_for_refusing_to_initialize_is_in_the_error(tmp_path: Path) -> None:
    error = {"code": 1010, "message": "api_key is wrong.", "data": {"kind": "config"}}
    with pytest.raises(RequestFailed, match="api_key") as caught:
        async with client(Scenario(tmp_path, answers={"initialize": {"error": error}})):
            pass
    assert caught.value.kind == "config"


async def test_a_daemon_that_does_not_exit_is_killed_after_the_grace_period(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "STOP_GRACE", 0.5)
    scenario = Scenario(tmp_path, exit="ignore")
    async with client(scenario) as daemon:
        process = daemon._require_connection()._process
        assert process is not None
        started = time.monotonic()
    assert process.died is not None
    # The process ends only if it is killed. The upper bound allows for a busy machine.
    assert 0.4 < time.monotonic() - started < 15


async def test_a_request_that_times_out_is_cancelled(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [{"wait": "cancel"}, CANCELLED])
    async with client(scenario) as daemon:
        with pytest.raises(RequestTimeout, match="chat/start"):
            await daemon.request("chat/start", {}, timeout=0.1)
        await wait_until_received(scenario, "$/cancelRequest")


async def test_lists_and_status_are_returned_as_on_the_wire(tmp_path: Path) -> None:
    status = {"provider": "fake", "state": "not_required"}
    answers = {
        "models/list": {"models": [{"id": "fake:m"}], "errors": []},
        "providers/list": {"providers": [{"id": "fake"}]},
        "auth/status": status,
        "chat/countTokens": {"tokens": 17, "method": "estimate"},
        "settings/schema": {"provider": "fake", "settingsSchema": [{"key": "seed"}]},
        "transcript/check": {"diagnostics": [{"code": "model"}]},
        "transcript/parse": {"messages": [], "turns": []},
        "transcript/render": {"text": "* Me"},
        "prompts/list": {"prompts": [{"name": "review", "usesInput": True}]},
        "prompts/get": {"name": "review", "text": "Review: x"},
    }
    block = {"type": "context", "text": "x"}
    scenario = Scenario(tmp_path, answers=answers)
    async with client(scenario) as daemon:
        assert await daemon.list_models(provider="fake", refresh=True) == answers["models/list"]
        assert await daemon.list_providers() == [{"id": "fake"}]
        assert await daemon.auth_status() == status
        assert await daemon.count_tokens("Hi", system="S", thinking="low") == answers["chat/countTokens"]
        assert await daemon.settings_schema("fake:m") == [{"key": "seed"}]
        assert await daemon.check_transcript("---", line=2) == [{"code": "model"}]
        assert await daemon.parse_transcript("* Me", format="org", line=0) == answers["transcript/parse"]
        assert await daemon.render_transcript([], format="org", level=3) == "* Me"
        assert await daemon.list_prompts() == [{"name": "review", "usesInput": True}]
        assert await daemon.get_prompt("review", "x") == answers["prompts/get"]
        await daemon.get_prompt("review", context=[block], model="fake:m", default_model="fake:n")
        with pytest.raises(RequestFailed) as caught:
            await daemon.request("no/such")
    assert caught.value.code == -32601
    assert [each["params"] for each in scenario.read_messages("prompts/get")] == [
        {"name": "review", "input": "x"},
        {
            "name": "review",
            "input": "",
            "context": [block],
            "model": "fake:m",
            "defaultModel": "fake:n",
        },
    ]
    assert scenario.read_messages("models/list")[0]["params"] == {"provider": "fake", "refresh": True}
    assert scenario.read_messages("transcript/check")[0]["params"] == {
        "text": "---",
        "format": "markdown",
        "line": 2,
    }
    assert scenario.read_messages("transcript/parse")[0]["params"] == {
        "text": "* Me",
        "format": "org",
        "line": 0,
    }
    assert (
        scenario.read_messages("transcript/render")[0]["params"].items()
        >= {"format": "org", "level": 3}.items()
    )
    assert scenario.read_messages("chat/countTokens")[0]["params"] == {
        "messages": [{"role": "user", "content": "Hi"}],
        "system": "S",
        "allowEstimate": True,
        "thinking": "low",
    }


async def test_leaving_the_block_cancels_running_chats(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    async with client(scenario) as daemon:
        deltas = aiter(daemon.chat("Hi"))
        await anext(deltas)
    assert [message["method"] for message in scenario.read_messages()][-3:] == [
        "$/cancelRequest",
        "shutdown",
        "exit",
    ]


async def test_using_a_client_outside_its_block_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="outside"):
        await client(Scenario(tmp_path)).list_models()


async def test_a_result_has_the_warnings_and_its_usage_is_empty_if_unreported(tmp_path: Path) -> None:
    warning = {"code": "thinking_dropped", "message": "It was left out."}
    scenario = Scenario.chat(tmp_path, [{"result": {"text": "Hi", "warnings": [warning]}}])
    async with client(scenario) as daemon:
        result = await daemon.chat("Hi").response()

    assert (result.warnings, result.usage) == ([warning], {})
