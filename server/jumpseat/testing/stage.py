"""The hooks that a plug-in defines, and the stage on which each check runs an adapter and its provider."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import pytest

from jumpseat.adapters.base import Adapter, events_of
from jumpseat.chat import ChatError, ChatRequest, Message, Response, StreamEvent, ToolDefinition
from jumpseat.http import HttpClient
from jumpseat.testing.laws import check
from jumpseat.testing.recordings import Recording, load_recordings
from jumpseat.testing.scripts import Script
from jumpseat.testing.upstream import FakeUpstream, RecordedRequest, Scripted

CHECK_SECONDS = 60.0
"""The timeout for a check. Most take a few milliseconds."""

TIDY_SECONDS = 5.0
"""The time limit for connections to close and for cancelled tasks to end."""

TOOLS = (
    ToolDefinition(
        "weather",
        "Tells the weather of a city.",
        {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    ),
    ToolDefinition("clock", "Tells the time."),
)

P = ParamSpec("P")
C = TypeVar("C")


class ContractBase:
    """The hooks of the contract, to which `AdapterContract` adds the checks."""

    recordings: ClassVar[Path | None] = None
    """The folder with recordings; None skips the checks that need it."""

    script: ClassVar[Script | None] = None
    """The script for the provider's dialect; None skips the checks that need it."""

    speaks_http: ClassVar[bool] = True
    """Whether the adapter sends HTTP requests; if False, checks that need an HTTP server are skipped."""

    models: ClassVar[Sequence[str]] = ("contract-model-a", "contract-model-b")
    """The names of two models that the adapter accepts, or of one if it accepts only one."""

    secret: ClassVar[str | None] = None
    """The credential that `make_adapter` configures; None skips the checks that search for it.

    It needs at least 12 characters: shorter credentials may occur in ordinary text and are not redacted.
    """

    live_request: ClassVar[ChatRequest | None] = None
    """A chat that the real provider behind `make_adapter` answers with text; None skips the live checks."""

    def make_adapter(self, base_url: str, http: HttpClient) -> Adapter:
        """Return a new adapter whose provider is at this base URL.

        Args:
            base_url: the origin of the scripted server with the script's `base_path`; empty if `speaks_http`
                is false.
            http: the shared client, which the suite closes.
        """
        raise NotImplementedError(f"{type(self).__name__} must define make_adapter(base_url, http).")

    def make_adapter_without_credential(self, base_url: str, http: HttpClient) -> Adapter | None:
        """Return an adapter whose configured credential cannot be read, or None to skip the check."""
        return None

    def prepare(self, upstream: FakeUpstream) -> None:
        """Script the answers to requests other than chats, by default with the dialect's script."""
        if self.script is not None:
            self.script.prepare(upstream, self.models)

    @property
    def model(self) -> str:
        """The model that most checks use."""
        return self.models[0]

    def list_recordings(self) -> list[Recording]:
        """Return the recordings in order."""
        return [] if self.recordings is None else load_recordings(self.recordings)

    def hello(self, **changes: Any) -> ChatRequest:
        """Return a greeting to the first model, with `changes` to the fields of the request."""
        return replace(ChatRequest(messages=(Message.user("Hello."),), model=self.model), **changes)

    def request_of(self, recording: Recording) -> ChatRequest:
        """Return the recorded request, or a greeting if none was recorded.

        The request asks for a stream if the recorded answer is streamed.
        """
        request = recording.request or self.hello()
        return replace(request, model=request.model or self.model, stream=recording.streamed)

    def answers(self) -> Script:
        """Return the dialect's script. Skip the check if there is none or the adapter does not use HTTP."""
        if not self.speaks_http:
            pytest.skip("this adapter does not send HTTP requests")
        if self.script is None:
            pytest.skip("this contract has no `script`")
        return self.script

    @asynccontextmanager
    async def open_stage(self) -> AsyncIterator[Stage]:
        """Yield an adapter and its provider, and assert at the end that no connection is left open."""
        async with FakeUpstream() as upstream:
            base_path = "" if self.script is None else self.script.base_path
            self.prepare(upstream)
            http = HttpClient()
            adapter = self.make_adapter(f"{upstream.origin}{base_path}" if self.speaks_http else "", http)
            try:
                yield Stage(self, upstream, http, adapter)
            finally:
                await adapter.aclose()
                await http.aclose()
            await upstream.wait_until_unconnected()


class Stage:
    """An adapter and its scripted provider."""

    def __init__(
        self, contract: ContractBase, upstream: FakeUpstream, http: HttpClient, adapter: Adapter
    ) -> None:
        self.upstream = upstream
        self.http = http
        self.adapter = adapter
        self._contract = contract
        self._chat_path = None if contract.script is None else contract.script.chat_path

    @property
    def provider(self) -> str:
        """The adapter's `provider_name`."""
        return self.adapter.provider_name

    @property
    def chats(self) -> list[RecordedRequest]:
        """The chat requests that the provider has received so far."""
        path = self._chat_path
        return [each for each in self.upstream.requests if path is None or each.path == path]

    def request_body(self, number: int = -1) -> Any:
        """Return the request body of a chat, by default of the last one, as a JSON value."""
        script = self._contract.script
        request = self.chats[number]
        return request.json if script is None else script.parse_request(request)

    def answer(self, *replies: Scripted) -> None:
        """Script the answers to the next chats."""
        self.upstream.script(*replies, path=self._chat_path)

    def answer_all(self, reply: Scripted) -> None:
        """Script the answer to every chat."""
        self.upstream.default(reply, path=self._chat_path)

    async def wait_for_chat(
        self, number: int = 1, chats: Collection[asyncio.Task[Any]] = ()
    ) -> RecordedRequest:
        """Wait until the provider has received this many chats, and return the last of them.

        Args:
            number: the number of chats to wait for.
            chats: the running chats, none of which may end before the provider has received that many chats.

        Raises:
            AssertionError: the chats did not arrive, or one of `chats` ended; the message has the reason.
        """
        arrival = asyncio.create_task(self._wait_for_arrival(number))
        await asyncio.wait({arrival, *chats}, return_when=asyncio.FIRST_COMPLETED)
        if arrival.done():
            return await arrival
        arrival.cancel()
        ended = next(chat for chat in chats if chat.done())
        failure = None if ended.cancelled() else ended.exception()
        raise AssertionError(
            f"a chat ended before its provider could answer, with {failure or 'nothing'}"
        ) from failure

    async def _wait_for_arrival(self, number: int) -> RecordedRequest:
        seen = 0
        try:
            while len(self.chats) < number:
                seen += 1
                await self.upstream.wait_for_request(seen)
        except TimeoutError:
            paths = ", ".join(sorted({each.path for each in self.upstream.requests})) or "nothing"
            raise AssertionError(
                f"{self._chat_path} got {len(self.chats)} of {number} chats; requests went to: {paths}."
            ) from None
        return self.chats[number - 1]

    async def collect_events(self, request: ChatRequest) -> list[StreamEvent]:
        """Return all events of one attempt.

        Raises:
            ChatError: the attempt failed.
        """
        async with events_of(self.adapter, request) as events:
            return [event async for event in events]

    async def chat(self, request: ChatRequest) -> Response:
        """Return the response of `ChatModel.chat`."""
        model = self.adapter.bind(request.model)
        return await model.chat(
            request.messages,
            system=request.system,
            tools=request.tools,
            stream=request.stream,
            max_tokens=request.max_tokens,
            tool_choice=request.tool_choice,
            stop_sequences=request.stop_sequences,
            output_mode=request.output_mode,
            thinking=request.thinking,
            settings=request.settings,
            conversation_id=request.conversation_id,
            initiator=request.initiator,
        )

    async def collect_failure(self, request: ChatRequest) -> ChatError:
        """Return the error of a chat that fails, with its `partial`.

        Raises:
            AssertionError: the chat succeeds or raises an error other than a `ChatError`.
        """
        try:
            response = await self.chat(request)
        except ChatError as error:
            return error
        except Exception as error:
            raise AssertionError(
                f"the chat fails with {type(error).__name__}, which is not a ChatError: {error}"
            ) from error
        raise AssertionError(f"the failure was not raised: the response is {response!r}.")


def run_as_test(
    check_method: Callable[Concatenate[C, P], Coroutine[Any, Any, None]],
) -> Callable[Concatenate[C, P], None]:
    """Wrap an async check as a test with its own event loop, a timeout and a check for leftover tasks."""

    # Each test has its own loop, so the suite runs with any async plug-in of pytest, or without one.
    def run(self: C, /, *args: P.args, **kwargs: P.kwargs) -> None:
        async def within_bounds() -> None:
            async with asyncio.timeout(CHECK_SECONDS):
                await check_method(self, *args, **kwargs)
            await _assert_no_task_is_left()

        asyncio.run(within_bounds())

    # pytest shows the wrapped name and parametrizes by the wrapped signature.
    functools.update_wrapper(run, check_method)
    return run


async def _assert_no_task_is_left() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    if others:
        # A cancelled task may need one iteration of the loop to end.
        _, others = await asyncio.wait(others, timeout=TIDY_SECONDS)
    names = ", ".join(sorted(str(task.get_coro()) for task in others))
    check(not others, f"tasks are left behind: {names}")
