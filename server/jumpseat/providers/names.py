"""What a model name means, and which provider is the default (section 4 of the protocol page)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jumpseat.adapters.base import Adapter, AuthState, KnowsModels
from jumpseat.chat import AuthenticationError, ChatError, ConfigError, ModelInfo, RequestError
from jumpseat.config.suggestions import alternatives, nearest
from jumpseat.providers.facts import FactSource, offline_names, prepare
from jumpseat.providers.kinds import BUILT_IN
from jumpseat.providers.prefixes import fault_of_prefix
from jumpseat.providers.registry import Registry
from jumpseat.providers.spellings import candidates

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """One provider's model, and what is known of it."""

    provider: str
    adapter: Adapter
    model: str
    info: ModelInfo | None
    """What is known of the model; None where that is nothing."""

    sources: Mapping[str, FactSource] = field(default_factory=dict)
    """The source of each known fact of `info`."""

    listed: Sequence[str] = ()
    """The models that the provider is known to have, by its own list or by the configuration."""

    @property
    def nearest_models(self) -> list[str]:
        """Up to three listed models that may have been meant, as `provider:model`."""
        return [f"{self.provider}:{model}" for model in nearest(self.model, self.listed, most=3)]


async def default_provider(registry: Registry) -> str | None:
    """The provider for names that say none; None where the user has to choose or to set one up.

    The configuration's, else the saved one, else a choice, which is saved so that it stays the same when
    further providers come.

    Raises:
        ConfigError: `default_provider` names a provider that does not exist.
    """
    named = registry.config.default_provider
    if named is not None:
        if named not in registry.ids:
            raise ConfigError(
                f"default_provider is {named!r}, which does not exist{alternatives(named, registry.ids)}."
            )
        return named
    await registry.saved.loaded()
    saved = registry.saved.default_provider
    if saved in registry.ids:
        return saved
    if saved is not None:
        registry.note_missing_default(saved)
    chosen = await _choice(registry)
    # Where a client brought providers of its own, the choice says nothing about other workspaces.
    if chosen is not None and not registry.from_client:
        await registry.saved.choose(chosen, registry.ids)
        kept = registry.saved.default_provider  # Another daemon may have chosen at the same moment.
        return kept if kept in registry.ids else chosen
    return chosen


async def _choice(registry: Registry) -> str | None:
    """A built-in provider with a sign-in, the user's only provider, or a built-in one that can be used.

    A sign-in that was not made for the provider comes last: it may not serve there at all, and conversations
    would go to another vendor than the one that the user has set up.
    """
    for provider in BUILT_IN:
        if await _is_signed_in(registry, provider):
            return provider
    if len(registry.user_defined) == 1:
        return registry.user_defined[0]
    states = {provider: await _state(registry, provider) for provider in BUILT_IN}
    at_hand = [provider for provider, state in states.items() if state not in ("signed_out", "expired")]
    return min(at_hand, key=lambda provider: states[provider] == "signed_in", default=None)


async def _is_signed_in(registry: Registry, provider: str) -> bool:
    try:
        return await registry.account(provider).is_signed_in_for_this()
    except ChatError as error:
        logger.info("%s is not considered as the default: %s", provider, error.message)
        return False


async def _state(registry: Registry, provider: str) -> AuthState:
    try:
        return (await registry.auth_status(provider)).state
    except ChatError as error:  # One that is set up wrongly is not the default; the others may be.
        logger.info("%s is not considered as the default: %s", provider, error.message)
        return "signed_out"


async def choose_default(registry: Registry, provider: str) -> None:
    """Make a provider the default after a sign-in; the configuration takes precedence.

    A saved default model of another provider is forgotten, or chats would still go there. Where that cannot
    be saved it is logged: the sign-in itself was fine.
    """
    if registry.config.default_provider is not None or provider in registry.from_client:
        return
    await registry.saved.loaded()
    patch: dict[str, str | None] = {"default_provider": provider}
    model = registry.saved.default_model(registry.ids)
    if model is not None and _split(registry, model)[0] != provider:
        patch["default_model"] = None
    try:
        await registry.saved.save(patch, await registry.settings_schemas())
    except ConfigError as error:
        logger.warning("%s is not saved as the default provider: %s", provider, error.message)


async def resolve_model(registry: Registry, name: str | None) -> ResolvedModel:
    """The provider and model that a client means.

    Args:
        registry: the connection's providers.
        name: `provider:model`, a bare model name, or None for the default.

    Raises:
        RequestError: the name is ambiguous, or begins with a provider's name that is mistyped.
        AuthenticationError: there is no default provider, because none is set up.
        ConfigError: the configuration names what does not exist.
    """
    await registry.saved.loaded()
    wanted = name or registry.config.default_model or registry.saved.default_model(registry.ids)
    provider, model = _split(registry, wanted)
    if provider is None and model is not None:
        await _refuse_mistyped(registry, model, is_default=not name)
    if provider is None:
        provider = await _provider_of(registry, model)
    await registry.prepare(provider)
    adapter = registry.adapter(provider)
    await prepare(registry.table(provider))
    model = model or await _default_model(registry, provider, adapter)
    model = _as_listed(registry, provider, adapter, model)
    known = registry.known_model(provider, model)
    listed = _listed(registry, provider)
    if known is None:
        return ResolvedModel(provider, adapter, model, None, listed=listed)
    return ResolvedModel(provider, adapter, model, known.info, known.sources, listed)


async def fault_of_model(registry: Registry, name: str) -> str | None:
    """Why a chat would refuse a model's name, as the end of a sentence; None where it would not."""
    provider, model = _split(registry, name)
    if provider is not None or model is None:
        return None
    if any(model in _listed(registry, each) for each in registry.ids):
        return None
    return await fault_of_prefix(model, {each: registry.table(each) for each in registry.ids})


async def _refuse_mistyped(registry: Registry, name: str, *, is_default: bool) -> None:
    fault = await fault_of_model(registry, name)
    if fault is None:
        return
    of = "default model" if is_default else "model"
    raise RequestError(
        f"The {of} {name!r} {fault if fault.endswith('?') else f'{fault}.'}",
        hint=f"Correct it; if it is a model's own name, write PROVIDER:{name}.",
    )


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
    if default is not None and (
        registry.known_models(default) is None or candidates(model, _listed(registry, default))
    ):
        return default
    lists = {provider: _listed(registry, provider) for provider in registry.ids}
    owners = [provider for provider, names in lists.items() if model in names]
    owners = owners or [provider for provider, names in lists.items() if candidates(model, names)]
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
    """Why a name without a provider has no meaning, with what to do about it."""
    if registry.user_defined:
        return RequestError(
            f"No default provider is chosen among {', '.join(registry.user_defined)}.",
            hint="Name the model as provider:model, or choose one for good: "
            f"jumpseat settings set default_provider {registry.user_defined[0]}",
        )
    return AuthenticationError(
        "No provider is set up yet.",
        hint="Run `jumpseat login` for GitHub Copilot, or `jumpseat local install` for a small local model; "
        f"or add a provider to {registry.config.file}.",
    )


async def _default_model(registry: Registry, provider: str, adapter: Adapter) -> str:
    table = registry.table(provider)
    found = table.default_model or _known_default(adapter) or next(iter(table.model_names), None)
    if found is None and isinstance(adapter, KnowsModels):
        found = await adapter.find_default_model()
    if found is None:
        raise RequestError(
            f"The provider {provider} has no default model.",
            provider=provider,
            hint=f"Name a model ({provider}:MODEL), or set providers.{provider}.default_model.",
        )
    return found


def _known_default(adapter: Adapter) -> str | None:
    """The adapter's own default model, if it needs no request."""
    heard = adapter.heard_models() if isinstance(adapter, KnowsModels) else ()
    return adapter.traits.default_model or next((row.model for row in heard if row.is_default), None)


def _listed(registry: Registry, provider: str) -> list[str]:
    """The names of the provider's list as it was had, else of its configured models."""
    known = registry.known_models(provider)
    return registry.table(provider).model_names if known is None else [row.model for row in known]


def _as_listed(registry: Registry, provider: str, adapter: Adapter, name: str) -> str:
    """The provider's own spelling of a name; the name unchanged where the provider's list has none.

    Makes no request: before the list is fetched, the names that are known offline are used. They may miss
    some, so an ambiguous name is left to the provider.

    Raises:
        RequestError: the provider's list has several models that the name means equally well.
    """
    if registry.known_models(provider) is None:
        names = offline_names(registry.table(provider), _known_default(adapter))
        found = candidates(name, names, complete=False)
        return found[0] if len(found) == 1 else name
    found = candidates(name, _listed(registry, provider))
    if len(found) > 1:
        raise RequestError(
            f"{name!r} may mean several models of {provider}: {', '.join(found)}.",
            provider=provider,
            hint=f"Name one of them: {provider}:{found[0]}.",
        )
    return found[0] if found else name
