"""Handles `authenticate` and `logout`."""

from __future__ import annotations

from typing import Any

from jumpseat.acp.client import AcpClient
from jumpseat.acp.models import list_ready_providers
from jumpseat.acp.params import AuthenticateParams
from jumpseat.acp.sign_in import sign_in
from jumpseat.chat import InvalidRequestError
from jumpseat.connections.method import MethodCall
from jumpseat.connections.param_model import NoParams
from jumpseat.providers import KINDS, SIGN_IN_PROVIDER

AGENT_METHOD, TERMINAL_METHOD = "jumpseat", "jumpseat-terminal"
TERMINAL_FLAG = "--login"
"""The flag that the client appends to `jumpseat acp` for a sign-in on a terminal."""


def encode_auth_methods(client: AcpClient) -> list[dict[str, Any]]:
    """Return the sign-in methods, the agent's own method first."""
    service = KINDS[SIGN_IN_PROVIDER].display_name
    agent = {
        "id": AGENT_METHOD,
        "name": f"Sign in to {service}",
        "description": "Not needed if another provider is set up.",
    }
    if not client.abilities.terminal_sign_in:
        return [agent]
    terminal = {
        "id": TERMINAL_METHOD,
        "type": "terminal",
        "name": f"Sign in to {service} on a terminal",
        "args": [TERMINAL_FLAG],
    }
    return [agent, terminal]


async def authenticate(client: AcpClient, call: MethodCall[AuthenticateParams]) -> dict[str, Any]:
    """Sign in if no provider is ready. If an earlier sign-in is pending, always wait for it."""
    if call.params.method_id != AGENT_METHOD:
        raise InvalidRequestError.at("methodId", f"must be {AGENT_METHOD!r}")
    if client.pending_sign_in is not None or not await list_ready_providers(client.registry):
        await sign_in(client, call.request_id)
    return {}


async def logout(client: AcpClient, call: MethodCall[NoParams]) -> dict[str, Any]:
    """Delete the stored credential."""
    await client.registry.account(SIGN_IN_PROVIDER).sign_out()
    return {}
