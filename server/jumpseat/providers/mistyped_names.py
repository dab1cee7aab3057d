"""Finds mistyped model names: unknown provider prefixes, and new default models that no list contains."""

from __future__ import annotations

import asyncio
import contextlib

from jumpseat.chat import ChatError, ConfigError, RequestError
from jumpseat.config.suggestions import find_similar
from jumpseat.providers.default_choice import ensure_default_provider
from jumpseat.providers.prefixes import explain_prefix_fault, find_nearest_service, split_name
from jumpseat.providers.registry import Registry
from jumpseat.providers.services import explain_how_to_add
from jumpseat.providers.spellings import find_candidates

LIST_SECONDS = 5.0
"""The time limit for fetching the list once more before a default model is rejected."""


def list_known_names(registry: Registry, provider: str) -> list[str]:
    """Return the models of the provider's list if it is known, else those in the provider's table."""
    known = registry.known_models(provider)
    return registry.table(provider).model_names if known is None else list(known)


async def explain_model_fault(registry: Registry, name: str) -> str | None:
    """Explain why a chat would reject a model name, as the end of a sentence; None if a chat accepts it."""
    provider, model = split_name(name, registry.ids)
    if provider is not None or model is None:
        return None
    if any(model in list_known_names(registry, each) for each in registry.ids):
        return None
    return await explain_prefix_fault(model, {each: registry.table(each) for each in registry.ids})


async def explain_default_fault(registry: Registry, name: str, provider: str | None) -> str | None:
    """Explain why a name cannot become the default model, as the end of a sentence; None if it can.

    A chat may use a model that its provider does not list, but a wrong default would break the chats of all
    clients. If the provider's list is not known, only the prefix is checked.

    Args:
        registry: The connection's providers.
        name: The name of the model.
        provider: The new default provider; None if it does not change.
    """
    fault = await explain_model_fault(registry, name)
    named, model = split_name(name, registry.ids)
    if fault is not None or model is None:
        return fault
    if named is None and any(
        find_candidates(model, list_known_names(registry, each)) for each in registry.ids
    ):
        return None
    with contextlib.suppress(ConfigError):
        named = named or provider or await ensure_default_provider(registry)
    if named is None or named not in registry.ids or not registry.known_models(named):
        return None
    if not _offers(registry, named, model):
        # The model may be newer than the list.
        with contextlib.suppress(ChatError, TimeoutError):
            async with asyncio.timeout(LIST_SECONDS):
                await registry.list_models(named, refresh=True)
    if _offers(registry, named, model):
        return None
    near = find_similar(model, list_known_names(registry, named), most=3)
    meant = f"; did you mean {' or '.join(f'{named}:{each}' for each in near)}?" if near else ""
    return f"is not a model of {named}{meant}"


def _offers(registry: Registry, provider: str, model: str) -> bool:
    table = registry.table(provider)
    return model == table.default_model or bool(find_candidates(model, list_known_names(registry, provider)))


async def check_prefix(registry: Registry, name: str, *, is_default: bool) -> None:
    """Reject a model name whose prefix is a misspelled provider.

    Raises:
        RequestError: the prefix is misspelled; the message names the nearest providers.
    """
    fault = await explain_model_fault(registry, name)
    if fault is None:
        return
    subject = "default model" if is_default else "model"
    prefix = name.partition(":")[0]
    what_to_do = (
        explain_how_to_add(find_nearest_service(prefix) or prefix, registry.config.file) or "Correct it."
    )
    raise RequestError(
        f"The {subject} {name!r} {fault if fault.endswith('?') else f'{fault}.'}",
        hint=f"{what_to_do} If this is the model's own name, write PROVIDER:{name}.",
    )
