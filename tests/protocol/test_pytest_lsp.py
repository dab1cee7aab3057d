"""The daemon with the client of pytest-lsp, which implements JSON-RPC independently."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
import pytest_lsp
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import ClientServerConfig, LanguageClient

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.daemon import SERVE, provider


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    """Start a provider on a separate thread, because pytest-lsp's fixtures cannot use asynchronous ones."""
    with ThreadedUpstream() as running:
        yield running


@pytest_lsp.fixture(config=ClientServerConfig(server_command=[*SERVE]))
async def client(lsp_client: LanguageClient, upstream: ThreadedUpstream) -> Any:
    """Initialize a connection. pytest-lsp ends it with shutdown and exit."""
    await lsp_client.initialize_session(
        types.InitializeParams(
            capabilities=types.ClientCapabilities(),
            initialization_options={"config": provider(upstream.base_url)},
        )
    )
    yield
    await lsp_client.shutdown_session()


async def test_a_standard_client_streams_a_chat(client: LanguageClient, upstream: ThreadedUpstream) -> None:
    upstream.script(Reply.events(completion_stream(["Hel", "lo"])))
    deltas: asyncio.Queue[Any] = asyncio.Queue()
    client.feature("chat/delta")(lambda params: deltas.put_nowait(params))
    params = {"messages": [{"role": "user", "content": "hi"}]}
    result = await asyncio.wait_for(client.protocol.send_request_async("chat/start", params), 20)
    assert result.text == "Hello"
    kinds = []
    while not deltas.empty():
        kinds.append(deltas.get_nowait().delta.type)
    assert (kinds[0], kinds[-1]) == ("start", "done")


async def test_a_standard_client_gets_errors_with_their_codes(client: LanguageClient) -> None:
    with pytest.raises(JsonRpcException) as caught:
        await asyncio.wait_for(client.protocol.send_request_async("chat/start", {"messages": []}), 20)
    assert caught.value.code == -32602
