"""Finds and reads the files in which other programs configure MCP servers.

Their formats: https://code.visualstudio.com/docs/copilot/reference/mcp-configuration,
https://modelcontextprotocol.io/docs/develop/connect-local-servers and https://cursor.com/docs/context/mcp.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpseat.chat import ConfigError

_STRING_OR_COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_STRING_OR_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])')

_PLACES: Sequence[tuple[str, ...]] = (
    ("mcpServers",),  # Claude Desktop, Claude Code, Cursor, Windsurf
    ("servers",),  # the `mcp.json` of VS Code
    ("mcp", "servers"),  # the `settings.json` of VS Code
)
"""The nested keys under which each format has its table of servers."""


@dataclass(frozen=True, slots=True)
class ForeignServer:
    """An MCP server in a file of another program."""

    name: str
    entry: Mapping[str, Any]
    file: Path
    inputs: Mapping[str, str]
    """Descriptions of the values that the other program asks for, by the id in `${input:id}`."""


def find_usual_files() -> list[Path]:
    """Return the user's own configuration files of VS Code, Cursor and Claude Desktop that exist.

    Files in projects are left out, because somebody else may have written them.
    """
    import platformdirs  # Deferred: it is only needed here.

    def find_config(name: str) -> Path:
        return platformdirs.user_config_path(name, appauthor=False, roaming=True)

    editions_of_vscode = ("Code", "Code - Insiders", "VSCodium")
    places = [
        *(find_config(name) / "User" / "mcp.json" for name in editions_of_vscode),
        Path.home() / ".cursor" / "mcp.json",
        find_config("Claude") / "claude_desktop_config.json",
    ]
    return [path for path in places if path.is_file()]


def read_servers(file: Path) -> list[ForeignServer]:
    """Return the servers in a file.

    Raises:
        ConfigError: the file cannot be read, or has no servers.
    """
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8 text.") from None
    try:
        document = json.loads(_strip_comments(text))
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{file} is not JSON: {error}.") from None
    entries = _find_entries(document)
    if entries is None:
        hint = "jumpseat reads the formats of VS Code (servers), and of Claude and Cursor (mcpServers)."
        raise ConfigError(f"{file} has no table of MCP servers.", hint=hint)
    inputs = dict(_read_inputs(document))
    return [ForeignServer(name, entry, file, inputs) for name, entry in entries.items()]


def _strip_comments(text: str) -> str:
    """Remove the comments and trailing commas that editors accept in JSON."""
    # Both patterns also match whole strings, which are kept: a `//` or a comma in a string is not removed.
    without = _STRING_OR_COMMENT.sub(lambda match: match[1] or " ", text)
    return _STRING_OR_TRAILING_COMMA.sub(lambda match: match[1] or "", without)


def _find_entries(document: Any) -> Mapping[str, Mapping[str, Any]] | None:
    for place in _PLACES:
        found = document
        for key in place:
            found = found.get(key) if isinstance(found, Mapping) else None
        if isinstance(found, Mapping):
            return {str(name): entry for name, entry in found.items() if isinstance(entry, Mapping)}
    return None


def _read_inputs(document: Any) -> Iterator[tuple[str, str]]:
    settings = document.get("mcp", document) if isinstance(document, Mapping) else {}
    inputs = settings.get("inputs") if isinstance(settings, Mapping) else None
    for each in inputs if isinstance(inputs, list) else ():
        if isinstance(each, Mapping) and isinstance(each.get("id"), str):
            yield each["id"], str(each.get("description") or "")
