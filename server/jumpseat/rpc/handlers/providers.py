"""Handles `providers/…`. See `docs/protocol/providers.md`."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ChatError
from jumpseat.connections.configuration import reread
from jumpseat.connections.method import MethodCall
from jumpseat.connections.param_model import NoParams
from jumpseat.connections.session import Session
from jumpseat.connections.wording import insert_commands
from jumpseat.providers import describe_providers, ensure_default_provider
from jumpseat.rpc.encode import provider_to_wire, setting_to_wire, to_wire
from jumpseat.rpc.handlers.configuration import listener_of
from jumpseat.rpc.params import ProvidersAddParams, ProvidersDiagnoseParams, ProvidersListParams


async def providers_list(session: Session, call: MethodCall[ProvidersListParams]) -> dict[str, Any]:
    """Return every provider with its capabilities and sign-in state."""
    return {"providers": await _describe(session, probe=call.params.probe)}


async def _describe(session: Session, *, probe: bool = False) -> Any:
    registry = session.registry
    try:
        default = await ensure_default_provider(registry)
    except ChatError:
        default = None  # A faulty default must not prevent the list, which shows the choices.
    rows = await describe_providers(registry, default, probe=probe)
    return insert_commands([provider_to_wire(row) for row in rows], session.commands)


def providers_templates(session: Session, call: MethodCall[NoParams]) -> dict[str, Any]:
    """Return the providers that can be added, with their fields."""
    from jumpseat.providers.adding import TEMPLATES  # Deferred: rarely needed.

    return {
        "templates": [
            {
                "id": each.id,
                "title": each.title,
                "kind": each.kind,
                "needsKey": each.needs_key,
                "fields": [setting_to_wire(key, row) for key, row in each.fields.items()],
            }
            for each in TEMPLATES
        ]
    }


async def providers_add(session: Session, call: MethodCall[ProvidersAddParams]) -> dict[str, Any]:
    """Add a provider to the user's configuration file, and return its row."""
    from jumpseat.providers.adding import add_provider  # Deferred: as above.

    params = call.params
    values = {"kind": params.kind, **params.values}
    await add_provider(params.id, values, session.registry.config.file, session.environment)
    # The session would notice the change of the file only after some time.
    await reread(session, listener_of(session))
    rows = await _describe(session)
    return {"provider": next(row for row in rows if row["id"] == params.id)}


async def providers_diagnose(session: Session, call: MethodCall[ProvidersDiagnoseParams]) -> dict[str, Any]:
    """Return the checks of one provider, with a remedy for each that fails."""
    from jumpseat.providers.diagnosis import diagnose  # Deferred: few clients request it.

    checks = await diagnose(session.registry, call.params.provider)
    # None is a meaningful value of `ok`, so it must not be left out.
    return {
        "checks": insert_commands([{**to_wire(check), "ok": check.ok} for check in checks], session.commands)
    }
