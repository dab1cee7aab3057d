"""Handles `providers/list` and `providers/diagnose`. See `docs/protocol/providers.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ChatError
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.connections.wording import name_commands
from jumpseat.providers import describe_providers, ensure_default_provider
from jumpseat.rpc.encode import provider_to_wire, to_wire
from jumpseat.rpc.params import ProvidersDiagnoseParams, ProvidersListParams


async def providers_list(session: Session, call: MethodCall[ProvidersListParams]) -> dict[str, Any]:
    """Return every provider with its capabilities and sign-in state."""
    registry = session.registry
    try:
        default = await ensure_default_provider(registry)
    except ChatError:
        default = None  # Only chats fail for a faulty default; the list shows the choices.
    rows = await describe_providers(registry, default, probe=call.params.probe)
    return {"providers": name_commands([provider_to_wire(row) for row in rows], session.commands)}


async def providers_diagnose(session: Session, call: MethodCall[ProvidersDiagnoseParams]) -> dict[str, Any]:
    """Return the checks of one provider, with a remedy for each that fails."""
    from jumpseat.providers.diagnosis import diagnose  # Deferred: few clients request it.

    checks = await diagnose(session.registry, call.params.provider)
    # None is a meaningful value of `ok`, so it must not be left out.
    return {
        "checks": name_commands([{**to_wire(check), "ok": check.ok} for check in checks], session.commands)
    }
