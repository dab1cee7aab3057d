"""Reading the file, and laying a client's overlay on it.

The file is the user's own. The overlay may come from a workspace that somebody else wrote, so it may
choose among what the user has and add providers of literal values, and nothing else (section 7, trust).
"""

from __future__ import annotations

import logging
import tomllib
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from jumpseat.chat import ConfigError
from jumpseat.config.paths import config_file
from jumpseat.config.saved_rules import merge_patch
from jumpseat.config.schema import Config
from jumpseat.config.sources import source_prefix

logger = logging.getLogger(__name__)

OVERLAY_TOP_LEVEL = frozenset({"default_provider", "default_model", "settings", "providers"})
OVERLAY_OF_A_KNOWN_PROVIDER = frozenset({"default_model", "settings", "capabilities"})
OVERLAY_SOURCE = "initializationOptions.config"


def load_config(
    path: Path | None,
    overlay: Mapping[str, Any] | None,
    *,
    built_in: Collection[str] = (),
    kinds: Collection[str] | None = None,
) -> Config:
    """The file's configuration with a client's overlay on it.

    Args:
        path: the file named on the command line; None for the usual places, where it may be missing.
        overlay: `initializationOptions.config`.
        built_in: ids of providers that exist without any configuration.
        kinds: the daemon's own kinds of providers. A table of another kind may have keys of its own, which
            its plug-in knows; None where every key is known here.

    Raises:
        ConfigError: the file cannot be read or is wrong, or the overlay goes beyond what it may do.
    """
    source = path if path is not None else config_file()
    tables = _read(source, required=path is not None)
    own = _validated(tables, str(source))  # Its own errors first, under its own name.
    overlay = _without_absent(overlay or {})
    merged = _overlaid(tables, overlay, built_in) if overlay else tables
    config = _validated(merged, OVERLAY_SOURCE if overlay else str(source))
    _refuse_keys_of_plugins(config, overlay, kinds)
    config.note_from_client(frozenset(config.providers) - frozenset(own.providers))
    known_before = own.unknown_keys(kinds)
    for unknown in config.unknown_keys(kinds):
        where = source if unknown in known_before else OVERLAY_SOURCE
        logger.warning("%s: unknown key %s is ignored", where, unknown)
    return config


def _read(path: Path, *, required: bool) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8-sig")
    except FileNotFoundError:
        if required:
            raise ConfigError(f"The configuration file {path} does not exist.") from None
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error}.") from None
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not valid TOML: {error}.") from None


def _validated(tables: Mapping[str, Any], source: str) -> Config:
    try:
        return Config.model_validate(dict(tables))
    except ValidationError as error:
        # Only places and rules are told: an input value may be a key.
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{source}: {key}: {first['msg'].removeprefix('Value error, ')}.") from None


def _refused(key: str, why: str) -> ConfigError:
    return ConfigError(
        f"{OVERLAY_SOURCE}: {key} {why}.",
        hint="Put it into your own configuration file; a workspace may not set it.",
    )


def _overlaid(
    base: Mapping[str, Any], overlay: Mapping[str, Any], built_in: Collection[str]
) -> dict[str, Any]:
    for key in overlay:
        if key not in OVERLAY_TOP_LEVEL:
            raise _refused(key, "may not be set by a client")
    providers: dict[str, Any] = dict(base.get("providers", {}))
    added = overlay.get("providers", {})
    if not isinstance(added, Mapping):
        raise _refused("providers", "must be a table of providers")
    for name, table in added.items():
        where = f"providers.{name}"
        if not isinstance(table, Mapping):
            raise _refused(where, "must be a table")
        if name in providers or name in built_in:
            for key in table:
                if key not in OVERLAY_OF_A_KNOWN_PROVIDER:
                    raise _refused(f"{where}.{key}", "belongs to a provider that is already defined")
        if "model_path" in table:
            raise _refused(f"{where}.model_path", "names a file, which only the user may choose to run")
        _refuse_sources(table, where)
        providers[name] = merge_patch(providers.get(name, {}), table)
    result = dict(base)
    if providers:
        result["providers"] = providers
    for key in ("default_provider", "default_model"):
        if overlay.get(key) is not None:
            result[key] = overlay[key]
    if "settings" in overlay:
        if not isinstance(overlay["settings"], Mapping):
            raise _refused("settings", "must be a table")
        result["settings"] = merge_patch(base.get("settings", {}), overlay["settings"])
    _refuse_sources({key: overlay[key] for key in overlay if key != "providers"}, "")
    return result


def _refuse_keys_of_plugins(
    config: Config, overlay: Mapping[str, Any], kinds: Collection[str] | None
) -> None:
    """Refuse a plug-in's own keys in the overlay: nobody here knows whether they name files or commands."""
    for name, table in overlay.get("providers", {}).items():
        whole = config.providers[name]
        if whole.is_of_a_plugin(kinds):
            for key in sorted(set(table) & set(whole.model_extra or {})):
                raise _refused(f"providers.{name}.{key}", "is a plug-in's own key")


def _without_absent(value: Any) -> Any:
    """The value without nulls and empty tables, which mean "absent" in a client's params.

    An empty array is how Lua writes an empty table.
    """
    if isinstance(value, Mapping):
        items = ((key, _without_absent(item)) for key, item in value.items())
        return {key: item for key, item in items if item is not None and item not in ({}, [])}
    return value


def _refuse_sources(value: Any, where: str) -> None:
    """Refuse any string that would make the daemon read something of the user's."""
    if isinstance(value, str):
        prefix = source_prefix(value)
        if prefix is not None:
            raise _refused(where, f"may not use the source {prefix}")
        if "${" in value:
            raise _refused(where, "may not use ${…}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            _refuse_sources(item, f"{where}.{key}" if where else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _refuse_sources(item, f"{where}.{index}")
