"""Builds the URLs of requests, and registers the secrets in them for redaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from urllib.parse import quote, unquote_plus, urlsplit

from jumpseat.system.secrets import Secret, credentials_in_url, register_secret


def join_url(base: str, path: str) -> str:
    """Return the URL of a path below a base, with the base's query at the end."""
    address, mark, query = base.partition("?")
    if "?" in path and mark:
        mark = "&"
    return f"{address.rstrip('/')}{path}{mark}{query}"


def with_query(url: str, query: Mapping[str, str]) -> str:
    """Return the URL with these query parameters, which replace those of the same name.

    Args:
        url: a URL without a fragment.
        query: names and values, not percent-encoded.
    """
    if not query:
        return url
    address, _, own = url.partition("?")
    kept = [part for part in own.split("&") if part and unquote_plus(part.partition("=")[0]) not in query]
    added = [f"{quote(name, safe='')}={quote(value, safe='')}" for name, value in query.items()]
    return f"{address}?{'&'.join([*kept, *added])}"


def hide_credentials(url: str) -> Sequence[Secret]:
    """Register a URL's password and credential-like parameters, so that logs and errors redact them.

    Returns:
        The credentials. Keep a reference to them while the URL is used, or their redaction may end.
    """
    return [register_secret(value, short_lived=True) for value in credentials_in_url(url)]


def host_of_template(url: str) -> str:
    """Return the host of a URL, which may still contain `${name}`; empty if the URL has no host."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""
