"""`providers/list` and `auth/status`. Sections 5 and 8 of the protocol page."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ChatError
from jumpseat.providers import default_provider, no_default
from jumpseat.rpc.encode import auth_to_wire, provider_to_wire
from jumpseat.rpc.method import Call
from jumpseat.rpc.params import AuthStatusParams, ProvidersListParams
from jumpseat.rpc.session import Session


async def providers_list(session: Session, call: Call[ProvidersListParams]) -> dict[str, Any]:
    """Every provider, what it can do and whether it can be used."""
    registry = session.registry
    try:
        default = await default_provider(registry)
    except ChatError:
        default = None  # A wrong default is a chat's error; the list is how a user finds the right one.
    rows = await registry.describe(default, probe=call.params.probe)
    return {"providers": [provider_to_wire(row) for row in rows]}


async def auth_status(session: Session, call: Call[AuthStatusParams]) -> dict[str, Any]:
    """Whether a provider can be used, as whom, and what to do next; of the default one if none is named."""
    registry = session.registry
    provider = call.params.provider or await default_provider(registry)
    if provider is None:
        why = no_default(registry)
        return {"provider": "", "state": "signed_out", "message": f"{why.message} {why.hint}"}
    return auth_to_wire(await registry.auth_status(provider, refresh=call.params.refresh))
