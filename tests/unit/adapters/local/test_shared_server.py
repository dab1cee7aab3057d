"""The llama.cpp process that the sessions of one daemon share, with a scripted llama.cpp."""

import asyncio
from dataclasses import replace

import pytest

from jumpseat.adapters.base.starts import MAX_STARTS
from jumpseat.adapters.local.adapter import LocalAdapter
from jumpseat.chat import ConnectionError, ProgressEvent, TextDeltaEvent
from jumpseat.config import ProviderConfig, TableOrigin
from jumpseat.http import HttpClient
from jumpseat.system.environment import empty_environment
from jumpseat.system.shared import Shared
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.unit.adapters.local.local_chats import WAIT_SECONDS, answer_of, ask, collect

pytestmark = pytest.mark.usefixtures("installed")


@pytest.fixture
async def shared():
    shared = Shared(lingering=True)
    yield shared
    await shared.aclose()


@pytest.fixture
async def session(shared, server_class):
    """Return a function that creates the adapter of a new session of the daemon."""
    made = []

    def make(**variables):
        table = ProviderConfig(kind="local")
        environment = replace(empty_environment(), variables=variables, shared=shared)
        table.origin = TableOrigin(environment=environment)
        http = HttpClient()
        made.append((LocalAdapter("local", table, http), http))
        return made[-1][0]

    yield make
    for adapter, http in made:
        await adapter.aclose()
        await http.aclose()


async def test_chats_of_two_sessions_use_one_process(session, server_class):
    server_class.may_load.clear()
    chats = [asyncio.create_task(answer_of(adapter)) for adapter in (session(), session()) for _ in range(4)]
    await asyncio.wait_for(server_class.loading.wait(), WAIT_SECONDS)
    server_class.may_load.set()
    assert await asyncio.wait_for(asyncio.gather(*chats), WAIT_SECONDS) == ["Hello"] * 8
    assert len(server_class.started) == 1


async def test_the_end_of_a_session_ends_neither_other_chats_nor_the_loaded_model(
    session, shared, server_class, upstream
):
    one, two = session(), session()
    await answer_of(two)
    upstream.script(Reply.events(completion_stream(["Hel", "lo"])[:2]).stall_after())
    chat = one.stream(ask())
    async for event in chat:
        if isinstance(event, TextDeltaEvent):
            break
    await two.aclose()
    assert not server_class.started[0].closed
    await chat.aclose()
    await one.aclose()
    assert not any(isinstance(event, ProgressEvent) for event in await collect(session()))
    assert len(server_class.started) == 1
    await shared.aclose()
    assert not server_class.started[0].closed  # The third session still uses it.


async def test_the_model_is_unloaded_with_the_daemon(session, shared, server_class):
    adapter = session()
    await answer_of(adapter)
    await adapter.aclose()
    assert not server_class.started[0].closed
    await shared.aclose()
    assert server_class.started[0].closed


async def test_a_load_continues_after_the_session_that_began_it_ends(session, server_class):
    server_class.may_load.clear()
    one, two = session(), session()
    first = asyncio.create_task(answer_of(one))
    await asyncio.wait_for(server_class.loading.wait(), WAIT_SECONDS)
    second = asyncio.create_task(answer_of(two))
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    await one.aclose()
    server_class.may_load.set()
    assert await asyncio.wait_for(second, WAIT_SECONDS) == "Hello"
    assert len(server_class.started) == 1


async def test_all_sessions_restart_the_process_within_one_budget(session, server_class):
    one, two = session(), session()
    for number in range(MAX_STARTS):
        await collect((one, two)[number % 2])
        server_class.started[-1].alive = False
    for adapter in (one, two):
        with pytest.raises(ConnectionError, match=f"has ended {MAX_STARTS} times") as failed:
            await collect(adapter)
        assert failed.value.provider == "local"
    assert len(server_class.started) == MAX_STARTS


async def test_the_loaded_model_counts_tokens_for_a_session_that_has_not_chatted(
    session, server_class, upstream
):
    one, two = session(), session()
    assert await two.count_tokens(ask()) == -1
    await answer_of(one)
    upstream.script(Reply.json({"input_tokens": 7}))
    assert await two.count_tokens(ask()) == 7


async def test_another_file_in_the_same_place_is_another_model(session, server_class, installed):
    await answer_of(session())
    installed.write_bytes(b"GGUF, longer")
    await answer_of(session())
    assert len(server_class.started) == 2


async def test_an_unused_model_is_unloaded_when_another_one_is_used(session, server_class):
    one = session()
    await answer_of(one)
    await one.aclose()
    assert not server_class.started[0].closed
    await answer_of(session(OMP_NUM_THREADS="3"))  # This starts another process.
    assert [server.closed for server in server_class.started] == [True, False]


async def test_only_variables_that_affect_the_model_separate_sessions(session, server_class):
    await answer_of(session(PATH="/a", GH_TOKEN="secret", CUDA_VISIBLE_DEVICES="0"))
    await answer_of(session(PATH="/b", CUDA_VISIBLE_DEVICES="0"))
    assert [server.variables for server in server_class.started] == [{"CUDA_VISIBLE_DEVICES": "0"}]
    await answer_of(session(CUDA_VISIBLE_DEVICES="1"))
    assert len(server_class.started) == 2
