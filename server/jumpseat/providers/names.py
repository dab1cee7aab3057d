"""What a model name means, and which provider is the default (section 4 of the protocol page)."""

from __future__ import annotations

from dataclasses import dataclass

from jumpseat.adapters.base import Adapter
from jumpseat.chat import AuthenticationError, ChatError, ConfigError, ModelInfo, RequestError
from jumpseat.config.paths import config_file
from jumpseat.providers.registry import BUILT_IN, Registry


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """One provider's model, and what is known of it."""

    provider: str
    adapter: Adapter
    model: str
    info: ModelInfo | None
    """The model's row in the provider's list, if that list was had before."""


async def default_provider(registry: Registry) -> str | None:
    """The provider for names that say none; None where the user has to choose or to set one up.

    Raises:
        ConfigError: `default_provider` names a provider that does not exist.
    """
    named = registry.config.default_provider
    if named is not None:
        if named not in registry.ids:
            raise ConfigError(
                f"default_provider is {named!r}, but there are only: {', '.join(registry.ids)}."
            )
        return named
    if len(registry.user_defined) == 1:
        return registry.user_defined[0]
    for provider in BUILT_IN:
        status = await registry.auth_status(provider)
        if status.state not in ("signed_out", "expired"):
            return provider
    return None


async def resolve_model(registry: Registry, name: str | None) -> ResolvedModel:
    """The provider and model that a client means.

    Args:
        registry: the connection's providers.
        name: `provider:model`, a bare model name, or None for the default.

    Raises:
        RequestError: the name is ambiguous, or nobody knows it.
        AuthenticationError: there is no default provider, because none is set up.
        ConfigError: the configuration names what does not exist.
    """
    provider, model = _split(registry, name or registry.config.default_model)
    if provider is None:
        provider = await _provider_of(registry, model)
    adapter = registry.adapter(provider)
    model = model or _default_model(registry, provider, adapter)
    return ResolvedModel(provider, adapter, model, _row(registry, provider, model))


def _split(registry: Registry, name: str | None) -> tuple[str | None, str | None]:
    """The provider and the model in a name; only a configured provider's id counts as a prefix."""
    if name is None:
        return None, None
    prefix, colon, rest = name.partition(":")
    if colon and prefix in registry.ids:
        return prefix, rest or None
    return None, name


async def _provider_of(registry: Registry, model: str | None) -> str:
    default = await default_provider(registry)
    if model is None:
        if default is None:
            raise no_default(registry)
        return default
    if default is not None and (registry.known_models(default) is None or _row(registry, default, model)):
        return default
    owners = [provider for provider in registry.ids if _row(registry, provider, model) is not None]
    if len(owners) > 1:
        raise RequestError(
            f"Several providers have a model {model!r}: {', '.join(owners)}.",
            hint=f"Name one of them: {owners[0]}:{model}.",
        )
    if owners:
        return owners[0]
    if default is None:
        raise no_default(registry)
    return default


def no_default(registry: Registry) -> ChatError:
    """Why a name without a provider means nothing here, with what to do about it."""
    if registry.user_defined:
        return RequestError(
            f"No default provider is chosen among {', '.join(registry.user_defined)}.",
            hint="Name the model as provider:model, or set default_provider in the configuration file.",
        )
    return AuthenticationError(
        "No provider is set up yet.",
        hint=f"Run `jumpseat local install` for a small local model, or add a provider to {config_file()}.",
    )


def _default_model(registry: Registry, provider: str, adapter: Adapter) -> str:
    table = registry.table(provider)
    found = table.default_model or adapter.default_model or next(iter(table.models), None)
    if found is None:
        raise RequestError(
            f"The provider {provider} has no default model.",
            provider=provider,
            hint=f"Name a model ({provider}:MODEL), or set providers.{provider}.default_model.",
        )
    return found


def _row(registry: Registry, provider: str, model: str) -> ModelInfo | None:
    known = registry.known_models(provider) or ()
    return next((info for info in known if info.model == model), None)
