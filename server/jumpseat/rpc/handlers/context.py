"""Handles `context/fetch`. See `docs/protocol/pages.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.rpc.encode import object_to_wire
from jumpseat.rpc.params import ContextFetchParams


async def context_fetch(session: Session, call: MethodCall[ContextFetchParams]) -> dict[str, Any]:
    """Return the text of a page as a context block."""
    from jumpseat.context.pages import read_page  # Deferred: few clients read pages.

    block = await read_page(call.params.url, session.registry.config)
    return {"context": object_to_wire(block)}
