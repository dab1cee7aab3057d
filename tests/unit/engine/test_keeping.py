"""Kept turns: when they are written, and how a failing store affects a chat."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import (
    ChatCancelled,
    ChatError,
    ConnectionError,
    ContentBlock,
    DoneEvent,
    Response,
    StartEvent,
    WarningEvent,
)
from jumpseat.conversations import BegunTurn, ConversationStore, NewTurn
from jumpseat.engine import Keeper, keeping, run_turn
from jumpseat.system.state_file import StateError
from tests.unit.conversations.support import alternate, texts
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, Step, ask, registry_of
from tests.unit.scripted import script_text as streamed

HI = alternate("Hi")


class SlowStore(ConversationStore):
    """Waits for `go_on` in each write, and then raises `broken` if the test has set it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.arrived = threading.Semaphore(0)
        self.go_on = threading.Semaphore(0)
        self.broken: Exception | None = None

    def begin(self, turn: NewTurn) -> BegunTurn:
        self._wait()
        return super().begin(turn)

    def finish(self, begun: BegunTurn, response: Response, error: ChatError | None = None) -> None:
        self._wait()
        super().finish(begun, response, error)

    def _wait(self) -> None:
        self.arrived.release()
        assert self.go_on.acquire(timeout=20)
        if self.broken is not None:
            raise self.broken


@pytest.fixture
def store(tmp_path: Path) -> ConversationStore:
    """Return an empty store."""
    return ConversationStore(tmp_path / "conversations")


def keeper_in(store: ConversationStore | None, warned: deque[str] | None = None) -> Keeper:
    """Return the keeper of a turn of the conversation `a`."""
    return Keeper(store, NewTurn(conversation_id="a", turn_id="t", messages=HI), warned or deque())


async def run(
    steps: Sequence[Step], keeper: Keeper, sink: RecordingSink | None = None
) -> Response | ChatError:
    """Return the outcome of a turn."""
    try:
        async with asyncio.timeout(20):
            registry = registry_of(ScriptedAdapter(list(steps)))
            return await run_turn(registry, ask(*HI), sink or RecordingSink(), keeper=keeper)
    except ChatError as error:
        return error


@pytest.mark.requirement("10:before-response", "10:start-names-it")
async def test_the_answer_is_kept_before_done(store: ConversationStore) -> None:
    class Watching(RecordingSink):
        def send(self, event: Any) -> None:
            super().send(event)
            if isinstance(event, StartEvent | DoneEvent):
                seen.append(texts(store))

    seen: list[list[str]] = []
    sink = Watching()
    response = await run([*streamed("Hel", "lo"), DONE], keeper_in(store), sink)
    assert isinstance(response, Response)
    assert seen == [["Hi"], ["Hi", "Hello"]]
    assert (sink.events[0].conversation_id, response.conversation_id) == ("a", "a")


@pytest.mark.requirement("10:partial")
async def test_a_failure_is_kept_with_its_partial(store: ConversationStore) -> None:
    error = await run([*streamed("Hel")[:2], ConnectionError("Reset.")], keeper_in(store))
    assert isinstance(error, ConnectionError)
    assert error.partial is not None
    assert error.partial.conversation_id == "a"
    assert texts(store) == ["Hi", "Hel"]


@pytest.mark.requirement("10:partial")
async def test_a_turn_cancelled_while_it_is_saved_is_kept_but_not_sent(tmp_path: Path) -> None:
    store, sink = SlowStore(tmp_path / "c"), RecordingSink()
    task = asyncio.ensure_future(run([*streamed("Hello"), DONE], keeper_in(store), sink))
    assert await asyncio.to_thread(store.arrived.acquire, timeout=20)
    task.cancel()
    store.go_on.release(2)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sink.events == []
    assert store.get("a").messages == HI
    assert not store.is_in_use("a")


@pytest.mark.requirement("10:partial", "10:client-dies")
async def test_a_cancel_does_not_interrupt_the_final_write(tmp_path: Path) -> None:
    store, sink = SlowStore(tmp_path / "c"), RecordingSink()
    keeper = keeper_in(store)
    task = asyncio.ensure_future(run([*streamed("Hello"), DONE], keeper, sink))
    store.go_on.release()
    for _ in range(2):
        assert await asyncio.to_thread(store.arrived.acquire, timeout=20)
    task.cancel()
    waiting = asyncio.ensure_future(keeper.wait_until_written())
    await asyncio.sleep(0)
    assert not waiting.done()
    store.go_on.release()
    response = await task
    await waiting
    assert isinstance(response, Response)
    assert sink.types[-1] == "done"
    assert texts(store) == ["Hi", "Hello"]


@pytest.mark.requirement("10:client-dies")
async def test_a_second_cancel_does_not_lose_the_partial(tmp_path: Path) -> None:
    store, stalled = SlowStore(tmp_path / "c"), asyncio.Event()
    text_sent = asyncio.Event()

    class Watching(RecordingSink):
        def send(self, event: Any) -> None:
            super().send(event)
            if event.type == "text_delta":
                text_sent.set()

    task = asyncio.ensure_future(run([*streamed("Hel")[:2], stalled], keeper_in(store), Watching()))
    store.go_on.release()
    assert await asyncio.to_thread(store.arrived.acquire, timeout=20)
    async with asyncio.timeout(20):
        await text_sent.wait()
    task.cancel()
    assert await asyncio.to_thread(store.arrived.acquire, timeout=20)
    task.cancel()
    store.go_on.release()
    assert isinstance(await task, ChatCancelled)
    assert texts(store) == ["Hi", "Hel"]


@pytest.mark.requirement("10:killed-daemon")
async def test_an_answer_in_progress_is_saved_before_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Telling(ConversationStore):
        def save_partial(self, begun: BegunTurn, content: Sequence[ContentBlock]) -> None:
            super().save_partial(begun, content)
            if content:
                saved.set()

    monkeypatch.setattr(keeping, "PARTIAL_SECONDS", 0.01)
    store, saved, stalled = Telling(tmp_path / "c"), threading.Event(), asyncio.Event()
    task = asyncio.ensure_future(run([*streamed("Hel")[:2], stalled], keeper_in(store)))
    assert await asyncio.to_thread(saved.wait, 20)
    assert texts(store) == ["Hi", "Hel"]
    assert store.is_in_use("a")
    task.cancel()
    assert isinstance(await task, ChatCancelled)
    assert texts(store) == ["Hi", "Hel"]


@pytest.mark.requirement("10:not-written", "10:not-kept-once")
@pytest.mark.parametrize("broken", [StateError("No room."), RuntimeError("a defect")])
@pytest.mark.parametrize("fails_at_begin", [True, False])
async def test_a_chat_succeeds_with_a_warning_if_the_store_fails(
    tmp_path: Path, broken: Exception, fails_at_begin: bool
) -> None:
    store, sink, warned = SlowStore(tmp_path / "c"), RecordingSink(), deque[str]()
    store.go_on.release(5)  # More than the writes of one turn, so that none of them waits.
    if fails_at_begin:
        store.broken = broken
    else:
        begin_in_store = store.begin

        def begin(turn: NewTurn) -> BegunTurn:
            begun = begin_in_store(turn)
            store.broken = broken
            return begun

        store.begin = begin
    keeper = Keeper(store, NewTurn(conversation_id="a", turn_id="t", messages=HI), warned)
    response = await run([*streamed("Hello"), DONE], keeper, sink)
    assert isinstance(response, Response)
    assert response.text == "Hello"
    assert [each.code for each in response.warnings] == ["conversation_not_kept"]
    assert [each for each in sink.events if isinstance(each, WarningEvent)] == list(response.warnings)
    assert "a defect" not in response.warnings[0].message
    assert sink.types[-1] == "done"
    assert list(warned) == ["a"]
    assert response.conversation_id == (None if fails_at_begin else "a")


@pytest.mark.requirement("10:switched-off")
async def test_a_client_is_warned_once_that_conversations_are_not_kept() -> None:
    warned = deque[str]()
    codes = []
    for _ in range(2):
        keeper = Keeper(None, NewTurn(conversation_id="a", turn_id="t", messages=HI), warned)
        response = await run([*streamed("Hello"), DONE], keeper)
        assert isinstance(response, Response)
        codes.append([each.code for each in response.warnings])
    assert codes == [["conversation_not_kept"], []]
