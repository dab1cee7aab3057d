"""The tools of one client: its servers, its rules, its decisions and its pending approvals."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from jumpseat.chat import InvalidRequestError
from jumpseat.config import Config
from jumpseat.config.suggestions import alternatives
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import compute, run_blocking
from jumpseat.tools.approvals import Approvals
from jumpseat.tools.decisions import AlwaysAllowed
from jumpseat.tools.memory import ConversationState, acquire_states
from jumpseat.tools.rules import RuleDecision, Rules
from jumpseat.tools.selectors import Selector
from jumpseat.tools.server import CallContext, ServerUnavailableError, Tool, ToolServer
from jumpseat.tools.turn_tools import MANY_TOOLS, TurnTools

logger = logging.getLogger(__name__)

NO_SERVERS: Mapping[str, ToolServer] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool, and whether its calls are allowed, denied, or need the user's approval."""

    server: str
    tool: Tool
    decision: RuleDecision


class ToolHost:
    """The tools of one client. Belongs to the event loop that created it."""

    def __init__(self, config: Config, servers: Sequence[ToolServer], folder: Path | None = None) -> None:
        """
        Args:
            config: the client's configuration.
            servers: the servers that exist without any configuration.
            folder: the first workspace folder of the client.
        """
        self.approvals = Approvals()
        self.on_change: Callable[[], None] = lambda: None
        """Called when a server or a tool has changed."""

        self._config = config
        self._always = AlwaysAllowed(config.environment.places)
        self._states = acquire_states(config.environment)
        self._folder = folder
        self._built_in = {server.name: server for server in servers}
        self._configured: Mapping[str, ToolServer] = {}
        self._configure()

    def _announce(self) -> None:
        self.on_change()

    def _configure(self) -> None:
        self._servers = dict(self._built_in)
        if self._config.mcp or self._config.faults_of_mcp or self._configured:
            from jumpseat.tools.mcp.configured import create_servers  # Deferred: few users have MCP servers.

            self._configured = create_servers(self._config, self._folder, self._configured)
            for name in self._configured.keys() & self._built_in.keys():
                logger.warning("the configured server %s is not used: the name is already taken", name)
            self._servers = {**self._configured, **self._built_in}
        for server in self._servers.values():
            server.on_change = self._announce

    def reconfigure(self, config: Config) -> Sequence[ToolServer]:
        """Use another configuration from the next turn on; return the servers that are no longer used."""
        changed = config.tools != self._config.tools
        before = self._configured
        self._config = config
        self._configure()
        if changed or self._configured != before:
            self._announce()
        return [server for name, server in before.items() if self._configured.get(name) is not server]

    @property
    def servers(self) -> Mapping[str, ToolServer]:
        """The servers by name."""
        return self._servers

    def begin_turn(
        self,
        selectors: Sequence[str],
        context: CallContext,
        *,
        turn_id: str,
        max_rounds: int | None = None,
        has_conversation_id: bool = True,
        can_ask: bool = True,
        own_servers: Mapping[str, ToolServer] = NO_SERVERS,
    ) -> TurnTools:
        """Return the tools for a turn.

        Args:
            selectors: the tools that the client selected, as in `files/*`.
            context: the context of the turn's calls.
            turn_id: the id of the turn.
            max_rounds: the client's limit on the turn's requests to the provider. A lower configured limit
                takes precedence.
            has_conversation_id: whether later turns can belong to the same conversation.
            can_ask: whether the client can ask the user for an approval.
            own_servers: further servers by name; they replace other servers with the same name.

        Raises:
            InvalidRequestError: a selector does not have the form `server/tool`, or names an unknown server.
        """
        servers = {**self._servers, **own_servers}
        parsed: list[Selector] = []
        for index, text in enumerate(selectors):
            selector = Selector.parse(text)
            if selector is None:
                raise InvalidRequestError.at(f"daemonTools.{index}", "must have the form server/tool")
            if selector.server not in servers:
                near = alternatives(selector.server, sorted(servers))
                message = f"there is no tool server named {selector.server!r}{near}"
                raise InvalidRequestError.at(f"daemonTools.{index}", message)
            parsed.append(selector)
        options = self._config.tools
        # Without an id, the turn is a conversation of its own, so other turns must not find its state.
        state = (
            self._states.value.get_or_create(context.conversation)
            if has_conversation_id
            else ConversationState()
        )
        names = dict.fromkeys(selector.server for selector in parsed)
        return TurnTools(
            [servers[name] for name in names],
            parsed,
            replace(context, memory=state.server_states),
            options,
            turn_id=turn_id,
            max_rounds=min(max_rounds or options.max_rounds, options.max_rounds),
            state=state,
            has_conversation_id=has_conversation_id,
            always=self._always,
            approvals=self.approvals if can_ask else None,
        )

    async def list_tools(self, *, refresh: bool = False) -> list[ListedTool]:
        """Return the known tools of all servers.

        Args:
            refresh: whether to start the servers that are stopped, and to read their lists of tools.
        """
        with suppress(StateError):
            await run_blocking(self._always.read)
        await asyncio.gather(*(server.prepare() for server in self._servers.values()))
        if refresh:
            await asyncio.gather(*map(self._refresh, self._servers.values()))
        rules = Rules(self._config.tools)
        known = [(server, tool) for server in self._servers.values() for tool in server.known_tools]

        def decide_all() -> list[ListedTool]:
            return [
                ListedTool(server.name, tool, self._decide(rules, server, tool)) for server, tool in known
            ]

        return await compute(len(known) > MANY_TOOLS, decide_all)

    def find_server(self, name: str, parameter: str = "server") -> ToolServer:
        """Return the server with this name.

        Args:
            name: the name of the server.
            parameter: the parameter of the request that contained the name, for the error.

        Raises:
            InvalidRequestError: there is no such server.
        """
        server = self._servers.get(name)
        if server is None:
            near = alternatives(name, sorted(self._servers))
            raise InvalidRequestError.at(parameter, f"there is no tool server named {name!r}{near}")
        return server

    async def _refresh(self, server: ToolServer) -> None:
        try:
            await server.list_tools()
        except ServerUnavailableError as error:
            logger.info("the tools of %s cannot be listed: %s", server.name, error)
        except Exception:
            logger.exception("the tools of %s cannot be listed", server.name)

    def _decide(self, rules: Rules, server: ToolServer, tool: Tool) -> RuleDecision:
        decision = rules.find_decision(server.name, tool.name)
        if decision is None:
            return "allow" if self._always.find(server, tool) else "ask"
        return decision

    async def aclose(self) -> None:
        """Release the servers."""
        await asyncio.gather(*(server.aclose() for server in self._servers.values()))
        await self._states.release()
