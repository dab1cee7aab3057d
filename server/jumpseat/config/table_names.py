"""Full names of the configuration's tables and keys, for messages."""

from __future__ import annotations

MCP_PREFIX = "mcp:"
"""The prefix that distinguishes an MCP server's id from ids of providers, which do not contain colons."""

BUILT_IN_SERVER = "files"
"""The name of the server of file tools, which always exists."""

PAGES = "the page"
"""The name that takes the place of a provider's id in requests for pages.

It cannot be the id of a provider, because ids do not contain white space.
"""


def name_table(provider: str) -> str:
    """Return the full name of a table.

    Args:
        provider: a provider's id, `mcp:NAME` for an MCP server, or `PAGES`.
    """
    if provider == PAGES:
        return "fetch"
    if provider.startswith(MCP_PREFIX):
        return f"mcp.{provider.removeprefix(MCP_PREFIX)}"
    return f"providers.{provider}"


def name_key(provider: str, key: str) -> str:
    """Return the full name of a key. For `provider`, see `name_table`."""
    return f"{name_table(provider)}.{key}"
