"""Handles `auth/status`, `auth/signIn` and `auth/signOut`. See `docs/protocol/authentication.md`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from jumpseat.adapters.base import AuthStatus
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.connections.wording import insert_commands
from jumpseat.providers import SIGN_IN_PROVIDER, ensure_default_provider, no_default_error
from jumpseat.providers import sign_in as sign_in_to
from jumpseat.rpc.encode import object_to_wire
from jumpseat.rpc.handlers.server_sign_ins import (
    is_tool_server,
    server_status,
    sign_in_to_server,
    sign_out_of_server,
)
from jumpseat.rpc.handlers.sign_in_prompts import relay_prompts
from jumpseat.rpc.handlers.tools import announce_changes
from jumpseat.rpc.params import AuthStatusParams, SignInParams, SignOutParams


async def auth_status(session: Session, call: MethodCall[AuthStatusParams]) -> dict[str, Any]:
    """Return whether a provider can be used, with which account, and the next step."""
    if is_tool_server(call.params.provider):
        await announce_changes(session)
        return await server_status(session, call)
    registry = session.registry
    provider = call.params.provider or await ensure_default_provider(registry)
    if provider is None:
        why = no_default_error(registry)
        # Return the status of the provider that `auth/signIn` signs in to if none is named. That provider is
        # signed out now: otherwise it would be the default.
        signed_out = await registry.auth_status(SIGN_IN_PROVIDER)
        signed_out = replace(signed_out, message=f"{why.message} {why.hint}")
        return _encode_status(session, signed_out)
    status = await registry.auth_status(provider, refresh=call.params.refresh)
    if status.state == "signed_in" and status.plan is None and status.chat_enabled is None:
        # The adapter has a sign-in, but has not requested the account and its plan.
        status = await registry.auth_status(provider, refresh=True)
    return _encode_status(session, status)


async def sign_in(session: Session, call: MethodCall[SignInParams]) -> dict[str, Any]:
    """Sign in and respond with the final state. The notification `auth/prompt` has the code for the user."""
    if is_tool_server(call.params.provider):
        await announce_changes(session)
        return await sign_in_to_server(session, call)
    provider = call.params.provider or SIGN_IN_PROVIDER
    with relay_prompts(session, call, provider) as on_prompt:
        return _encode_status(session, await sign_in_to(session.registry, provider, on_prompt))


async def sign_out(session: Session, call: MethodCall[SignOutParams]) -> dict[str, Any]:
    """Delete the stored credential and respond with the remaining state."""
    if is_tool_server(call.params.provider):
        await announce_changes(session)
        return await sign_out_of_server(session, call)
    provider = call.params.provider or SIGN_IN_PROVIDER
    return _encode_status(session, await session.registry.account(provider).sign_out())


def _encode_status(session: Session, status: AuthStatus) -> dict[str, Any]:
    shaped: dict[str, Any] = insert_commands(object_to_wire(status), session.commands)
    return shaped
