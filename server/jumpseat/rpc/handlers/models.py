"""Handles `models/list` and `models/setPolicy`. See `docs/protocol/models.md`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import ChatError, ModelInfo
from jumpseat.connections.method import MethodCall
from jumpseat.connections.session import Session
from jumpseat.connections.wording import insert_commands
from jumpseat.providers import (
    ProviderFailure,
    Registry,
    ensure_default_provider,
    list_all_models,
    resolve_model,
)
from jumpseat.rpc.encode import model_to_wire, to_wire
from jumpseat.rpc.params import ModelsListParams, SetPolicyParams
from jumpseat.system.threads import compute


async def models_list(session: Session, call: MethodCall[ModelsListParams]) -> dict[str, Any]:
    """Return the models of one or all providers, and the errors of providers that failed."""
    registry = session.registry
    named = call.params.provider
    if named is not None:
        # Raise an error for an unknown provider, because `errors` has only the failures of known ones.
        registry.table(named)
    providers = [named] if named is not None else registry.ids
    models, failures = await list_all_models(registry, providers, refresh=call.params.refresh)
    default = await _find_default_model(session, named)
    listed = {model.provider for model in models}
    claims = {
        provider: _list_claims(registry, provider)
        for provider in listed
        if registry.is_sound(provider)  # The configuration may have changed meanwhile.
    }
    return {
        "models": await compute(True, _encode_rows, models, default, claims),
        "errors": insert_commands([_encode_failure(failure) for failure in failures], session.commands),
    }


class _Claims(TypedDict):
    """The abilities of a provider. They apply to models whose own abilities are unknown."""

    capabilities: Capabilities
    infills: bool


def _list_claims(registry: Registry, provider: str) -> _Claims:
    """Return the capabilities that the configuration or a probe states, and whether the adapter can infill.

    The adapter's assumptions about capabilities are left out.
    """
    values, sources = registry.capabilities(provider)
    stated = {name: getattr(values, name) and source != "static" for name, source in sources.items()}
    infills = registry.adapter(provider).traits.infills
    return {"capabilities": Capabilities(**stated), "infills": infills}


def _encode_rows(
    models: Sequence[ModelInfo], default: str | None, claims: Mapping[str, _Claims]
) -> list[dict[str, Any]]:
    return [
        model_to_wire(model, is_default=model.id == default, **claims[model.provider])
        for model in models
        if model.provider in claims
    ]


async def models_set_policy(session: Session, call: MethodCall[SetPolicyParams]) -> dict[str, Any]:
    """Accept a model's terms and respond with the model's new row."""
    registry = session.registry
    target = await resolve_model(registry, call.params.model)
    await registry.account(target.provider).accept_terms(target.model)
    rows = await registry.list_models(target.provider, refresh=True)
    default = await _find_default_model(session)
    claims = _list_claims(registry, target.provider)
    return {
        "model": next(
            model_to_wire(row, is_default=row.id == default, **claims)
            for row in rows
            if row.model == target.model
        )
    }


async def _find_default_model(session: Session, listed: str | None = None) -> str | None:
    """Return the id of the model that a chat would use if it did not name a model.

    None if the id is unknown, or if the model belongs to a provider that is not listed.

    Args:
        listed: the provider whose models are listed; None if all providers are listed.
    """
    registry = session.registry
    try:
        # If only one provider is listed, do not ask another provider for its default model.
        if listed is not None:
            await registry.saved.load()
            named = registry.config.default_model or registry.saved.default_model(registry.ids)
            if named is None and await ensure_default_provider(registry) != listed:
                return None
        target = await resolve_model(registry, None)
    except ChatError:
        return None
    return f"{target.provider}:{target.model}"


def _encode_failure(failure: ProviderFailure) -> dict[str, Any]:
    return {"provider": failure.provider, "error": to_wire(failure.error)}
