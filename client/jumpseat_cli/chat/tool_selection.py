"""The tools that the daemon runs in a chat, as the user selects them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jumpseat_client.client import Client


class ToolSelection(NamedTuple):
    """The tools of a chat, and the user's rules for this command."""

    selectors: Sequence[str] = ()
    """The tools, such as `files/*`; empty for a chat without tools."""

    allowed: Sequence[str] = ()
    """Selectors of tools whose calls are approved without asking the user."""

    denied: Sequence[str] = ()
    """Selectors of tools that are never offered to the model."""

    folders: Sequence[str] = ()
    """The directories that the file tools may use; empty for the working directory."""

    max_rounds: int | None = None
    """The limit for requests to the model in one answer; None for the configured limit."""

    workspace_config: Mapping[str, Any] | None = None
    """The content of the file that `--overlay` names."""

    @property
    def overlay(self) -> Mapping[str, Any] | None:
        """The overlay for the daemon. An overlay can deny tools but never allow them."""
        if not self.denied:
            return self.workspace_config
        config = self.workspace_config or {}
        rules = config.get("tools", {})
        denied = rules.get("deny", []) if isinstance(rules, Mapping) else None
        if not isinstance(denied, list):
            return config  # The daemon reports the mistake.
        return {**config, "tools": {**rules, "deny": [*denied, *self.denied]}}

    @property
    def is_pointless(self) -> bool:
        """Whether there are rules or limits, but no tools."""
        return not self.selectors and any((self.allowed, self.denied, self.folders, self.max_rounds))

    async def find_mistake(self, client: Client) -> tuple[str, str | None] | None:
        """Return an error and a hint about a selector that matches no tool; None if all selectors match.

        Raises:
            ClientError: the tools cannot be listed.
        """
        selectors = [*self.selectors, *self.allowed, *self.denied]
        return find_mistake(selectors, await client.list_tools()) if selectors else None

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


def find_mistake(selectors: Iterable[str], listed: Mapping[str, Any]) -> tuple[str, str | None] | None:
    """Return an error and a hint about the first selector that matches no tool; None if all match.

    Tools of a server that is not running are not checked, because the server may offer other tools than at
    its last start.

    Args:
        selectors: texts that `parse_selectors` returned.
        listed: the result of `tools/list`.
    """
    from jumpseat.tools.selectors import Selector, matches_any

    states = {row["name"]: row["state"] for row in listed["servers"]}
    for text in selectors:
        server = text.partition("/")[0]
        if server not in states:
            return _explain_unknown("tool server", server, [*states])
        names = [row["tool"] for row in listed["tools"] if row["server"] == server]
        selector = Selector.parse(text)
        if (
            states[server] == "running"
            and selector is not None
            and not any(matches_any([selector], server, name) for name in names)
        ):
            return _explain_unknown("tool", text, [f"{server}/{name}" for name in names])
    return None


def _explain_unknown(kind: str, name: str, names: Sequence[str]) -> tuple[str, str | None]:
    from difflib import get_close_matches  # Deferred: most chats have no tools.

    near = None if "*" in name else next(iter(get_close_matches(name, names, 1)), None)
    question = f" Did you mean {near}?" if near else ""
    return f"There is no {kind} {name}.{question}", f"The {kind}s are: {', '.join(names)}" if names else None
