"""The synchronous client, whose daemon is a real process that follows a script."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from jumpseat_client import (
    ChatFailed,
    ChatStream,
    Client,
    DaemonDied,
    RequestFailed,
    RequestTimeout,
    StartFailed,
    SyncChat,
    SyncClient,
)
from tests.fakes.scenario import Scenario, answer_steps

WAIT_SECONDS = 30
TEXT = {"delta": {"type": "text_delta", "block": 0, "text": "Hel"}}
CANCELLED = {
    "error": {
        "code": -32800,
        "message": "Cancelled.",
        "data": {"kind": "cancelled", "retryable": False, "partial": {"text": "Hel", "content": []}},
    }
}

pytestmark = pytest.mark.timeout(60)


def client(scenario: Scenario, **options: Any) -> SyncClient:
    return SyncClient.spawn(scenario.command, **options)


def wait_until_received(scenario: Scenario, method: str) -> list[dict[str, Any]]:
    """Wait until the daemon has logged a message with this method, and return all such messages."""
    deadline = time.monotonic() + WAIT_SECONDS
    while not (messages := scenario.read_messages(method)):
        assert time.monotonic() < deadline, f"no {method} within {WAIT_SECONDS} seconds"
        time.sleep(0.005)
    return messages


def client_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "jumpseat-client"]


def test_a_chat_yields_its_deltas_and_then_has_a_result(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, answer_steps("Hel", "lo"))
    with client(scenario) as daemon:
        assert daemon.server_info["name"] == "fake"
        assert daemon.server_capabilities["protocolVersion"] == 1
        stream = daemon.chat("Hi", model="fake:m", max_tokens=5)
        assert stream.result is None
        deltas = list(stream)
        result = stream.response()

    assert [delta.seq for delta in deltas] == list(range(6))
    assert "".join(delta.text for delta in deltas) == result.text == "Hello"
    assert result is stream.result
    assert scenario.read_messages("chat/start")[0]["params"] == {
        "messages": [{"role": "user", "content": "Hi"}],
        "model": "fake:m",
        "maxTokens": 5,
    }
    assert not scenario.read_messages("$/cancelRequest")
    assert [message["method"] for message in scenario.read_messages()][-2:] == ["shutdown", "exit"]
    assert client_threads() == []


def test_the_result_is_available_without_the_deltas(tmp_path: Path) -> None:
    with client(Scenario.chat(tmp_path, answer_steps("Hello"))) as daemon:
        stream = daemon.chat("Hi", stream=False)
        assert stream.response().text == "Hello"
        with pytest.raises(RuntimeError, match="once"):
            list(stream)


def test_leaving_the_loop_cancels_the_turn_immediately(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    with client(scenario) as daemon:
        stream = daemon.chat("Hi")
        for delta in stream:
            assert delta.text == "Hel"
            break
        wait_until_received(scenario, "$/cancelRequest")
        with pytest.raises(ChatFailed) as caught:
            stream.response()

    assert len(scenario.read_messages("$/cancelRequest")) == 1
    assert (caught.value.kind, caught.value.partial) == ("cancelled", {"text": "Hel", "content": []})


def test_an_exception_in_the_loop_cancels_the_turn(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    with client(scenario) as daemon:
        with suppress(KeyError):
            for _ in daemon.chat("Hi"):
                raise KeyError
        wait_until_received(scenario, "$/cancelRequest")


def test_another_thread_can_cancel_a_chat(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    with client(scenario) as daemon:
        stream = daemon.chat("Hi")
        deltas = iter(stream)
        next(deltas)
        canceller = threading.Thread(target=stream.cancel)
        canceller.start()
        with pytest.raises(ChatFailed, match="Cancelled"):
            next(deltas)
        canceller.join(WAIT_SECONDS)


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Handle SIGINT as on a terminal. Tests that a shell has started in the background would ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_during_a_wait_cancels_the_turn(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [{"wait": "cancel"}, CANCELLED])

    def interrupt() -> None:
        wait_until_received(scenario, "chat/start")
        # Send the signal to the main thread, which is waiting for the answer, as a terminal does.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    with client(scenario) as daemon:
        interrupter = threading.Thread(target=interrupt)
        interrupter.start()
        with pytest.raises(KeyboardInterrupt):
            daemon.chat("Hi").response()
        wait_until_received(scenario, "$/cancelRequest")
        interrupter.join(WAIT_SECONDS)


@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_while_a_turn_is_being_scheduled_cancels_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = Scenario.chat(tmp_path, [{"wait": "cancel"}, CANCELLED])
    schedule = asyncio.BaseEventLoop.call_soon_threadsafe

    def interrupt_after_scheduling(*args: Any, **options: Any) -> asyncio.Handle:
        handle = schedule(*args, **options)
        if threading.current_thread() is threading.main_thread():
            monkeypatch.undo()
            wait_until_received(scenario, "chat/start")
            signal.raise_signal(signal.SIGINT)
        return handle

    with client(scenario) as daemon:
        monkeypatch.setattr(asyncio.BaseEventLoop, "call_soon_threadsafe", interrupt_after_scheduling)
        with pytest.raises(KeyboardInterrupt):
            daemon.chat("Hi").response()
        wait_until_received(scenario, "$/cancelRequest")


def test_a_failed_chat_raises_after_its_deltas(tmp_path: Path) -> None:
    error = {"code": 1002, "message": "Too many requests.", "data": {"kind": "rate_limit", "retryable": True}}
    with client(Scenario.chat(tmp_path, [TEXT, {"error": error}])) as daemon:
        deltas = iter(daemon.chat("Hi"))
        assert next(deltas).text == "Hel"
        with pytest.raises(ChatFailed, match="Too many requests") as caught:
            next(deltas)
    assert (caught.value.code, caught.value.retryable) == (1002, True)


def test_chats_of_several_threads_do_not_mix(tmp_path: Path) -> None:
    answers: dict[str, str] = {}
    with client(Scenario.chat(tmp_path, *(answer_steps("Hello") for _ in range(4)))) as daemon:

        def ask(name: str) -> None:
            answers[name] = "".join(delta.text for delta in daemon.chat(name))

        threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(WAIT_SECONDS)

    assert answers == dict.fromkeys("abcd", "Hello")


def signatures(thing: type) -> dict[str, object]:
    """Return the public methods with their parameters, and the properties."""
    members = {name: getattr(thing, name) for name in dir(thing) if not name.startswith("_")}
    return {
        name: list(inspect.signature(member).parameters.values()) if callable(member) else "property"
        for name, member in members.items()
    }


def test_the_methods_and_their_parameters_match_the_async_client() -> None:
    # The async client has attributes instead of these properties, and the class does not list attributes.
    properties = {"server_info": "property", "server_capabilities": "property"}
    only_sync = {"run", "call_soon"}
    offered = signatures(SyncClient)
    shared = {name: kind for name, kind in offered.items() if name not in only_sync}
    assert shared == signatures(Client) | properties
    assert not any(
        inspect.iscoroutinefunction(vars(SyncClient)[name]) for name in offered if name in vars(SyncClient)
    )


def test_a_chat_has_all_methods_of_an_async_chat() -> None:
    offered = signatures(ChatStream)
    del offered["deliver"]  # Only the connection calls this.
    assert signatures(SyncChat) == offered


def test_edits_requests_and_notifications_reach_the_daemon(tmp_path: Path) -> None:
    answers = {
        "settings/get": {"settings": {"max_tokens": 5}},
        "prompts/list": {"prompts": []},
        "edit/start": {"replacement": "new"},
    }
    scenario = Scenario(tmp_path, answers=answers)
    with client(scenario) as daemon:
        assert daemon.settings() == {"max_tokens": 5}
        assert daemon.list_prompts() == []
        edit = daemon.edit("old", "Improve it.")
        assert edit.request_id is None
        assert edit.response().replacement == "new"
        assert edit.request_id is not None
        daemon.notify("jumpseat/anything", {"a": 1})
        wait_until_received(scenario, "jumpseat/anything")
    assert scenario.read_messages("edit/start")[0]["params"]["target"] == {"type": "context", "text": "old"}


@pytest.mark.parametrize("iterates", [True, False])
def test_a_chat_that_exceeds_its_timeout_keeps_its_partial(tmp_path: Path, iterates: bool) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    with client(scenario) as daemon:
        stream = daemon.chat("Hi", timeout=0.2)
        with pytest.raises(RequestTimeout, match=r"did not end within 0\.2 seconds"):
            list(stream) if iterates else stream.response()
        with pytest.raises(ChatFailed) as caught:
            stream.response()
    assert caught.value.partial is not None
    assert (caught.value.partial.text, caught.value.partial.stop_reason) == ("Hel", None)
    assert len(scenario.read_messages("$/cancelRequest")) == 1


def test_a_timeout_applies_to_a_daemon_that_does_not_react(tmp_path: Path) -> None:
    silence = [{"wait": "file", "path": str(tmp_path / "never")}]
    with client(Scenario.chat(tmp_path, silence), timeout=0.2) as daemon:
        with pytest.raises(RequestTimeout, match=r"0\.1 seconds"):
            daemon.chat("Hi", timeout=0.1).response()
        with pytest.raises(RequestTimeout, match=r"chat/start within 0\.2 seconds"):
            daemon.request("chat/start", {})


@pytest.mark.parametrize("command", ["jumpseat serve", b"jumpseat", [], [b"jumpseat"], 7])
def test_a_command_that_is_not_a_list_of_strings_is_refused_with_an_example(command: Any) -> None:
    for kind in (SyncClient, Client):
        with pytest.raises(TypeError, match=r'must be a list .* such as \["jumpseat", "serve"\], not'):
            kind.spawn(command)


@pytest.mark.parametrize("option", ["env", "config"])
def test_an_environment_or_configuration_must_be_a_mapping(option: str) -> None:
    with pytest.raises(TypeError, match=f"{option} must be a mapping"):
        SyncClient.spawn(**{option: "A=1"})


def test_results_of_requests_are_returned_as_on_the_wire(tmp_path: Path) -> None:
    models = {"models": [{"id": "fake:m"}], "errors": []}
    scenario = Scenario(tmp_path, answers={"models/list": models, "auth/status": {"state": "not_required"}})
    with client(scenario) as daemon:
        assert daemon.list_models(provider="fake", refresh=True) == models
        assert daemon.request("auth/status") == {"state": "not_required"}
        with pytest.raises(RequestFailed) as caught:
            daemon.request("no/such")
    assert caught.value.code == -32601
    assert scenario.read_messages("models/list")[0]["params"] == {"provider": "fake", "refresh": True}


def test_a_daemon_that_ends_is_reported_with_its_last_lines(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"stderr": "out of luck\n"}, {"die": 7}])
    with client(scenario) as daemon, pytest.raises(DaemonDied, match="out of luck"):
        list(daemon.chat("Hi"))


def test_a_daemon_that_cannot_be_started_leaves_no_thread() -> None:
    with pytest.raises(StartFailed, match="no-such-program"), SyncClient.spawn(["no-such-program"]):
        pass
    assert client_threads() == []


def test_leaving_the_block_cancels_running_chats(tmp_path: Path) -> None:
    scenario = Scenario.chat(tmp_path, [TEXT, {"wait": "cancel"}, CANCELLED])
    with client(scenario) as daemon:
        deltas = iter(daemon.chat("Hi"))
        next(deltas)
    assert [message["method"] for message in scenario.read_messages()][-3:] == [
        "$/cancelRequest",
        "shutdown",
        "exit",
    ]
    assert client_threads() == []


def test_using_a_client_outside_its_block_is_an_error(tmp_path: Path) -> None:
    daemon = client(Scenario(tmp_path))
    with pytest.raises(RuntimeError, match="outside"):
        daemon.list_models()
    with daemon:
        pass
    with pytest.raises(RuntimeError, match="outside"):
        daemon.list_models()


def test_a_callback_that_uses_the_client_gets_an_error_and_does_not_hang(tmp_path: Path) -> None:
    steps = [{"progress": {"kind": "begin", "title": "Loading"}}, *answer_steps("Hi")]
    errors: list[str] = []
    with client(Scenario.chat(tmp_path, steps)) as daemon:

        def use_the_client(*_: object) -> None:
            try:
                daemon.list_models()
            except RuntimeError as error:
                errors.append(str(error))

        assert daemon.chat("Hi", on_progress=use_the_client).response().text == "Hi"
    assert errors == ["the client is used in one of its callbacks"]
