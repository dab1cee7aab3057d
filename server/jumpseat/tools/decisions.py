"""Stores in a file which tools the user has allowed for all conversations.

`memory.py` has the decisions that apply to one conversation, and `turn_tools.py` those for one turn.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable, Mapping
from typing import Any

from jumpseat.system.paths import Places
from jumpseat.system.state_file import StateError, StateFile
from jumpseat.system.watch import Stamp, stamp_of
from jumpseat.tools.server import Tool, ToolServer
from jumpseat.wire import write_json

logger = logging.getLogger(__name__)

MAX_VERSIONS = 20
"""The maximum number of versions of a tool to remember.

Versions differ in their digest. A tool has several current versions if servers with the same name differ
between workspaces.
"""


def digest_of(server: ToolServer, tool: Tool) -> str:
    """Return a digest of everything that a remembered decision depends on.

    The digest changes with the server's definition and with the tool's name, description and schema.
    """
    parts = (server.identity, tool.name, tool.description, _sort_keys(tool.parameters))
    return hashlib.sha256(write_json(parts)).hexdigest()[:32]


def _sort_keys(value: Any) -> Any:
    """Return a JSON value with sorted keys."""
    if isinstance(value, Mapping):
        return {key: _sort_keys(value[key]) for key in sorted(value)}
    return [_sort_keys(each) for each in value] if isinstance(value, list) else value


class AlwaysAllowed:
    """The tools that the user has allowed for all conversations. The methods block."""

    def __init__(self, places: Places) -> None:
        self._file = StateFile(places.state_dir / "tools.json")
        self._allowed: Mapping[str, list[str]] = {}
        self._stamp: Stamp | None = None
        self._is_read = False

    def read(self) -> None:
        """Read the file if another process has changed it. An unreadable file counts as empty."""
        stamp = stamp_of(self._file.path)
        if self._is_read and stamp == self._stamp:
            return
        try:
            self._allowed = _allowed_in(self._file.read())
        except StateError as error:
            logger.warning("the remembered decisions about tools are not used: %s", error.message)
            self._allowed = {}
        self._stamp, self._is_read = stamp, True

    def find(self, server: ToolServer, tool: Tool) -> bool | None:
        """Return whether this version of the tool is allowed; None if only another version is allowed."""
        digests = self._allowed.get(f"{server.name}/{tool.name}", ())
        if digest_of(server, tool) in digests:
            return True
        return None if digests else False

    def add(self, server: ToolServer, tools: Iterable[Tool]) -> None:
        """Remember that these tools are allowed.

        Raises:
            StateError: the file cannot be written.
        """
        new = {f"{server.name}/{tool.name}": digest_of(server, tool) for tool in tools}

        def change(content: dict[str, Any]) -> dict[str, Any]:
            allowed = _allowed_in(content)
            for name, digest in new.items():
                others = [each for each in allowed.get(name, ()) if each != digest]
                allowed[name] = [*others, digest][-MAX_VERSIONS:]
            return {**content, "allowed": allowed}

        self._allowed = _allowed_in(self._file.update(change))
        self._stamp, self._is_read = stamp_of(self._file.path), True


def _allowed_in(content: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the valid decisions in the content of the file."""
    allowed = content.get("allowed")
    if not isinstance(allowed, Mapping):
        return {}
    return {
        name: [digest for digest in digests if isinstance(digest, str)]
        for name, digests in allowed.items()
        if isinstance(digests, list)
    }
