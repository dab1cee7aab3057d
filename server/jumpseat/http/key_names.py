"""Names the keys of the configuration in errors."""

from __future__ import annotations

PAGES = "the page"
"""The name that takes the place of a provider's id in requests for pages. No id contains white space."""


def name_key(provider: str, key: str) -> str:
    """Return the full name of a key of a provider's table, or of the table `[fetch]` for pages."""
    return f"fetch.{key}" if provider == PAGES else f"providers.{provider}.{key}"
