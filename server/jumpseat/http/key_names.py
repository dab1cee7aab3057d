"""Names the keys of the configuration in errors."""

from __future__ import annotations

PAGES = "the page"
"""The name that takes the place of a provider's id in requests for pages. No id contains white space."""


def name_table(provider: str) -> str:
    """Return the full name of a provider's table, or of the table for pages."""
    return "fetch" if provider == PAGES else f"providers.{provider}"


def name_key(provider: str, key: str) -> str:
    """Return the full name of a key of such a table."""
    return f"{name_table(provider)}.{key}"
