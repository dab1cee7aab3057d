"""An MCP server as one client sees it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Hashable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from jumpseat.chat import ConfigError, InvalidRequestError, RequestError
from jumpseat.system.environment import Environment
from jumpseat.system.shared import Reference
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking
from jumpseat.tools.display import summarize_call
from jumpseat.tools.mcp.definition import (
    Definition,
    make_sign_in_key,
    needs_folder,
    resolve,
    resolve_url,
)
from jumpseat.tools.mcp.record import acquire_record
from jumpseat.tools.mcp.run import ServerRun, import_with_sdk
from jumpseat.tools.mcp.stored_sign_ins import SignInStore
from jumpseat.tools.mcp.trust import TrustStore
from jumpseat.tools.selectors import Selector, matches_any
from jumpseat.tools.server import (
    CallContext,
    Preview,
    ServerSignIn,
    ServerStatus,
    ServerUnavailableError,
    SignInPage,
    Tool,
    ToolCall,
    ToolOutput,
    ToolServer,
)

logger = logging.getLogger(__name__)


class McpServer(ToolServer):
    """One server of a client's configuration. It is not started or connected to before `list_tools`."""

    def __init__(self, definition: Definition, environment: Environment) -> None:
        """
        Args:
            definition: the definition.
            environment: the client's environment.
        """
        super().__init__(definition.name, "workspace" if definition.is_of_workspace else "user")
        self.definition = definition
        self._environment = environment
        self._trust = TrustStore(environment.places)
        self._sign_ins = SignInStore(environment.places)
        self._untrusted_message = (
            f"The server {self.name} is defined by the workspace, and you have not trusted it."
        )
        self._is_trusted = not definition.is_of_workspace
        self._record = acquire_record(environment, definition.identity)
        self._record.value.listeners.add(self._announce)
        self._runs: dict[Hashable, Reference[ServerRun]] = {}
        """The runs that the turns of this client have used; see `acquire_run`."""

        self._patterns = [Selector(definition.name, pattern) for pattern in definition.table.tools]
        self._is_closed = False
        self._fault: str | None = None
        """Why this client's definition of the server could not be resolved; None if it could."""

    def _announce(self) -> None:
        self.on_change()

    # -- what is known without starting the server

    @property
    def known_tools(self) -> Sequence[Tool]:
        """The tools that were listed last; empty if the server is not trusted."""
        return self._select(self._record.value.tools) if self._is_trusted else ()

    @property
    def identity(self) -> str:
        """A text that changes with the definition."""
        return self.definition.identity

    @property
    def status(self) -> ServerStatus:
        """The state of the server."""
        definition, record = self.definition, self._record.value
        shown, fingerprint = definition.shown, definition.fingerprint
        if not self._is_trusted:
            return ServerStatus("untrusted", shown, fingerprint)
        if self._fault is not None:
            return ServerStatus("failed", shown, fingerprint, self._fault)
        return ServerStatus(record.state, shown, fingerprint, record.error)

    def is_available(self, context: CallContext) -> bool:
        """Whether the turn has the workspace folder that the server needs."""
        return bool(context.workspace.folders) or not needs_folder(self.definition)

    async def preview(self, call: ToolCall) -> Preview:
        """Describe a call by the tool's name, its title if the server has given one, and the arguments."""
        title = next((tool.title for tool in self.known_tools if tool.name == call.tool), None)
        name = call.tool if title is None else f"{call.tool} ({title})"
        return Preview(summarize_call(self.name, name, call.arguments))

    # -- use

    async def list_tools(self) -> Sequence[Tool]:
        """Start the server outside a turn, if necessary, and return its tools."""
        held = await self.acquire_run(self.definition.folder, "")
        try:
            return await self.start(held.value)
        finally:
            await held.release()

    async def start(self, run: ServerRun) -> Sequence[Tool]:
        """Start a run, if necessary, and return the tools that may be offered.

        Raises:
            ServerUnavailableError: the server cannot be started or reached.
        """
        return self._select(await run.start(self.definition.table.start_seconds))

    def begin_turn(self, context: CallContext) -> ToolServer:
        """Return the server for a turn."""
        return _ServerOfTurn(self, context)

    async def call(self, call: ToolCall) -> ToolOutput:
        """Not supported: calls go through the server that `begin_turn` returns."""
        raise NotImplementedError

    async def acquire_run(self, folder: Path | None, conversation: str) -> Reference[ServerRun]:
        """Acquire the run for a turn; the caller must release it. The run may not have been started yet.

        Args:
            folder: the first workspace folder of the turn.
            conversation: the key of the turn's conversation.

        Raises:
            ServerUnavailableError: the server is not trusted, or its definition cannot be resolved.
        """
        await self.prepare()
        if not self._is_trusted:
            raise ServerUnavailableError(self._untrusted_message)
        try:
            target = await resolve(self.definition, folder)
        except ServerUnavailableError as error:
            self._set_fault(str(error))
            raise
        self._set_fault(None)
        table = self.definition.table
        place = {"user": None, "workspace": folder, "conversation": conversation}[table.scope]
        key = ("mcp server", self._environment.places.state_dir, target.key, table.scope, place)

        def acquire() -> Reference[ServerRun]:
            return self._environment.shared.acquire(
                key,
                lambda: ServerRun(self.name, target, self._environment, self._record.value),
                ServerRun.close,
                linger=table.idle_minutes * 60,
            )

        if key not in self._runs and not self._is_closed:
            # Keep a second reference while this client uses the definition. Otherwise, the run would be
            # released at the end of each turn.
            self._runs[key] = acquire()
            self._runs[key].value.add_client(table.idle_minutes * 60)
        return acquire()

    def _select(self, tools: Sequence[Tool]) -> Sequence[Tool]:
        if self.definition.table.tools == ["*"]:
            return tools
        return [tool for tool in tools if matches_any(self._patterns, self.name, tool.name)]

    def _set_fault(self, fault: str | None) -> None:
        if fault != self._fault:
            self._fault = fault
            self.on_change()

    # -- trust

    async def prepare(self) -> None:
        """Check again whether the user trusts the server, because another client may have changed that."""
        definition = self.definition
        if not definition.is_of_workspace:
            return
        is_trusted = False
        if definition.folder is not None:
            try:
                is_trusted = await run_blocking(
                    self._trust.is_trusted, definition.folder, self.name, definition.fingerprint
                )
            except StateError as error:
                logger.warning("no server of a workspace is trusted: %s", error.message)
        if is_trusted != self._is_trusted:
            self._is_trusted = is_trusted
            self.on_change()

    async def set_trust(self, fingerprint: str, *, trusted: bool) -> None:
        """Trust the definition with this fingerprint, or withdraw the trust; see the base class.

        A server that is no longer trusted stops after the current turns.
        """
        definition = self.definition
        if not definition.is_of_workspace:
            await super().set_trust(fingerprint, trusted=trusted)  # This raises the error.
        if fingerprint != definition.fingerprint:
            raise InvalidRequestError.at("fingerprint", "must match the current definition")
        if definition.folder is None:
            raise RequestError(
                f"The server {self.name} cannot be trusted, because there is no workspace folder."
            )
        await run_blocking(
            partial(self._trust.set, definition.folder, self.name, fingerprint, trusted=trusted)
        )
        await self.prepare()
        if not trusted:
            await self._release_runs(is_obsolete=True)

    # -- the sign-in

    async def read_sign_in(self) -> ServerSignIn:
        """Return the state of the sign-in according to the stored credential; see the base class."""
        if self.definition.table.url is None:
            return ServerSignIn("not_required")
        if self.definition.has_credential:
            return ServerSignIn("configured")
        stored = await run_blocking(self._sign_ins.read, await self._make_sign_in_key())
        if stored is None:
            needs_none = any(run.works_without_token for run in self._record.value.runs)
            return ServerSignIn("not_required" if needs_none else "signed_out")
        host = urlsplit(stored.issuer).netloc if stored.issuer is not None else None
        if stored.access_token is None:
            return ServerSignIn("expired", host)
        ends = stored.expires_at
        return ServerSignIn(
            "signed_in", host, datetime.fromtimestamp(ends, UTC) if ends is not None else None
        )

    async def sign_in(self, on_page: Callable[[SignInPage], None]) -> ServerSignIn:
        """Sign in with OAuth in the browser; see the base class."""
        await self.prepare()
        if not self._is_trusted:
            raise RequestError(self._untrusted_message)
        if (state := await self._check_supports_sign_in()) is not None:
            return state
        try:
            target = await resolve(self.definition, None)
            module = await import_with_sdk("jumpseat.tools.mcp.sign_in")
        except ServerUnavailableError as error:
            raise ConfigError(str(error), provider=self.definition.provider) from None
        is_required = await module.sign_in(self.name, target, self._environment, self._sign_ins, on_page)
        waiting = [run for run in self._record.value.runs if run.state == "needs_sign_in"]
        await asyncio.gather(*(run.reset() for run in waiting))
        return await self.read_sign_in() if is_required else ServerSignIn("not_required")

    async def sign_out(self) -> ServerSignIn:
        """Delete the token and the registration, and end the connections; see the base class."""
        if (state := await self._check_supports_sign_in()) is not None:
            return state
        left = await run_blocking(self._sign_ins.forget, await self._make_sign_in_key())
        await asyncio.gather(*(run.reset() for run in self._record.value.runs))
        if left:
            raise ConfigError(
                f"The token of {self.name} was deleted, but this file still has a copy: {left[0]}.",
                provider=self.definition.provider,
                hint=f"Delete {left[0]}.",
            )
        return await self.read_sign_in()

    async def _check_supports_sign_in(self) -> ServerSignIn | None:
        """Return None if the user can sign in to the server, or `not_required` for a server without a URL.

        Raises:
            ConfigError: the server's credential is set in the configuration.
        """
        if self.definition.table.url is None:
            return ServerSignIn("not_required")
        if self.definition.has_credential:
            raise ConfigError(
                f"There is no sign-in to {self.name}: its credential is set in the configuration.",
                provider=self.definition.provider,
                hint=f"Change or remove mcp.{self.name}.headers.",
            )
        return None

    async def _make_sign_in_key(self) -> str:
        return make_sign_in_key(self.definition.provider, await resolve_url(self.definition))

    # -- restart and end

    async def restart(self) -> None:
        """Stop all runs of the server, and start the run of this client again; see the base class."""
        try:
            held = await self.acquire_run(self.definition.folder, "")
        except ServerUnavailableError:
            return
        try:
            await asyncio.gather(*(run.reset() for run in self._record.value.runs))
            await self.start(held.value)
        except ServerUnavailableError as error:
            logger.info("%s", error)
        finally:
            await held.release()

    async def retire(self) -> None:
        """Release the runs. Runs that no other client uses stop after their current turns."""
        await self._close(is_obsolete=True)

    async def aclose(self) -> None:
        """Release the runs. Runs that no other client uses stop when they have been idle long enough."""
        await self._close(is_obsolete=False)

    async def _close(self, *, is_obsolete: bool) -> None:
        self._is_closed = True
        self._record.value.listeners.discard(self._announce)
        await self._release_runs(is_obsolete=is_obsolete)
        await self._record.release()

    async def _release_runs(self, *, is_obsolete: bool) -> None:
        runs, self._runs = self._runs, {}
        for held in runs.values():
            held.value.remove_client(is_obsolete=is_obsolete)
        await asyncio.gather(*(held.release() for held in runs.values()))


class _ServerOfTurn(ToolServer):
    """A server as one turn uses it."""

    def __init__(self, server: McpServer, context: CallContext) -> None:
        super().__init__(server.name, server.origin)
        self._server = server
        self._context = context
        self._held: Reference[ServerRun] | None = None

    @property
    def known_tools(self) -> Sequence[Tool]:
        return self._server.known_tools

    @property
    def identity(self) -> str:
        return self._server.identity

    @property
    def status(self) -> ServerStatus:
        return self._server.status

    def is_available(self, context: CallContext) -> bool:
        return self._server.is_available(context)

    async def preview(self, call: ToolCall) -> Preview:
        return await self._server.preview(call)

    async def list_tools(self) -> Sequence[Tool]:
        folders = self._context.workspace.folders
        folder = folders[0] if folders else None
        self._held = await self._server.acquire_run(folder, self._context.conversation)
        self._held.value.begin_turn()
        return await self._server.start(self._held.value)

    async def call(self, call: ToolCall) -> ToolOutput:
        assert self._held is not None  # noqa: S101 - only listed tools are called
        seconds = self._server.definition.table.start_seconds
        return await self._held.value.call(call.tool, call.arguments, call.report_progress, seconds)

    async def end_turn(self) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.value.end_turn()
            await held.release()
