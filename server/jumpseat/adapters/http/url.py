"""URLs of requests: a base and a path, a configured query, and secrets in either.

Above it is `endpoint`; below it are secrets. Everything here is percent-encoded already, but for the query.
"""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl, quote, unquote, unquote_plus, urlsplit

from jumpseat.system.secrets import hidden, names_credential


def joined(base: str, path: str) -> str:
    """The URL of a path below a base; the base may have a query, which stays at the end."""
    address, mark, query = base.partition("?")
    if "?" in path and mark:
        mark = "&"
    return f"{address.rstrip('/')}{path}{mark}{query}"


def with_query(url: str, query: Mapping[str, str]) -> str:
    """The URL with parameters laid over those that it has.

    Args:
        url: without a fragment.
        query: names and values, not percent-encoded.
    """
    if not query:
        return url
    address, _, own = url.partition("?")
    kept = [part for part in own.split("&") if part and unquote_plus(part.partition("=")[0]) not in query]
    laid = [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query.items()]
    return f"{address}?{'&'.join([*kept, *laid])}"


def hide_credentials(url: str) -> None:
    """Keep out of logs and errors what a URL has of credentials: a password, a parameter that is named so."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return  # Whoever sends it says so.
    if parts.password:
        hidden(parts.password)
        hidden(unquote(parts.password))
    for name, value in parse_qsl(parts.query):
        if names_credential(name):
            hidden(value)


def host_of_template(url: str) -> str:
    """The host that an address names, as far as it is written down; empty where it is not."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
