"""Resolves model names and the default provider (section 4 of the protocol page)."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jumpseat.adapters.base import Adapter, AuthState, KnowsModels
from jumpseat.chat import AuthenticationError, ChatError, ConfigError, ModelInfo, RequestError
from jumpseat.config.suggestions import alternatives, nearest
from jumpseat.providers.facts import FactSource, offline_names, prepare
from jumpseat.providers.kinds import BUILT_IN
from jumpseat.providers.prefixes import fault_of_prefix, nearest_service
from jumpseat.providers.registry import Registry
from jumpseat.providers.services import WITH_KEY, how_to_add
from jumpseat.providers.spellings import candidates

logger = logging.getLogger(__name__)

LIST_SECONDS = 5.0
"""How long a list may take that is requested before a default model is refused."""


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """One provider's model, and its facts."""

    provider: str
    adapter: Adapter
    model: str
    info: ModelInfo | None
    """The facts of the model; None if there are none."""

    sources: Mapping[str, FactSource] = field(default_factory=dict)
    """The source of each known fact of `info`."""

    listed: Sequence[str] = ()
    """The models of the provider's list, or of the configuration."""

    @property
    def nearest_models(self) -> list[str]:
        """Up to three listed models with similar names, as `provider:model`."""
        return [f"{self.provider}:{model}" for model in nearest(self.model, self.listed, most=3)]


async def default_provider(registry: Registry) -> str | None:
    """The provider for names without one; None if the user must choose one or set one up.

    The configuration's, else the saved one, else a choice, which is saved.

    Raises:
        ConfigError: `default_provider` names a provider that does not exist.
    """
    named = registry.config.default_provider
    if named is not None:
        if named not in registry.ids:
            in_file = registry.config.setting_values_of_file.get("default_provider") == named
            raise ConfigError(
                f"default_provider is {named!r}, which does not exist{alternatives(named, registry.ids)}.",
                hint=f"Correct default_provider in {registry.config.file}." if in_file else None,
            )
        return named
    await registry.saved.loaded()
    saved = registry.saved.default_provider
    if saved in registry.ids:
        return saved
    if saved is not None:
        registry.note_missing_default(saved)
    chosen = await _choice(registry)
    # Saved, so that it stays the same when providers are added. A choice among the providers of a client's
    # overlay is not: other workspaces have other overlays.
    if chosen is not None and not registry.from_client:
        await registry.saved.choose(chosen, registry.ids)
        kept = registry.saved.default_provider  # Another daemon may have saved its choice first.
        return kept if kept in registry.ids else chosen
    return chosen


async def _choice(registry: Registry) -> str | None:
    """A built-in provider with its own sign-in, else the user's only provider, else a usable built-in one."""
    for provider in BUILT_IN:
        if await _is_signed_in(registry, provider):
            return provider
    if len(registry.user_defined) == 1:
        return registry.user_defined[0]
    states = {provider: await _state(registry, provider) for provider in BUILT_IN}
    usable = [provider for provider, state in states.items() if state not in ("signed_out", "expired")]
    # A sign-in of another program comes last: it may not work here, and conversations would go to a vendor
    # that the user has not set up.
    return min(usable, key=lambda provider: states[provider] == "signed_in", default=None)


async def _is_signed_in(registry: Registry, provider: str) -> bool:
    try:
        return await registry.account(provider).is_signed_in_for_this()
    except ChatError as error:
        logger.info("%s is not considered as the default: %s", provider, error.message)
        return False


async def _state(registry: Registry, provider: str) -> AuthState:
    try:
        return (await registry.auth_status(provider)).state
    except ChatError as error:
        logger.info("%s is not considered as the default: %s", provider, error.message)
        return "signed_out"


async def choose_default(registry: Registry, provider: str) -> None:
    """Save a provider as the default after a sign-in, unless one is configured; a failure is logged."""
    if registry.config.default_provider is not None or provider in registry.from_client:
        return
    await registry.saved.loaded()
    patch: dict[str, str | None] = {"default_provider": provider}
    model = registry.saved.default_model(registry.ids)
    if model is not None and _split(registry, model)[0] != provider:
        patch["default_model"] = None  # Chats would still go to its provider.
    try:
        await registry.saved.save(patch, await registry.settings_schemas())
    except ConfigError as error:  # The sign-in itself was successful.
        logger.warning("%s is not saved as the default provider: %s", provider, error.message)


async def resolve_model(registry: Registry, name: str | None, *, offline: bool = False) -> ResolvedModel:
    """Resolve a client's model name to a provider and a model.

    Args:
        registry: the connection's providers.
        name: `provider:model`, a bare model name, or None for the default.
        offline: do not request the provider's default model; if that would be needed, the result's model
            is empty.

    Raises:
        RequestError: the name is ambiguous, or begins with a misspelled provider.
        AuthenticationError: there is no default provider, because none is set up.
        ConfigError: the configuration names a provider that does not exist.
    """
    await registry.saved.loaded()
    full_name = name or registry.config.default_model or registry.saved.default_model(registry.ids)
    provider, model = _split(registry, full_name)
    if provider is None and model is not None:
        await _check_prefix(registry, model, is_default=not name)
    if provider is None:
        provider = await _provider_of(registry, model)
    await registry.prepare(provider)
    adapter = registry.adapter(provider)
    await prepare(registry.table(provider))
    model = model or await _default_model(registry, provider, adapter, offline=offline)
    if not model:
        return ResolvedModel(provider, adapter, "", None)
    model = _as_listed(registry, provider, adapter, model)
    known = registry.known_model(provider, model)
    listed = _listed(registry, provider)
    if known is None:
        return ResolvedModel(provider, adapter, model, None, listed=listed)
    return ResolvedModel(provider, adapter, model, known.info, known.sources, listed)


def configured_provider(registry: Registry, name: str | None) -> str | None:
    """The provider of a model's name by the configuration alone; None if that takes more."""
    config = registry.config
    provider, _ = _split(registry, name or config.default_model)
    named = config.default_provider if provider is None else provider
    return named if named in registry.ids else None


async def fault_of_model(registry: Registry, name: str) -> str | None:
    """Why a chat would refuse a model's name, as the end of a sentence; None if it would not."""
    provider, model = _split(registry, name)
    if provider is not None or model is None:
        return None
    if any(model in _listed(registry, each) for each in registry.ids):
        return None
    return await fault_of_prefix(model, {each: registry.table(each) for each in registry.ids})


async def fault_of_new_default(registry: Registry, name: str, provider: str | None) -> str | None:
    """Why a name may not become the default model, as the end of a sentence; None if it may.

    A chat may use a model that its provider does not list, but a wrong default would break the chats of all
    clients. If no list is known, any model may become the default.

    Args:
        registry: The connection's providers.
        name: The name of the model.
        provider: The new default provider; None if it does not change.
    """
    fault = await fault_of_model(registry, name)
    named, model = _split(registry, name)
    if fault is not None or model is None:
        return fault
    if named is None and any(candidates(model, _listed(registry, each)) for each in registry.ids):
        return None
    with contextlib.suppress(ConfigError):
        named = named or provider or await default_provider(registry)
    if named is None or named not in registry.ids or not registry.known_models(named):
        return None
    if not _offers(registry, named, model):
        # The model may be newer than the list.
        with contextlib.suppress(ChatError, TimeoutError):
            async with asyncio.timeout(LIST_SECONDS):
                await registry.list_models(named, refresh=True)
    if _offers(registry, named, model):
        return None
    near = nearest(model, _listed(registry, named), most=3)
    meant = f"; did you mean {' or '.join(f'{named}:{each}' for each in near)}?" if near else ""
    return f"is not a model of {named}{meant}"


def _offers(registry: Registry, provider: str, model: str) -> bool:
    table = registry.table(provider)
    return model == table.default_model or bool(candidates(model, _listed(registry, provider)))


async def _check_prefix(registry: Registry, name: str, *, is_default: bool) -> None:
    fault = await fault_of_model(registry, name)
    if fault is None:
        return
    subject = "default model" if is_default else "model"
    prefix = name.partition(":")[0]
    what_to_do = how_to_add(nearest_service(prefix) or prefix, registry.config.file) or "Correct it."
    raise RequestError(
        f"The {subject} {name!r} {fault if fault.endswith('?') else f'{fault}.'}",
        hint=f"{what_to_do} If it is a model's own name, write PROVIDER:{name}.",
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
    """The error for a name without a provider if there is no default one."""
    if registry.user_defined:
        return RequestError(
            f"No default provider is chosen among {', '.join(registry.user_defined)}.",
            hint="Name the model as provider:model, or run "
            f"`jumpseat settings set default_provider {registry.user_defined[0]}`.",
        )
    return AuthenticationError(
        "No provider is set up yet.",
        hint="For GitHub Copilot, run `jumpseat login`. For a small local model, "
        "run `jumpseat local install`. "
        f"For {', '.join(WITH_KEY)}, run `jumpseat keys set NAME`. For others, run `jumpseat config edit` "
        f"and add a provider to {registry.config.file}.",
    )


async def _default_model(registry: Registry, provider: str, adapter: Adapter, *, offline: bool) -> str:
    table = registry.table(provider)
    model = table.default_model or _known_default(adapter) or next(iter(table.model_names), None)
    if model is None and isinstance(adapter, KnowsModels):
        if offline:
            return ""
        model = await adapter.find_default_model()
    if model is None:
        raise RequestError(
            f"The provider {provider} has no default model.",
            provider=provider,
            hint=f"Name a model ({provider}:MODEL), or set providers.{provider}.default_model.",
        )
    return model


def _known_default(adapter: Adapter) -> str | None:
    """The adapter's own default model, if it needs no request."""
    heard = adapter.heard_models() if isinstance(adapter, KnowsModels) else ()
    return adapter.traits.default_model or next((row.model for row in heard if row.is_default), None)


def _listed(registry: Registry, provider: str) -> list[str]:
    """The models of the provider's fetched list, else of its configuration."""
    known = registry.known_models(provider)
    return registry.table(provider).model_names if known is None else [row.model for row in known]


def _as_listed(registry: Registry, provider: str, adapter: Adapter, name: str) -> str:
    """The provider's spelling of a name; the name itself if no model matches. Makes no request.

    Raises:
        RequestError: several models of the provider's list match equally well.
    """
    if registry.known_models(provider) is None:
        names = offline_names(registry.table(provider), _known_default(adapter))
        found = candidates(name, names, complete=False)
        # The names that are known offline may be incomplete, so an ambiguous name is left to the provider.
        return found[0] if len(found) == 1 else name
    found = candidates(name, _listed(registry, provider))
    if len(found) > 1:
        raise RequestError(
            f"{name!r} matches several models of {provider}: {', '.join(found)}.",
            provider=provider,
            hint=f"Name one of them: {provider}:{found[0]}.",
        )
    return found[0] if found else name
