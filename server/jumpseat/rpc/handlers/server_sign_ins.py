"""Handles `auth/…` for tool servers, if `provider` is `mcp:NAME`. See `docs/protocol/authentication.md`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Mapping
from typing import TYPE_CHECKING, Any

from jumpseat.adapters.base import AuthStatus
from jumpseat.chat import ChatError, ConfigError
from jumpseat.config.table_names import MCP_PREFIX
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.connections.tools import open_tools
from jumpseat.rpc.encode import object_to_wire
from jumpseat.rpc.handlers.sign_in_prompts import relay_prompts
from jumpseat.rpc.params import AuthStatusParams, SignInParams, SignOutParams
from jumpseat.system.state_file import StateError
from jumpseat.system.threads import run_blocking
from jumpseat.system.watch import Watcher

if TYPE_CHECKING:
    from jumpseat.tools.host import ToolHost
    from jumpseat.tools.server import ServerSignIn, ToolServer

logger = logging.getLogger(__name__)

_MESSAGES = {
    "signed_out": "There is no sign-in to the server {name}.",
    "expired": "The server {name} no longer accepts its sign-in.",
}


def is_tool_server(provider: str | None) -> bool:
    """Whether an id names a tool server."""
    return provider is not None and provider.startswith(MCP_PREFIX)


async def server_status(session: Session, call: MethodCall[AuthStatusParams]) -> dict[str, Any]:
    """Return the state of the sign-in to a server, without a request."""
    server = await _find_server(session, call.params.provider)
    return _encode(server, await _convert_state_errors(server.read_sign_in()))


async def sign_in_to_server(session: Session, call: MethodCall[SignInParams]) -> dict[str, Any]:
    """Sign in to a server and respond with the final state; `auth/prompt` has the page for the user."""
    server = await _find_server(session, call.params.provider)
    with relay_prompts(session, call, f"{MCP_PREFIX}{server.name}") as on_page:
        return _encode(server, await _convert_state_errors(server.sign_in(on_page)))


async def sign_out_of_server(session: Session, call: MethodCall[SignOutParams]) -> dict[str, Any]:
    """Delete the stored credential of a server and respond with the remaining state."""
    server = await _find_server(session, call.params.provider)
    return _encode(server, await _convert_state_errors(server.sign_out()))


def follow_server_sign_ins(session: Session, host: ToolHost) -> None:
    """Notify the client about every change of a sign-in, whichever process makes it."""
    from jumpseat.tools.mcp.stored_sign_ins import SignInStore  # Deferred: most clients use no tools.

    async def follow() -> None:
        path = SignInStore(session.environment.places).path
        watcher = await run_blocking(lambda: Watcher([path]))
        known = await _read_states(host)
        async for _ in watcher:
            before, known = known, await _read_states(host)
            for name, status in known.items():
                if status != before.get(name):
                    session.outbox.notify("auth/didChange", status)

    session.run_in_background("following the sign-ins to servers", follow)


async def _read_states(host: ToolHost) -> Mapping[str, dict[str, Any]]:
    """Return the state of each sign-in that can be read, by the name of the server."""
    known = {}
    for server in host.servers.values():
        try:
            known[server.name] = _encode(server, await server.read_sign_in())
        except (ChatError, StateError) as error:
            logger.warning("the sign-in to %s cannot be read: %s", server.name, error.message)
    return known


async def _find_server(session: Session, provider: str | None) -> ToolServer:
    host = await open_tools(session)
    return host.find_server((provider or "").removeprefix(MCP_PREFIX), "provider")


async def _convert_state_errors(work: Awaitable[ServerSignIn]) -> ServerSignIn:
    try:
        return await work
    except StateError as error:
        raise ConfigError(error.message, hint=error.hint) from None


def _encode(server: ToolServer, sign_in: ServerSignIn) -> dict[str, Any]:
    message = _MESSAGES.get(sign_in.state)
    shaped: dict[str, Any] = object_to_wire(
        AuthStatus(
            provider=f"{MCP_PREFIX}{server.name}",
            state=sign_in.state,
            host=sign_in.host,
            expires_at=sign_in.expires_at,
            message=None if message is None else message.format(name=server.name),
        )
    )
    return shaped
