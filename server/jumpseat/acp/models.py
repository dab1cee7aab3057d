"""The providers that a client can use now, and their models."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from jumpseat.chat import THINKING_ROOM, AuthenticationError, ChatError
from jumpseat.chat.request import thinking_levels_of
from jumpseat.providers import Registry, ResolvedModel, list_all_models, resolve_model

logger = logging.getLogger(__name__)

READY_STATES = ("signed_in", "configured", "not_required")


async def list_ready_providers(registry: Registry) -> list[str]:
    """Return the providers that are signed in, have a key or do not need either."""

    async def is_ready(provider: str) -> bool:
        try:
            return (await registry.auth_status(provider)).state in READY_STATES
        except ChatError as error:
            logger.info("%s is not ready: %s", provider, error.message)
            return False

    providers = list(registry.ids)
    results = await asyncio.gather(*map(is_ready, providers))
    return [provider for provider, ready in zip(providers, results, strict=True) if ready]


async def require_provider(registry: Registry) -> None:
    """Check that the client can chat with at least one provider.

    Raises:
        AuthenticationError: no provider is ready.
    """
    if not await list_ready_providers(registry):
        raise AuthenticationError(
            "No provider is ready.",
            hint="Sign in here. Run `jumpseat doctor` to see what each provider needs.",
        )


async def list_models(registry: Registry) -> dict[str, str]:
    """Return the models to offer in a picker, as a mapping from id to name.

    The models belong to ready providers. For a provider whose list cannot be read, they are the models that
    the configuration names.
    """
    models, failures = await list_all_models(registry, await list_ready_providers(registry))
    names = {model.id: model.name for model in models if model.picker_enabled}
    for failure in failures:
        logger.info("the models of %s are not listed: %s", failure.provider, failure.error.message)
        table = registry.table(failure.provider)
        for model in filter(None, (table.default_model, *table.model_names)):
            names.setdefault(f"{failure.provider}:{model}", model)
    return names


async def resolve_choice(registry: Registry, name: str | None) -> ResolvedModel | None:
    """Resolve a conversation's model without a request; None if that is not possible."""
    try:
        target = await resolve_model(registry, name, offline=True)
    except ChatError:
        return None
    return target if target.model else None


def thinking_levels(registry: Registry, target: ResolvedModel | None) -> Sequence[str]:
    """Return the thinking levels of a model; empty if the model does not think."""
    info = target.info if target is not None else None
    if target is None or info is None:
        return ()
    if info.thinking_levels is not None:
        return thinking_levels_of(info.thinking_levels)
    thinks = info.supports_thinking
    if thinks is None:
        values, sources = registry.capabilities(target.provider)
        # A static capability describes the adapter, so it does not show that this model thinks.
        thinks = values.thinking and sources["thinking"] != "static"
    return tuple(THINKING_ROOM) if thinks else ()


async def any_model_accepts_images(registry: Registry) -> bool:
    """Whether any model of a ready provider accepts images.

    If a provider's models are unknown, or the facts about a model do not state this, the provider's
    capability counts instead.
    """
    for provider in await list_ready_providers(registry):
        listed = registry.known_models(provider)
        values, _ = registry.capabilities(provider)
        if listed is None and values.vision:
            return True
        stated = (row.info.supports_vision for row in (listed or {}).values())
        if any(values.vision if ability is None else ability for ability in stated):
            return True
    return False
