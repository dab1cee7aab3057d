"""Kinds of providers from other distributions, found through the entry point group `jumpseat.adapters`.

Entry points are read when a kind that is not built in is first used. Authors: see docs/plugins.md.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from jumpseat.adapters.base import Adapter, ProviderConfig
from jumpseat.chat import ChatError, ConfigError
from jumpseat.config.suggestions import did_you_mean
from jumpseat.http import HttpClient
from jumpseat.providers.plugin_guard import DEFECTS, find_fault, guard

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

logger = logging.getLogger(__name__)

GROUP = "jumpseat.adapters"

AdapterFactory: TypeAlias = Callable[[str, ProviderConfig, HttpClient], Adapter]


@dataclass(frozen=True, slots=True)
class Plugin:
    """A kind and its entry points. If several distributions provide the same kind, none of them is used."""

    kind: str
    entry_points: tuple[EntryPoint, ...]

    @property
    def origin(self) -> str:
        """The distributions and their versions: `jumpseat-acme 1.2`."""
        return " and ".join(sorted(map(_name_distribution, self.entry_points)))


class Plugins:
    """The plug-ins of this environment, each loaded once. Thread-safe."""

    def __init__(self, built_in: Collection[str]) -> None:
        """
        Args:
            built_in: the daemon's own kinds; plug-ins cannot replace them.
        """
        self._built_in = built_in
        self._found: Mapping[str, Plugin] | None = None
        self._loaded: dict[str, AdapterFactory | ConfigError] = {}

    def kinds(self) -> list[str]:
        """Return the kinds that plug-ins add to the built-in ones."""
        return [kind for kind in self._find_all() if kind not in self._built_in]

    def load(self, kind: str) -> None:
        """Find and import a kind. Blocks. If this fails, `make` raises the error."""
        if kind not in self._loaded:
            try:
                self._loaded[kind] = self._load_factory(kind)
            except ConfigError as error:
                self._loaded[kind] = error  # Cache the error: another import would fail too.

    def is_loaded(self, kind: str) -> bool:
        """Whether `make` returns without blocking."""
        return kind in self._loaded

    def make(self, provider: str, table: ProviderConfig, http: HttpClient) -> Adapter:
        """Create a provider's adapter, loading its plug-in if necessary.

        The adapter's methods convert defects of the plug-in into errors (see `guard`).

        Raises:
            ConfigError: there is no such kind, its plug-in cannot be used, or the plug-in rejects the table.
        """
        self.load(table.kind)
        factory = self._loaded[table.kind]
        if isinstance(factory, ConfigError):
            message = f"providers.{provider}.kind: {factory.message}"
            raise ConfigError(message, provider=provider, hint=factory.hint)
        origin = f"plug-in {table.kind} ({self._find_all()[table.kind].origin})"
        try:
            adapter = factory(provider, table, http)
            fault = find_fault(adapter)
            if fault is None:
                guard(adapter, provider, origin)
        except ChatError as error:
            error.provider = error.provider or provider
            raise
        except DEFECTS as error:
            logger.exception("the %s did not create an adapter for %s", origin, provider)
            message = f"providers.{provider}: the {origin} failed to start ({type(error).__name__})."
            raise ConfigError(message, provider=provider, hint=_LOG_HINT) from error
        if fault is not None:
            message = f"providers.{provider}.kind: the {origin} {fault}."
            raise ConfigError(message, provider=provider, hint=_VERSION_HINT)
        for key in _find_undeclared_keys(adapter, table):
            logger.warning("unknown key providers.%s.%s is ignored by the %s", provider, key, origin)
        return adapter

    def _find_all(self) -> Mapping[str, Plugin]:
        if self._found is None:
            self._found = _discover()
        return self._found

    def _load_factory(self, kind: str) -> AdapterFactory:
        plugin = self._find_all().get(kind)
        if plugin is None:
            raise self._make_unknown_error(kind)
        if len(plugin.entry_points) > 1:
            raise ConfigError(
                f"the plug-in {kind} is provided by {plugin.origin}, so none of them is used.",
                hint="Uninstall all but one of them, and restart the daemon.",
            )
        try:
            factory = plugin.entry_points[0].load()
        except DEFECTS as error:
            logger.exception("the plug-in %s of %s cannot be imported", kind, plugin.origin)
            raise ConfigError(
                f"the plug-in {kind} of {plugin.origin} cannot be imported ({type(error).__name__}).",
                hint=_LOG_HINT,
            ) from error
        if not callable(factory):
            raise ConfigError(
                f"the plug-in {kind} of {plugin.origin} is not callable, so it cannot create an adapter.",
                hint=_VERSION_HINT,
            )
        callable_factory: AdapterFactory = factory
        return callable_factory

    def _make_unknown_error(self, kind: str) -> ConfigError:
        plugins = self.kinds()
        offered = f"; plug-ins add {', '.join(plugins)}" if plugins else ""
        hidden = [plugin for name, plugin in self._find_all().items() if name in self._built_in]
        ignored = "".join(
            f" The {each.kind} of {each.origin} is ignored, because that kind is built in." for each in hidden
        )
        fault = f"there is no kind {kind!r}" if kind else "it is missing"
        suggestion = did_you_mean(kind, [*self._built_in, *plugins])
        link = f"{suggestion} Known" if suggestion else "; known"
        return ConfigError(
            f"{fault}{link} kinds are {', '.join(self._built_in)}{offered}.{ignored}",
            hint="Correct the name, or install the plug-in beside the daemon and restart the daemon.",
        )


_LOG_HINT = "See the daemon's log. Update or remove the plug-in, and restart the daemon."
_VERSION_HINT = "Install a version of the plug-in that works with this daemon, and restart the daemon."


def _discover() -> dict[str, Plugin]:
    # This import is slow, and only kinds that are not built in need it.
    from importlib.metadata import entry_points

    found: dict[str, list[EntryPoint]] = {}
    for entry_point in sorted(entry_points(group=GROUP), key=lambda each: each.name):
        found.setdefault(entry_point.name, []).append(entry_point)
    return {kind: Plugin(kind, tuple(each)) for kind, each in found.items()}


def _name_distribution(entry_point: EntryPoint) -> str:
    # An incompletely installed distribution may have metadata without a name.
    name = entry_point.dist.name if entry_point.dist is not None else None
    return f"{name} {entry_point.dist.version}" if name and entry_point.dist else entry_point.value


def _find_undeclared_keys(adapter: Adapter, table: ProviderConfig) -> list[str]:
    """Return the keys of the table that are neither common to all kinds nor declared by the plug-in."""
    declared: set[str] = set()
    for name, field in (adapter.options.model_fields if adapter.options else {}).items():
        declared |= {name, *([field.alias] if field.alias else [])}
    return sorted(set(table.model_extra or {}) - declared)
