"""Names the tables and keys of the configuration in messages."""

from __future__ import annotations

MCP_PREFIX = "mcp:"
"""The prefix of an MCP server's id among ids of providers, which do not contain colons."""

BUILT_IN_SERVER = "files"
"""The name of the server of file tools, which always exists."""

PAGES = "the page"
"""The name that takes the place of a provider's id in requests for pages. No id contains white space."""


def name_table(provider: str) -> str:
    """Return the full name of the table of a provider, of an MCP server (`mcp:NAME`), or for pages."""
    if provider == PAGES:
        return "fetch"
    if provider.startswith(MCP_PREFIX):
        return f"mcp.{provider.removeprefix(MCP_PREFIX)}"
    return f"providers.{provider}"


def name_key(provider: str, key: str) -> str:
    """Return the full name of a key in the table that `name_table` names."""
    return f"{name_table(provider)}.{key}"
