"""The tools that the daemon runs in a chat, as the user selects them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


class ToolSelection(NamedTuple):
    """The tools of a chat, and the user's rules for this command."""

    selectors: Sequence[str] = ()
    """The tools, such as `files/*`; empty for a chat without tools."""

    allowed: Sequence[str] = ()
    """Selectors of tools whose questions are answered with yes."""

    denied: Sequence[str] = ()
    """Selectors of tools that are never offered to the model."""

    folders: Sequence[str] = ()
    """The directories that the file tools may use; empty for the working directory."""

    max_rounds: int | None = None

    @property
    def overlay(self) -> dict[str, Any] | None:
        """The configuration to lay over the user's file, which can deny tools but never allow them."""
        return {"tools": {"deny": list(self.denied)}} if self.denied else None

    @property
    def is_pointless(self) -> bool:
        """Whether there are rules and limits, but no tools."""
        return not self.selectors and any((self.allowed, self.denied, self.folders, self.max_rounds))

    def options(self) -> dict[str, Any]:
        """Return the options for `Client.chat`."""
        if not self.selectors:
            return {}
        return {
            "daemon_tools": self.selectors,
            "workspace_folders": self.folders or (".",),
            "max_rounds": self.max_rounds,
        }


def parse_selectors(texts: Iterable[str]) -> list[str]:
    """Parse selectors that are separated by commas; the name of a server alone selects all its tools.

    Raises:
        ValueError: a text is not a selector; the message is a sentence.
    """
    from jumpseat.tools.selectors import Selector  # Deferred: most chats have no tools.

    selectors: list[str] = []
    for word in (word.strip() for text in texts for word in text.split(",")):
        selector = word if "/" in word else f"{word}/*"
        if not word or Selector.parse(selector) is None:
            raise ValueError(f"{word!r} is not a selector of tools, such as files/read or 'files/*'.")
        selectors.append(selector)
    return selectors
