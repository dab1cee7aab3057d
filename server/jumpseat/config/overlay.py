"""Merges a client's overlay into the file's tables, and rejects keys that an overlay may not set.

The overlay may come from a workspace that someone else wrote. So it may only choose a default provider and
model, set the values of settings, restrict the use of tools, and add prompts, providers and MCP servers. It
may not contain value sources or `${…}` (docs/configuration.md, Trust).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.config.config import Config
from jumpseat.config.lookalikes import looks_like
from jumpseat.config.options import ToolOptions
from jumpseat.config.own_keys import Kind, Kinds, is_from_plugin, kind_of
from jumpseat.config.saved_rules import merge_patch
from jumpseat.config.sources import source_prefix
from jumpseat.config.table_names import BUILT_IN_SERVER

SOURCE = "initializationOptions.config"

TOP_LEVEL = frozenset(
    {"default_provider", "default_model", "settings", "providers", "prompts", "tools", "mcp"}
)
CHANGEABLE_PROVIDER_KEYS = frozenset({"default_model", "settings", "capabilities"})
"""The keys that a client may set on one of the user's providers."""

USER_ONLY_SERVER_KEYS = {
    "inherit": "names variables of your environment, which only the user may pass on",
    "proxy": "names a proxy, which only the user may choose",
    "ca_file": "names a file, which only the user may choose",
    "client_cert": "names a file, which only the user may choose",
}
"""Keys that a client may not set on an MCP server that it adds. Each value is the reason as a clause."""

MAX_ID = 100
"""The maximum length of a provider id or a name of an MCP server in the overlay."""


class OverlayError(ConfigError):
    """The overlay has a key or value that is not allowed."""

    def __init__(self, key: str, why: str) -> None:
        super().__init__(f"{SOURCE}: {key} {why}.")


def merge_overlay(
    base: Mapping[str, Any], overlay: Mapping[str, Any], known: Collection[str], kinds: Kinds | None = None
) -> dict[str, Any]:
    """Merge the overlay into a copy of the file's tables.

    Args:
        base: the file's tables.
        overlay: the overlay without nulls and empty tables.
        known: ids of the user's providers that are not in `base`.
        kinds: the built-in kinds of providers.

    Raises:
        OverlayError: the overlay has a key or value that is not allowed.
    """
    for key in overlay:
        if key not in TOP_LEVEL:
            raise OverlayError(key, "may not be set by a client")
    # The texts of prompts are never interpreted as value sources.
    _refuse_sources({key: value for key, value in overlay.items() if key != "prompts"}, "")
    added = overlay.get("providers", {})
    if not isinstance(added, Mapping):
        raise OverlayError("providers", "must be a table of providers")
    values = overlay.get("settings", {})
    if not isinstance(values, Mapping):
        raise OverlayError("settings", "must be a table")
    result = dict(base)
    providers: dict[str, Any] = dict(base.get("providers", {}))
    user_ids = {*providers, *known}
    for name, table in added.items():
        where = f"providers.{name}"
        if not isinstance(table, Mapping):
            raise OverlayError(where, "must be a table")
        if name in user_ids:
            own = _check_settings(table.get("settings", {}), f"{where}.settings")
            values = merge_patch(values, {"providers": {name: own}} if own else {})
            table = {key: value for key, value in table.items() if key != "settings"}
            _refuse_changes(table, where)
        else:
            _refuse_lookalike("providers", name, user_ids)
            _refuse_user_only(table, where, kind_of(name, table.get("kind"), kinds))
        providers[name] = merge_patch(providers.get(name, {}), table)
    if providers:
        result["providers"] = providers
    if values:
        result["settings"] = merge_patch(base.get("settings", {}), values)
    if tools := _restrict_tools(base.get("tools", {}), overlay.get("tools", {})):
        result["tools"] = tools
    if mcp := _add_servers(base, overlay.get("mcp", {})):
        result["mcp"] = mcp
    if prompts := _add_prompts(base.get("prompts", {}), overlay.get("prompts", {})):
        result["prompts"] = prompts
    defaults = {key: overlay[key] for key in ("default_provider", "default_model") if key in overlay}
    return {**result, **defaults}


def refuse_keys_of_plugins(config: Config, overlay: Mapping[str, Any], kinds: Kinds | None) -> None:
    """Reject a plug-in's own keys in the overlay, because they may name files or commands.

    Raises:
        OverlayError: the overlay has such a key.
    """
    for name, table in overlay.get("providers", {}).items():
        whole = config.providers.get(name)  # None if the table is invalid.
        if whole is not None and is_from_plugin(whole, kinds):
            for key in sorted(set(table) & set(whole.model_extra or {})):
                why = "is a plug-in's own key, which only the user may set"
                raise OverlayError(f"providers.{name}.{key}", why)


def drop_absent(value: Any) -> Any:
    """Return the value without nulls and empty tables, which mean "absent" in a client's params.

    Empty arrays are dropped too, because Lua encodes an empty table as an empty array.
    """
    if isinstance(value, Mapping):
        items = ((key, drop_absent(item)) for key, item in value.items())
        return {key: item for key, item in items if item is not None and item not in ({}, [])}
    return value


def _check_settings(settings: Any, where: str) -> Mapping[str, Any]:
    """Return the overlay's settings for one of the user's providers. They must not be settings rows."""
    if not isinstance(settings, Mapping):
        raise OverlayError(where, "must be a table")
    for key, value in settings.items():
        # A row could add any parameter to requests that are made with the user's credential.
        if isinstance(value, Mapping):
            why = "must be a value: a client cannot change the settings rows of an existing provider"
            raise OverlayError(f"{where}.{key}", f"{why}; to set a map, use settings.providers")
    return settings


def _add_prompts(base: Mapping[str, Any], added: Any) -> dict[str, Any]:
    """Add the overlay's prompts. They may not replace prompts of the file."""
    if not isinstance(added, Mapping):
        raise OverlayError("prompts", "must be a table of prompts")
    for name in added:
        # Users who choose one of their own prompts by name must get that prompt.
        if name in base:
            raise OverlayError(f"prompts.{name}", "is already defined in the configuration file")
    return {**base, **added}


def _add_servers(base: Mapping[str, Any], added: Any) -> dict[str, Any]:
    """Add the overlay's MCP servers. They may neither replace nor resemble servers of the file."""
    if not isinstance(added, Mapping):
        raise OverlayError("mcp", "must be a table of servers")
    servers = base.get("mcp", {})
    # A rule that the user wrote for another server must not allow the tools of an added server.
    allowed = {BUILT_IN_SERVER, *(each.partition("/")[0] for each in base.get("tools", {}).get("allow", ()))}
    for name, table in added.items():
        where = f"mcp.{name}"
        if name in servers:
            raise OverlayError(where, "is already defined in the configuration file")
        if name in allowed:
            raise OverlayError(where, "has the name of a server whose tools run without an approval")
        _refuse_lookalike("mcp", name, {*servers, *allowed})
        if not isinstance(table, Mapping):
            raise OverlayError(where, "must be a table")
        _refuse_keys(table, where, USER_ONLY_SERVER_KEYS)
    return {**servers, **added}


def _restrict_tools(base: Mapping[str, Any], added: Any) -> dict[str, Any]:
    """Add the overlay's `ask` and `deny` rules and its lower limits. An overlay can never allow anything."""
    if not isinstance(added, Mapping):
        raise OverlayError("tools", "must be a table")
    result = dict(base)
    for key, value in added.items():
        field = ToolOptions.model_fields.get(key)
        if key in ("ask", "deny"):
            result[key] = [*base.get(key, ()), *value] if isinstance(value, list) else value
        elif key == "allow" or field is None:
            raise OverlayError(f"tools.{key}", "may not be set by a client")
        elif isinstance(value, int | float) and value > base.get(key, field.default):
            raise OverlayError(f"tools.{key}", "is a higher limit than in the configuration file")
        else:
            result[key] = value
    return result


def _refuse_changes(table: Mapping[str, Any], where: str) -> None:
    for key in table:
        if key not in CHANGEABLE_PROVIDER_KEYS:
            raise OverlayError(f"{where}.{key}", "may not be changed: this provider is already defined")


def _refuse_lookalike(group: str, name: str, user_ids: Collection[str]) -> None:
    if len(name) > MAX_ID:
        raise OverlayError(f"{group}.{name[:20]!a}…", f"is longer than {MAX_ID} characters")
    for known in user_ids:
        if looks_like(name, known):
            raise OverlayError(f"{group}.{name!a}", f"looks like {known}, which is already defined")


def _refuse_user_only(table: Mapping[str, Any], where: str, kind: Kind | None) -> None:
    """Reject keys that name a file, a program, or a host that would receive the user's sign-in."""
    common = dict.fromkeys(("ca_file", "client_cert"), "names a file, which only the user may choose")
    _refuse_keys(table, where, {**common, **(kind.user_only if kind is not None else {})})


def _refuse_keys(table: Mapping[str, Any], where: str, reasons: Mapping[str, str]) -> None:
    for key, why in reasons.items():
        if key in table:
            raise OverlayError(f"{where}.{key}", why)


def _refuse_sources(value: Any, where: str) -> None:
    """Reject any string that would make the daemon read the user's files, variables or keys."""
    if isinstance(value, str):
        prefix = source_prefix(value)
        if prefix is not None:
            raise OverlayError(where, f"may not use the source {prefix}")
        if "${" in value:
            raise OverlayError(where, "may not use ${…}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_sources(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_sources(item, f"{where}.{index}")
