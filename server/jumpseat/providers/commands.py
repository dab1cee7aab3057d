"""Adapts the commands in hints to the client.

Hints are written for the command line: ``Run `jumpseat login work`.`` Clients share a provider's errors and
states, so a client's own commands are inserted only when a text is sent to that client.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

_PHRASE = re.compile(r"\b(?P<first>[Rr])un `jumpseat (?P<arguments>[^`]+)`")


@dataclass(frozen=True, slots=True)
class HintedCommand:
    """A command-line command that occurs in hints."""

    arguments: str
    """A pattern for the words after `jumpseat`; its group `name`, if any, matches a provider or a model."""

    purpose: str
    """The imperative clause for clients without such a command; `{name}` stands for the group `name`."""

    client_key: str | None = None
    """The key in `initializationOptions.commands`; None if no client has such a command."""

    def format_clause(self, name: str | None, commands: Mapping[str, str]) -> str:
        """Return the clause for a client with these commands. It begins with a lower-case letter."""
        command = commands.get(self.client_key) if self.client_key is not None else None
        if command is None:
            return self.purpose.format(name=name)
        return f"run `{command}` for {name}" if name is not None else f"run `{command}`"


HINTED_COMMANDS = (
    HintedCommand(r"login", "sign in", "signIn"),
    HintedCommand(r"login (?P<name>\S+)", "sign in to {name}", "signIn"),
    HintedCommand(r"keys set NAME", "store an API key", "setKey"),
    HintedCommand(r"keys set (?P<name>\S+)", "store the API key of {name}", "setKey"),
    HintedCommand(r"local install", "install the local model", "installLocal"),
    HintedCommand(r"config edit", "open the configuration file", "openConfiguration"),
    HintedCommand(r"doctor", "check the setup", "check"),
    HintedCommand(r"accept-terms (?P<name>.+)", "accept the terms of {name}"),
    HintedCommand(r"models --provider (?P<name>\S+) --refresh", "list the models of {name} again"),
    HintedCommand(r"settings set default_provider (?P<name>\S+)", "make {name} the default provider"),
)


def use_client_commands(text: str, commands: Mapping[str, str] | None) -> str:
    """Replace the command-line commands in a text with the client's commands, or with plain words.

    Args:
        text: A message or a hint.
        commands: The client's commands by key; None for a client that uses the command line.
    """
    if commands is None:
        return text

    def replace_command(found: re.Match[str]) -> str:
        for command in HINTED_COMMANDS:
            if match := re.fullmatch(command.arguments, found["arguments"]):
                words = command.format_clause(match.groupdict().get("name"), commands)
                return words[0].upper() + words[1:] if found["first"] == "R" else words
        return found[0]

    return _PHRASE.sub(replace_command, text)
