"""One connection to a server, by means of the official SDK, which this module imports.

One task owns a connection from its start to its end, as the SDK requires. Calls run in the tasks of their
callers, so that cancelling a caller cancels the call.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

import mcp_types as types
from mcp.client.session import ClientSession, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types import HEADER_MISMATCH, UNSUPPORTED_PROTOCOL_VERSION
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

import jumpseat
from jumpseat.tools.mcp.dispatcher import CallAnswer, LeanDispatcher, Results
from jumpseat.tools.mcp.listing import MAX_TOOLS
from jumpseat.tools.server import ReportProgress, Tool, ToolError, ToolOutput

logger = logging.getLogger(__name__)

LIST_AGAIN_SECONDS = 1.0
"""The minimum interval between requests for the tools, however often the server announces changes."""

LISTEN_AGAIN_SECONDS = 10.0
"""The delay before a lost subscription to changes of the tools is reopened."""

MAX_PAGES = 1000
"""The maximum number of pages to read from one tool list."""

Streams: TypeAlias = tuple[Any, Any]
"""The SDK's streams of incoming and outgoing messages."""

OpenStreams: TypeAlias = Callable[[], AbstractAsyncContextManager[Streams]]


class Connection:
    """One connection. Call `start` once, and then `aclose`, which may be called in any task."""

    def __init__(
        self,
        name: str,
        open_streams: OpenStreams,
        *,
        results: Results | None = None,
        on_list: Callable[[], None] = lambda: None,
        on_end: Callable[[], None] = lambda: None,
    ) -> None:
        """
        Args:
            name: the name of the server, for the log.
            open_streams: returns a context manager that connects on entry and disconnects on exit.
            results: receives the results that the transport takes out of messages; None if the
                transport leaves messages unchanged.
            on_list: called after each attempt to list the tools again, even if it failed.
            on_end: called once when a connection that was ready has ended, for whatever reason.
        """
        self.tools: Sequence[Tool] = ()
        self._name = name
        self._open_streams = open_streams
        self._results = results or Results()
        self._on_list = on_list
        self._on_end = on_end
        self._task: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Receives a result when the connection is ready, or an exception if the start fails."""

        self._closing = asyncio.Event()
        """Set when the connection has to end."""

        self._changed = asyncio.Event()
        """Set when the tools have to be listed again."""

        self._session: ClientSession | None = None
        self._dispatcher: LeanDispatcher | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls can be sent."""
        return self._session is not None

    async def start(self) -> None:
        """Connect, and list the tools. If the caller is cancelled, the connection is closed.

        Raises:
            ToolError: the server refused, or cannot be reached.
            Exception: `open_streams` raised this exception.
        """
        self._task = asyncio.create_task(self._own_connection())
        try:
            await asyncio.shield(self._ready)
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """Close the connection. If the caller is cancelled meanwhile, do not wait for an orderly end."""
        self._closing.set()
        if self._task is None:
            return
        try:
            if not self._ready.done():
                self._task.cancel()
            await asyncio.wait([self._task])
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def call(
        self, tool: str, arguments: Mapping[str, Any], report_progress: ReportProgress
    ) -> ToolOutput:
        """Run a call. Cancelling the caller also cancels the call at the server.

        A call that the server may have run is never sent again.

        Raises:
            ToolError: the server refused the call, or the connection ended.
        """
        try:
            try:
                return await self._call(tool, arguments, report_progress)
            except MCPError as error:
                if error.code != HEADER_MISMATCH:
                    raise
                # The server did not run the call, because some arguments are missing from the headers. The
                # current list of tools says which arguments the SDK must also send as headers.
                await self._list()
                return await self._call(tool, arguments, report_progress)
        except MCPError as error:
            raise ToolError(f"The server {self._name} failed: {describe(error)}") from None
        except ValidationError:
            raise ToolError(f"The server {self._name} sent a result that breaks the protocol.") from None

    async def _call(
        self, tool: str, arguments: Mapping[str, Any], report_progress: ReportProgress
    ) -> ToolOutput:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            report_progress(progress, total, message)

        if self._session is None:
            raise ToolError(f"The connection to the server {self._name} has ended.")
        params = types.CallToolRequestParams(name=tool, arguments=dict(arguments))
        # `call_tool` would validate the result against the server's schema, which may take arbitrarily long.
        answer = await self._session.send_request(
            types.CallToolRequest(params=params), CallAnswer, progress_callback=on_progress
        )
        return answer.output

    # -- the task that owns the connection

    async def _own_connection(self) -> None:
        try:
            await self._run()
        except asyncio.CancelledError:
            self._fail(ToolError("The start was cancelled."))
            if not self._closing.is_set():
                # If the connection fails, the SDK cancels this task.
                logger.info("the connection to %s was cancelled by a failure", self._name)
        except BaseExceptionGroup as group:
            error = _find_cause(group)
            logger.info("the connection to %s failed: %r", self._name, error)
            self._fail(error if isinstance(error, Exception) else ToolError("It failed."))
        except Exception as error:
            self._fail(error)
        finally:
            was_open, self._session = self._session is not None, None
            if was_open:
                self._on_end()

    def _fail(self, error: Exception) -> None:
        if self._ready.done():
            logger.info("the connection to %s ended: %r", self._name, error)
        else:
            if isinstance(error, MCPError):
                error = ToolError(describe(error))
            elif isinstance(error, ValidationError):
                logger.debug("the server %s breaks the protocol: %s", self._name, error)
                error = ToolError("It sent a result that breaks the protocol.")
            self._ready.set_exception(error)
            self._ready.exception()  # Otherwise, asyncio logs the error if nobody awaits `_ready`.

    async def _run(self) -> None:
        info = types.Implementation(name="jumpseat", version=jumpseat.__version__)
        async with self._open_streams() as (read, write):
            self._dispatcher = LeanDispatcher(read, write, self._results, self._closing.set)
            async with ClientSession(
                dispatcher=self._dispatcher, client_info=info, message_handler=self._handle
            ) as session:
                await _negotiate(session)
                self._session = session
                try:
                    await self._list()
                except BaseException:
                    self._session = None
                    raise
                self._ready.set_result(None)
                await self._follow(session)

    async def _follow(self, session: ClientSession) -> None:
        """List the tools again after each change, until the connection is closed or lost."""
        capabilities = session.server_capabilities
        listening = None
        announces_changes = bool(capabilities and capabilities.tools and capabilities.tools.list_changed)
        if announces_changes and session.protocol_version in MODERN_PROTOCOL_VERSIONS:
            # These versions require a subscription. Older ones send the notifications without one.
            listening = asyncio.create_task(self._listen(session))
        try:
            while not self._closing.is_set():
                changed, closing = (
                    asyncio.ensure_future(each.wait()) for each in (self._changed, self._closing)
                )
                try:
                    await asyncio.wait([changed, closing], return_when=asyncio.FIRST_COMPLETED)
                finally:
                    changed.cancel()
                    closing.cancel()
                if self._changed.is_set() and not self._closing.is_set():
                    self._changed.clear()
                    await self._list_again()
        finally:
            if listening is not None:
                listening.cancel()
                await asyncio.wait([listening])

    async def _list_again(self) -> None:
        """List the tools, then wait for the rest of the interval or until the connection has to end."""
        begun = time.monotonic()
        try:
            await self._list()
        except (MCPError, ValidationError, ToolError) as error:
            logger.warning("the tools of %s cannot be listed again: %s", self._name, error)
        self._on_list()
        pause = LIST_AGAIN_SECONDS - (time.monotonic() - begun)
        try:
            async with asyncio.timeout(max(pause, 0)):
                await self._closing.wait()
        except TimeoutError:
            pass

    async def _listen(self, session: ClientSession) -> None:
        while True:
            try:
                async with listen(session, tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        self._changed.set()
            except (MCPError, SubscriptionLost) as error:
                logger.debug("changes of %s are not reported for now: %s", self._name, error)
            except Exception:
                logger.exception("changes of %s are not reported any longer", self._name)
                return
            await asyncio.sleep(LISTEN_AGAIN_SECONDS)
            self._changed.set()  # A change may have been missed in the meantime.

    async def _handle(self, message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            self._changed.set()

    async def _list(self) -> None:
        assert self._session is not None  # noqa: S101 - called while the session exists
        assert self._dispatcher is not None  # noqa: S101 - as above
        tools: list[Tool] = []
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            params = types.PaginatedRequestParams(cursor=cursor) if cursor is not None else None
            page = await self._session.list_tools(params=params)
            tools += self._dispatcher.listed
            cursor = page.next_cursor
            if cursor is None or len(tools) >= MAX_TOOLS:
                break
        self.tools = list({tool.name: tool for tool in tools[:MAX_TOOLS]}.values())


async def _negotiate(session: ClientSession) -> None:
    """Agree on a protocol version by `server/discover`, or else by the older `initialize`."""
    for attempt in range(2):
        try:
            await session.discover()
            return
        except (MCPError, ValidationError, RuntimeError) as error:
            logger.debug("no answer to server/discover: %s", error)
        try:
            await session.initialize()
            return
        except MCPError as error:
            # A slow server may process `discover` after our time limit, and then refuse `initialize`. If
            # that happens, try both once more.
            if error.code != UNSUPPORTED_PROTOCOL_VERSION or attempt:
                raise
        except RuntimeError as error:
            raise ToolError(f"It does not speak a known version of the protocol ({error}).") from None


def describe(error: MCPError) -> str:
    """Return the message of a server's error as one sentence of limited length."""
    message = " ".join(str(error.message).split())[:500]
    return message if message.endswith((".", "!", "?")) else f"{message}."


def _find_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception of a group that is not a group itself."""
    first = group.exceptions[0]
    return _find_cause(first) if isinstance(first, BaseExceptionGroup) else first
