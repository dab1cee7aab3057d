"""Resolves model names, as `docs/protocol/models.md` describes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from jumpseat.adapters.base import Adapter, CachesModels
from jumpseat.chat import ModelInfo, RequestError, UnknownModelError
from jumpseat.config.suggestions import find_similar
from jumpseat.providers.default_choice import ensure_default_provider, no_default_error
from jumpseat.providers.facts import FactSource, list_offline_names, preload_snapshot
from jumpseat.providers.mistyped_names import check_prefix, list_known_names
from jumpseat.providers.prefixes import split_name
from jumpseat.providers.registry import Registry
from jumpseat.providers.spellings import find_candidates


@dataclass(frozen=True, slots=True)
class ResolvedModel:
    """A provider's model and its facts."""

    provider: str
    adapter: Adapter
    model: str
    info: ModelInfo | None
    """The facts of the model; None if none are known."""

    sources: Mapping[str, FactSource] = field(default_factory=dict)
    """The source of each known fact in `info`."""

    listed: Sequence[str] = ()
    """The models of the provider's list if it is known, else those in the provider's table."""

    @property
    def nearest_models(self) -> list[str]:
        """Up to three listed models with similar names, as `provider:model`."""
        return [f"{self.provider}:{model}" for model in find_similar(self.model, self.listed, most=3)]

    def add_nearest_models(self, error: UnknownModelError) -> None:
        """Add listed models with similar names to the hint of an error."""
        if names := self.nearest_models:
            error.hint = f"Did you mean {' or '.join(names)}? {error.hint or ''}".rstrip()


async def resolve_model(registry: Registry, name: str | None, *, offline: bool = False) -> ResolvedModel:
    """Resolve a client's model name to a provider and a model.

    Args:
        registry: the connection's providers.
        name: `provider:model`, a bare model name, or None for the default.
        offline: whether to avoid a request for the provider's default model. If this model is not known
            without a request, the result's model is empty.

    Raises:
        RequestError: the name is ambiguous or begins with a misspelled provider.
        AuthenticationError: there is no default provider, because none is set up.
        ConfigError: the configuration names a provider that does not exist.
    """
    await registry.saved.load()
    full_name = name or registry.config.default_model or registry.saved.default_model(registry.ids)
    provider, model = split_name(full_name, registry.ids)
    if provider is None and model is not None:
        await check_prefix(registry, model, is_default=not name)
    if provider is None:
        provider = await _find_provider(registry, model)
    await registry.prepare(provider)
    adapter = registry.adapter(provider)
    await preload_snapshot(registry.table(provider))
    model = model or await _find_default_model(registry, provider, adapter, offline=offline)
    if not model:
        return ResolvedModel(provider, adapter, "", None)
    model, listed = _find_listed_spelling(registry, provider, adapter, model)
    known = registry.known_model(provider, model)
    if known is None:
        return ResolvedModel(provider, adapter, model, None, listed=listed)
    return ResolvedModel(provider, adapter, model, known.info, known.sources, listed)


def find_configured_provider(registry: Registry, name: str | None) -> str | None:
    """Return the provider of a model name if the configuration alone determines it, else None."""
    config = registry.config
    provider, _ = split_name(name or config.default_model, registry.ids)
    named = config.default_provider if provider is None else provider
    return named if named in registry.ids else None


async def _find_provider(registry: Registry, model: str | None) -> str:
    """Return the provider of a model that is named without one; the default provider if `model` is None.

    The default provider takes precedence, unless its list is known and only other lists contain the model.
    """
    default = await ensure_default_provider(registry)
    if model is None:
        if default is None:
            raise no_default_error(registry)
        return default
    if default is not None and (
        registry.known_models(default) is None or find_candidates(model, list_known_names(registry, default))
    ):
        return default
    lists = {provider: list_known_names(registry, provider) for provider in registry.ids}
    owners = [provider for provider, names in lists.items() if model in names]
    owners = owners or [provider for provider, names in lists.items() if find_candidates(model, names)]
    if len(owners) > 1:
        raise RequestError(
            f"Several providers have a model {model!r}: {', '.join(owners)}.",
            hint=f"Name one of them: {owners[0]}:{model}.",
        )
    if owners:
        return owners[0]
    if default is None:
        raise no_default_error(registry)
    return default


async def _find_default_model(registry: Registry, provider: str, adapter: Adapter, *, offline: bool) -> str:
    """Return a provider's default model; empty if it is not known and `offline` forbids a request.

    Raises:
        RequestError: the provider has no default model.
    """
    table = registry.table(provider)
    model = table.default_model or _find_known_default(registry, provider, adapter)
    model = model or next(iter(table.model_names), None)
    if model is None and isinstance(adapter, CachesModels):
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


def _find_known_default(registry: Registry, provider: str, adapter: Adapter) -> str | None:
    """Return the adapter's own default model, if it is known without a request."""
    received = registry.received_models(provider)
    return adapter.traits.default_model or next((row.model for row in received if row.is_default), None)


def _find_listed_spelling(
    registry: Registry, provider: str, adapter: Adapter, name: str
) -> tuple[str, Sequence[str]]:
    """Return the provider's spelling of a name, and the models of its list or its table. Send no request.

    The spelling is the name itself if no model matches.

    Raises:
        RequestError: several models of the provider's list match equally well.
    """
    known = registry.known_models(provider)
    if known is None:
        table = registry.table(provider)
        names = list_offline_names(table, _find_known_default(registry, provider, adapter))
        found = find_candidates(name, names, complete=False)
        # The names known offline may be incomplete, so leave an ambiguous name to the provider.
        return found[0] if len(found) == 1 else name, table.model_names
    listed = list(known)
    found = find_candidates(name, listed)
    if len(found) > 1:
        raise RequestError(
            f"{name!r} matches several models of {provider}: {', '.join(found)}.",
            provider=provider,
            hint=f"Name one of them: {provider}:{found[0]}.",
        )
    return found[0] if found else name, listed
