"""Checks the values in the table of a provider or an MCP server.

This looks up environment variables and reads certificate files, but does not run commands or read
credentials.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig
from jumpseat.config.places import KeyPath
from jumpseat.config.sources import fault_of_source, source_prefix
from jumpseat.config.sources.own_table import own_value
from jumpseat.config.table_names import name_table
from jumpseat.config.templates import TemplateError, is_template, split_template
from jumpseat.config.values import is_unset_variable
from jumpseat.http import is_loopback
from jumpseat.http.network import check_certificates, check_proxy
from jumpseat.providers.kinds import KINDS
from jumpseat.system.secrets import names_credential


def find_value_faults(provider: str, table: ProviderConfig) -> Iterator[tuple[KeyPath, str]]:
    """Yield each fault: its path below the table, and a message that completes a sentence about the path.

    Args:
        provider: the id of the provider or MCP server, as in `name_table`.
        table: the table from the user's own file.
    """
    for path, value in list_sources(table):
        if (fault := fault_of_source(value, table)) is not None:
            yield path, fault
    for path, text in _list_templates(table):
        if is_template(text) and (message := _explain_unfillable(text, table)) is not None:
            yield path, message
    yield from find_network_faults(provider, table)


def find_network_faults(provider: str, table: ProviderConfig) -> Iterator[tuple[KeyPath, str]]:
    """Yield the faults in the proxy and the certificates of a table.

    If the provider is `PAGES`, the table is `[fetch]`.
    """
    for check in (check_proxy, check_certificates):
        try:
            check(provider, table)
        except ConfigError as error:
            yield split_location(provider, error.message)


_DOLLAR = re.compile(r"(?<![\w$])\$[A-Za-z_]\w*")
_LITERAL = "has a $NAME, which is taken literally; to read a variable, use env:NAME as the whole value"
_FILLED = ("env", "headers")
"""The keys in whose values `${name}` is replaced, unless a value names a source."""


def find_value_warnings(table: ProviderConfig) -> Iterator[tuple[KeyPath, str]]:
    """Yield values that are probably mistakes, in the form of `find_value_faults`."""
    environment = table.origin.environment
    for path, value in list_sources(table):
        prefix = source_prefix(value)
        name = value.removeprefix("env:")
        if prefix == "env:" and name and not environment.get(name).strip():
            yield path, f"names the variable {name}, which is not set here"
        elif prefix in (None, "file:") and _has_literal(value, filled=prefix is None and path[0] in _FILLED):
            yield path, _LITERAL
        elif path[0] in credential_keys(table) and is_unset_variable(value, environment):
            yield (
                path,
                "looks like the name of a variable, which is not set here; the name would be sent",
            )
    for key in ("base_url", "url", "query"):
        for path, text in _list_texts((key,), getattr(table, key)):
            if _has_literal(text, filled=True):
                yield path, _LITERAL
    names = (*table.headers, *table.query)
    if table.api_key is not None or any(map(names_credential, names)):
        for key in ("base_url", "url"):
            address = getattr(table, key) or ""
            plain, _, host = address.partition("://")
            if plain == "http" and not is_template(host.partition("/")[0]) and not is_loopback(address):
                yield (key,), "sends a key over plain http to another machine; use https"


def _has_literal(text: str, *, filled: bool) -> bool:
    """Whether a text refers to a variable in a form that is taken literally here.

    Args:
        text: a configured value.
        filled: whether `${name}` is replaced in this value; `$NAME` never is.
    """
    return _DOLLAR.search(text) is not None or (not filled and is_template(text))


def split_location(provider: str, message: str) -> tuple[KeyPath, str]:
    """Split a message into its leading path, relative to the table, and the rest. The path may be empty."""
    key, space, rest = message.rstrip(".").partition(" ")
    key, prefix = key.removesuffix(":"), name_table(provider)
    if space and (key == prefix or key.startswith(f"{prefix}.")):
        return tuple(filter(None, key.removeprefix(prefix).split("."))), rest
    return (), message.rstrip(".")


def list_sources(table: ProviderConfig) -> Iterator[tuple[KeyPath, str]]:
    """Yield every value that can name a source, with its path below the table."""
    for key in (*credential_keys(table), "proxy"):
        if isinstance(value := getattr(table, key, None), str):
            yield (key,), value
    for key in ("env", "headers"):
        for name, value in getattr(table, key).items():
            yield (key, name), value
    if table.client_cert is not None and table.client_cert.password is not None:
        yield ("client_cert", "password"), table.client_cert.password


def credential_keys(table: ProviderConfig) -> tuple[str, ...]:
    """Return the keys of a table whose values are credentials."""
    spec = KINDS.get(table.kind)
    return ("api_key", *(spec.source_keys if spec is not None else ()))


def _list_templates(table: ProviderConfig) -> Iterator[tuple[KeyPath, str]]:
    """Yield every text in which `${name}` is replaced, with its path below the table."""
    for key in ("base_url", "url", "query", "parameters"):
        yield from _list_texts((key,), getattr(table, key))
    for key in _FILLED:
        for name, value in getattr(table, key).items():
            if source_prefix(value) is None:  # `${name}` is not replaced in a reference to a source.
                yield from _list_texts((key, name), value)


def _list_texts(path: KeyPath, value: Any) -> Iterator[tuple[KeyPath, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, Mapping):
        for name, each in value.items():
            yield from _list_texts((*path, name), each)
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from _list_texts((*path, place), each)


def _explain_unfillable(text: str, table: ProviderConfig) -> str | None:
    try:
        names = [name for _, name in split_template(text) if name is not None]
    except TemplateError as error:
        return str(error)
    unknown = [
        f"${{{name}}}"
        for name in dict.fromkeys(names)
        if name not in table.env
        and name != "model"
        and not isinstance(own_value(table, name), str | int | float)
    ]
    if not unknown:
        return None
    return f"uses {' and '.join(unknown)}, which neither env nor this table defines"
