"""Selectors of tools, such as `files/read` and `github/search_*`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Selector:
    """A server's name and a pattern for its tools' names, in which `*` matches any run of characters."""

    server: str
    tool: str

    @classmethod
    def parse(cls, text: str) -> Selector | None:
        """Parse a selector; None if it does not have the form `server/tool`."""
        server, slash, tool = text.partition("/")
        return cls(server, tool) if server and slash and tool else None

    def matches(self, server: str, tool: str) -> bool:
        """Whether the selector selects this tool of this server."""
        return server == self.server and _compile(self.tool).fullmatch(tool) is not None


def matches_any(selectors: Iterable[Selector], server: str, tool: str) -> bool:
    """Whether one of the selectors selects this tool of this server."""
    return any(selector.matches(server, tool) for selector in selectors)


@lru_cache(maxsize=1024)
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(".*".join(map(re.escape, pattern.split("*"))), re.DOTALL)
