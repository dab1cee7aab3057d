"""Loads the configuration of a connection: the file merged with the client's overlay."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.config.config import Config
from jumpseat.config.faults import Fault, FaultsByTable
from jumpseat.config.overlay import SOURCE as OVERLAY
from jumpseat.config.overlay import OverlayError, drop_absent, merge_overlay, refuse_keys_of_plugins
from jumpseat.config.own_keys import Kinds, unknown_keys
from jumpseat.config.places import line_of
from jumpseat.config.reading import (
    DEEPEST,
    FaultyConfigError,
    Source,
    drop_faulty_tables,
    extract_sound_part,
    is_deeper_than,
    list_faults,
    read_tables,
    validate_source,
    validate_tables,
)
from jumpseat.config.suggestions import did_you_mean
from jumpseat.system.environment import Environment, empty_environment
from jumpseat.system.secrets import names_credential

logger = logging.getLogger(__name__)


def load_config(
    path: Path | None,
    overlay: Mapping[str, Any] | None,
    *,
    environment: Environment | None = None,
    built_in: Collection[str] = (),
    kinds: Kinds | None = None,
) -> Config:
    """Load the configuration file and merge the client's overlay into it.

    Args:
        path: the file from the command line; None for the client's default file, which may be missing.
        overlay: `initializationOptions.config`.
        environment: the client's environment; None for an empty one.
        built_in: ids of the providers that exist without any configuration.
        kinds: the built-in kinds of providers, each with its own keys. Any other kind belongs to a plug-in,
            which checks the kind's own keys itself. If None, only the keys common to all kinds are known.

    Raises:
        ConfigError: the file cannot be read, it has a fault outside the tables of providers, prompts and
            MCP servers, or the overlay is invalid or not allowed. A fault in one of these tables does not
            raise: it is logged and added to the result's `faults`, `faults_of_prompts` or `faults_of_mcp`.
    """
    environment = environment or empty_environment()
    place = environment.places.config_file if path is None else environment.directory / path
    file = read_tables(place, required=path is not None)
    # Check the file before merging the overlay, so that errors in the file are reported with its name.
    own, faults = validate_source(file, kinds)
    if is_deeper_than(DEEPEST, overlay):
        raise ConfigError(f"{OVERLAY} is nested more than {DEEPEST} levels deep.")
    overlay = drop_absent(overlay or {})
    try:
        config = _load_with_overlay(file, overlay, built_in, faults, kinds) if overlay else own
        refuse_keys_of_plugins(config, overlay, kinds)
    except OverlayError as error:
        error.hint = f"Set it in your own configuration file, {file.name}; a workspace may not set it."
        raise
    warnings = list(find_warnings(config, own, file, kinds))
    if any(faults.values()):
        # `config` lacks the faulty tables, so search their valid parts for unknown keys separately.
        sound, _ = extract_sound_part(file, kinds)
        warnings += [each for each in find_warnings(sound, sound, file, kinds) if each not in warnings]
    config.note_origins(place, file.tables, environment)
    config.note_from_client(own)
    _hide_keys_from_commands(config, environment)
    config.note_faults(faults, _read_kinds(file, faults["providers"]))
    for fault in chain(*(table_faults for group in faults.values() for table_faults in group.values())):
        logger.error("%s", fault)
    for warning in warnings:
        logger.warning("%s", warning)
    return config


def _hide_keys_from_commands(config: Config, environment: Environment) -> None:
    """Record the environment variables that contain credentials, so that commands do not receive them."""
    for table in (*config.providers.values(), *(server.value_table for server in config.mcp.values())):
        if table.is_from_client:
            continue  # Such a table cannot refer to variables.
        own = {"api_key": table.api_key, **(table.model_extra or {})}
        if table.client_cert is not None:
            own["password"] = table.client_cert.password
        for key, value in (*own.items(), *table.headers.items(), *table.env.items()):
            name = value.removeprefix("env:") if isinstance(value, str) else ""
            if name in environment.variables and (names_credential(key) or names_credential(name)):
                environment.withheld.add(name)


def _read_kinds(file: Source, providers: Collection[str]) -> dict[str, str]:
    tables = file.tables.get("providers", {})
    kinds = {name: tables[name].get("kind") for name in providers if isinstance(tables.get(name), Mapping)}
    return {name: kind for name, kind in kinds.items() if isinstance(kind, str)}


def find_warnings(config: Config, own: Config, file: Source, kinds: Kinds | None) -> Iterator[Fault]:
    """Yield warnings about unknown keys, and about role names that are also sent to the provider.

    Args:
        own: the file's configuration without the overlay.
        file: the file's tables.
        kinds: see `load_config`.
    """
    in_file = {unknown.path for unknown in unknown_keys(own, kinds)}
    lines = file.lines() if in_file else {}
    for unknown in unknown_keys(config, kinds):
        message = f"unknown key, which is ignored{did_you_mean(str(unknown.path[-1]), unknown.known)}"
        if unknown.path in in_file:
            yield Fault(file.name, unknown.key, message, line_of(unknown.path, lines))
        else:
            yield Fault(OVERLAY, unknown.key, message)
    yield from _find_sent_names(config, own, file)


def _find_sent_names(config: Config, own: Config, file: Source) -> Iterator[Fault]:
    """Yield a warning for each role name that requests contain but that may be meant for headings only."""
    sent = [
        ("providers", provider, "roles", role)
        for provider, table in config.providers.items()
        for role, name in table.roles.also_sent.items()
        if name != role
    ]
    lines = file.lines() if sent else {}
    for path in sent:
        message = (
            "is one lower-case word, so chat completions requests use it too; set roles.wire to choose the "
            "names in requests, or wire = {} for the default names"
        )
        key = ".".join(path)
        if path[1] in own.providers:
            yield Fault(file.name, key, message, line_of(path, lines))
        else:
            yield Fault(OVERLAY, key, message)


def _load_with_overlay(
    file: Source,
    overlay: Mapping[str, Any],
    built_in: Collection[str],
    faults: FaultsByTable,
    kinds: Kinds | None,
) -> Config:
    """Merge the overlay into the file's configuration.

    Args:
        file: the file's tables.
        overlay: the overlay without nulls and empty tables.
        built_in: see `load_config`.
        faults: the faults in the file, by table. The overlay may not redefine a table with faults.
        kinds: see `load_config`.
    """
    base = drop_faulty_tables(file.tables, {"providers": faults["providers"]})
    merged = merge_overlay(base, overlay, {*built_in, *faults["providers"]}, kinds)
    for group, names in faults.items():
        # Leave out each table with faults. Otherwise, the overlay's keys for a faulty provider would define a
        # different provider under the same id.
        merged[group] = {key: table for key, table in merged.get(group, {}).items() if key not in names}
    config, errors = validate_tables(merged, kinds)
    if config is None:
        raise FaultyConfigError([fault for _, fault in list_faults(errors, Source(OVERLAY))])
    return config
