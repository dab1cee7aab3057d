"""Finds the secrets in a configuration and in environment variables, so that they can be redacted."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from jumpseat.config.sources import mask_source, source_prefix
from jumpseat.system.environment import Environment
from jumpseat.system.secrets import credentials_in_url, names_credential, register_secret

HIDDEN = "***"

_MAY_HAVE_SECRETS = (("providers",), ("mcp",), ("fetch",))
"""The top-level keys whose tables may have credentials; `fetch` has the address of a proxy."""

_OFTEN_SECRET = ("headers", "query", "env")
"""The tables of a provider or an MCP server whose values are often secrets, whatever their keys are."""


def hide_secrets(environment: Environment, file: Path) -> None:
    """Redact the secrets in the environment variables and in the configuration file, which may not exist."""
    for name, value in environment.variables.items():
        if names_credential(name) or name.lower().endswith("_proxy"):
            _hide(value)
    try:
        document = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        return
    for _, value in secrets_in(document, environment):
        _hide(value)


def secrets_in(
    document: Any, environment: Environment, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the path and value of each text that may be a secret.

    References to sources, and names of environment variables, are not secret.
    """
    if isinstance(document, Mapping):
        for key, value in document.items():
            yield from secrets_in(value, environment, (*path, str(key)))
    elif isinstance(document, list):
        for value in document:
            yield from secrets_in(value, environment, path)
    elif isinstance(document, str) and _may_be_secret(path, document, environment):
        yield path, document


def mask_value(path: tuple[str, ...], value: str, environment: Environment) -> str:
    """Return a text of a configuration in a form that is safe to show."""
    if source_prefix(value) is not None:
        return mask_source(value)
    return HIDDEN if _may_be_secret(path, value, environment) else value


def _may_be_secret(path: tuple[str, ...], value: str, environment: Environment) -> bool:
    is_reference = source_prefix(value) is not None or value in environment.variables
    if path[:1] not in _MAY_HAVE_SECRETS or is_reference:
        return False
    is_often_secret = any(name in path[2:-1] for name in _OFTEN_SECRET)
    return is_often_secret or names_credential(path[-1]) or bool(credentials_in_url(value))


def _hide(value: str) -> None:
    for each in (value, *credentials_in_url(value)):
        register_secret(each)
