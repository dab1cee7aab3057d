"""`providers/list`. Section 5 of the protocol page."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ChatError
from jumpseat.providers import default_provider, describe
from jumpseat.rpc.encode import provider_to_wire
from jumpseat.rpc.method import MethodCall
from jumpseat.rpc.params import ProvidersListParams
from jumpseat.rpc.session import Session


async def providers_list(session: Session, call: MethodCall[ProvidersListParams]) -> dict[str, Any]:
    """Every provider, what it can do and whether it can be used."""
    registry = session.registry
    try:
        default = await default_provider(registry)
    except ChatError:
        default = None  # A wrong default is a chat's error; the list is how a user finds the right one.
    rows = await describe(registry, default, probe=call.params.probe)
    return {"providers": [provider_to_wire(row) for row in rows]}
