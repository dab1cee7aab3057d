"""The connection to a server together with its program or its HTTP client. Imports the official SDK."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from mcp.client.streamable_http import streamable_http_client
from mcp_types import INTERNAL_ERROR

from jumpseat.chat import ChatError
from jumpseat.http import HttpClient
from jumpseat.http.library_client import MAX_MESSAGE_BYTES, Endpoint, open_library_client
from jumpseat.system.environment import Environment
from jumpseat.system.left_processes import ProcessRegister
from jumpseat.system.secrets import redact
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking
from jumpseat.tools.mcp.connection import Connection, Streams
from jumpseat.tools.mcp.definition import NeedsSignInError, Program, Remote
from jumpseat.tools.mcp.dispatcher import Results
from jumpseat.tools.mcp.oauth import StoredAuth
from jumpseat.tools.mcp.program import start_program
from jumpseat.tools.mcp.stored_sign_ins import SignInStore
from jumpseat.tools.mcp.streams import ReadStream, WriteStream
from jumpseat.tools.server import ReportProgress, ServerUnavailableError, Tool, ToolError, ToolOutput
from jumpseat.wire.line_child import LineChild

logger = logging.getLogger(__name__)

MAX_LAST_OUTPUT_CHARACTERS = 600
"""The maximum length of a program's last output in a message."""


def open_link(
    name: str,
    target: Program | Remote,
    environment: Environment,
    on_list: Callable[[], None],
    on_end: Callable[[ServerLink], None],
) -> ServerLink:
    """Return a link to a server. Call `start` to connect.

    Args:
        name: the name of the server, for messages.
        target: the program or the URL.
        environment: the environment of the client.
        on_list: called after each attempt to list the tools again, even if it failed.
        on_end: called with the link if its connection ends before `aclose` is called.
    """
    if isinstance(target, Program):
        return ProgramLink(name, target, environment, on_list, on_end)
    return RemoteLink(name, target, environment, on_list, on_end)


class ServerLink(ABC):
    """A connection to a server, and the resources that it needs."""

    def __init__(self, name: str, on_list: Callable[[], None], on_end: Callable[[ServerLink], None]) -> None:
        self._name = name
        self._on_list = on_list
        self._on_end = on_end
        self._is_closing = False
        self._connection: Connection | None = None

    @property
    def is_open(self) -> bool:
        """Whether calls can be sent."""
        return self._connection is not None and self._connection.is_open

    @property
    def has_started_program(self) -> bool:
        """Whether a program was started. The end of the connection then counts as a program failure."""
        return False

    @property
    def has_sent_token(self) -> bool:
        """Whether the server has received the token of a sign-in."""
        return False

    @property
    def tools(self) -> Sequence[Tool]:
        """The tools of the server."""
        return self._connection.tools if self._connection is not None else ()

    @abstractmethod
    async def start(self) -> None:
        """Connect. If that fails or is cancelled, everything is closed again.

        Raises:
            ServerUnavailableError: the server cannot be used.
        """

    @abstractmethod
    async def aclose(self, seconds: float) -> None:
        """Close everything.

        Args:
            seconds: how long a program may take to end before it is killed.
        """

    async def call(
        self, tool: str, arguments: Mapping[str, Any], report_progress: ReportProgress
    ) -> ToolOutput:
        """Run a call.

        Raises:
            ToolError: the call failed.
            NeedsSignInError: the server refused the credential.
        """
        assert self._connection is not None  # noqa: S101 - it was started
        return await self._connection.call(tool, arguments, report_progress)

    def _connect(
        self, open_streams: Callable[[], AbstractAsyncContextManager[Streams]], results: Results | None
    ) -> Connection:
        self._connection = Connection(
            self._name, open_streams, results=results, on_list=self._on_list, on_end=self._handle_end
        )
        return self._connection

    def _handle_end(self) -> None:
        if not self._is_closing:
            self._on_end(self)

    @abstractmethod
    def explain_end(self) -> str:
        """Return a sentence about the end of the connection."""


class ProgramLink(ServerLink):
    """The link to a program on stdio."""

    def __init__(
        self,
        name: str,
        program: Program,
        environment: Environment,
        on_list: Callable[[], None],
        on_end: Callable[[ServerLink], None],
    ) -> None:
        super().__init__(name, on_list, on_end)
        self._program = program
        self._environment = environment
        self._register = ProcessRegister(environment.places)
        self._child: LineChild | None = None

    @property
    def has_started_program(self) -> bool:
        """Whether the program was started."""
        return self._child is not None

    @property
    def is_open(self) -> bool:
        """Whether calls can be sent."""
        return super().is_open and self._child is not None and self._child.running

    async def start(self) -> None:
        """Start the program and connect; see the base class."""
        try:
            child = self._child = await start_program(self._name, self._program, self._environment)
            try:
                await run_blocking(self._register.add, child.pid, self._name)
            except StateError as error:
                logger.warning("%s may outlive a killed daemon: %s", self._name, error.message)
            await self._connect(lambda: _open_streams(child), None).start()
        except ToolError as error:
            why = await self._describe_failure(str(error))
            await self.aclose(0)
            raise ServerUnavailableError(why) from None
        except BaseException:
            await self.aclose(0)
            raise

    async def aclose(self, seconds: float) -> None:
        """Close the connection, then end the program with its children."""
        self._is_closing = True
        child = self._child
        try:
            if self._connection is not None:
                await self._connection.aclose()
        finally:
            if child is not None:
                await child.stop(seconds)
        if child is not None:
            try:
                await run_blocking(self._register.remove, child.pid)
            except StateError as error:
                logger.warning("%s", error.message)

    async def call(
        self, tool: str, arguments: Mapping[str, Any], report_progress: ReportProgress
    ) -> ToolOutput:
        """Run a call; see the base class."""
        try:
            return await super().call(tool, arguments, report_progress)
        except ToolError:
            if self._child is None or self._child.running:
                raise
            await self._child.wait_until_ended()
            raise ToolError(self.explain_end()) from None

    async def _describe_failure(self, message: str) -> str:
        child = self._child
        assert child is not None  # noqa: S101 - it was started
        if child.running:
            return f"The server {self._name} refused the connection. {message}{self._last_words()}"
        # The program's stderr is complete only after its end.
        await child.wait_until_ended()
        return f"The server {self._name} ended before it was ready: {child.why}.{self._last_words()}"

    def explain_end(self) -> str:
        """Return a sentence about the end of the program."""
        why = self._child.why if self._child is not None else None
        return f"The server {self._name} has ended: {why or 'it closed the connection'}.{self._last_words()}"

    def _last_words(self) -> str:
        """Return a sentence with the last output of the program; empty if there is none."""
        words = redact(" / ".join(self._child.last_lines)) if self._child is not None else ""
        if len(words) > MAX_LAST_OUTPUT_CHARACTERS:
            words = f"…{words[-MAX_LAST_OUTPUT_CHARACTERS:]}"
        return f" Its last output: {words}" if words else ""


@asynccontextmanager
async def _open_streams(child: LineChild) -> AsyncIterator[Streams]:
    yield ReadStream(child), WriteStream(child)


class RemoteLink(ServerLink):
    """The link to a URL, over streamable HTTP."""

    def __init__(
        self,
        name: str,
        remote: Remote,
        environment: Environment,
        on_list: Callable[[], None],
        on_end: Callable[[ServerLink], None],
    ) -> None:
        super().__init__(name, on_list, on_end)
        self._remote = remote
        self._auth = None
        if not remote.has_credential:
            self._auth = StoredAuth(remote.url, remote.sign_in_key, SignInStore(environment.places))
        self._http = HttpClient(remote.provider, remote.table, shared=environment.shared)
        self._results = Results()
        self._is_lost = False
        """Whether the server has forgotten the session of this connection."""

        self._status = 0
        """The HTTP status of the last response to a message."""

    async def start(self) -> None:
        """Connect; see the base class."""
        try:
            await self._connect(self._open_streams, self._results).start()
        except ToolError as error:
            await self.aclose(0)
            message = f"The server {self._name} cannot be used: {self._explain(str(error))}"
            raise self._find_refusal() or ServerUnavailableError(message) from None
        except BaseException:
            await self.aclose(0)
            raise

    async def aclose(self, seconds: float) -> None:
        """Close the connection."""
        self._is_closing = True
        if self._connection is not None:
            await self._connection.aclose()
        await self._http.aclose()

    async def call(
        self, tool: str, arguments: Mapping[str, Any], report_progress: ReportProgress
    ) -> ToolOutput:
        """Run a call; see the base class."""
        try:
            return await super().call(tool, arguments, report_progress)
        except ToolError as error:
            refusal = self._find_refusal()
            if isinstance(refusal, NeedsSignInError):
                raise refusal from None
            raise ToolError(self._explain(str(refusal or error))) from None

    @asynccontextmanager
    async def _open_streams(self) -> AsyncIterator[Streams]:
        endpoint = Endpoint(
            url=self._remote.url,
            map_message=self._results.detach,
            make_failure=_make_failure,
            on_answer=self._handle_answer,
        )
        async with (
            open_library_client(
                self._http,
                self._remote.provider,
                endpoint,
                headers=self._remote.headers,
                auth=self._auth,
            ) as client,
            streamable_http_client(
                self._remote.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES
            ) as streams,
        ):
            yield streams

    def _handle_answer(self, method: str, status: int) -> None:
        if method == "POST":
            self._status = status
            # Status 404 means that the server has forgotten the session. The next call opens a new session.
            self._is_lost = self._is_lost or (status == 404 and super().is_open)

    @property
    def is_open(self) -> bool:
        """Whether calls can be sent."""
        return super().is_open and not self._is_lost

    @property
    def has_sent_token(self) -> bool:
        """Whether the server has received the token of a sign-in."""
        return self._auth is not None and self._auth.has_sent_token

    def _find_refusal(self) -> ServerUnavailableError | None:
        """Return the error for a refused or missing credential; None if the last status was not 401."""
        if self._status != 401:
            return None
        if self._remote.has_credential:
            place = f"mcp.{self._name}.headers"
            return ServerUnavailableError(f"The server {self._name} refuses the credential in {place}.")
        return NeedsSignInError(f"The server {self._name} needs a sign-in.")

    def _explain(self, message: str) -> str:
        return f"{message} (HTTP {self._status})" if self._status >= 400 else message

    def explain_end(self) -> str:
        """Return a sentence about the end of the connection."""
        return f"The connection to the server {self._name} has ended."


def _make_failure(error: ChatError) -> dict[str, Any]:
    """Return an error response of the protocol for a request that failed."""
    message = " ".join(filter(None, (error.message, error.hint)))
    return {"jsonrpc": "2.0", "id": None, "error": {"code": INTERNAL_ERROR, "message": message}}
