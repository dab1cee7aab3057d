"""Parses the user's input: a question, or a command and its argument."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal, TypeAlias

Completes: TypeAlias = Literal["", "model", "prompt", "path", "thinking", "option", "sign_in", "tools"]
"""The kind of words that complete a command's argument; empty if the argument is not completed."""

# A command is a slash and a name, followed by white space or nothing. `/usr/bin` is a question.
_COMMAND = re.compile(r"/([A-Za-z?][A-Za-z0-9._-]*)(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Command:
    """A command of the conversation."""

    name: str
    argument: str
    """The argument as the help shows it; in brackets if it is optional."""

    help: str
    completes: Completes = ""


COMMANDS = (
    Command("help", "", "Show the commands and the keys."),
    Command("model", "[NAME]", "Show the model, or use another one.", "model"),
    Command("system", "[TEXT]", "Show or set the system prompt; - removes it."),
    Command(
        "file", "[PATH[:10-40]]", "Send a file, lines of it, or a web page with the next question.", "path"
    ),
    Command("attach", "[FILE]", "Send an image or PDF with the next question; - removes all files.", "path"),
    Command("prompt", "[NAME [INPUT]]", "List the prompts, or use one.", "prompt"),
    Command("retry", "[MODEL]", "Ask the last question again; the new answer replaces the old one.", "model"),
    Command("edit", "", "Change the last question in your editor and ask it again."),
    Command(
        "thinking",
        "[show|hide|LEVEL]",
        "Show the last thinking; show or hide thinking from now on, or set its level.",
        "thinking",
    ),
    Command("option", "[KEY=VALUE]", "Show or change a setting of the model; KEY= resets it.", "option"),
    Command("tools", "[SELECTORS]", "Show the selected tools, or select others; - selects none.", "tools"),
    Command("continue", "", "Continue an answer that you or the limit of tool calls stopped."),
    Command("history", "", "Show the conversation so far."),
    Command("save", "[PATH]", "Save the conversation to a file, as a transcript.", "path"),
    Command("usage", "", "Show the tokens, time and cost so far."),
    Command("clear", "", "Start a new conversation."),
    Command("login", "[PROVIDER]", "Sign in to GitHub Copilot, or to PROVIDER.", "sign_in"),
    Command("quit", "", "Leave, like Ctrl-D."),
)
OTHER_NAMES = {"exit": "quit", "new": "clear", "?": "help", "image": "attach", "set": "option"}

_BY_NAME = {command.name: command for command in COMMANDS}


@dataclass(frozen=True, slots=True)
class Question:
    """Text for the model."""

    text: str


@dataclass(frozen=True, slots=True)
class CommandCall:
    """A command and its argument, which may have several lines."""

    command: Command
    argument: str


@dataclass(frozen=True, slots=True)
class UnknownCommand:
    """A slash and a name that is not a command but may be a prompt."""

    name: str
    argument: str


def parse(line: str) -> Question | CommandCall | UnknownCommand | None:
    """Parse the user's input; return None if it is blank.

    A text that begins with white space is always a question.
    """
    if not line.strip():
        return None
    match = _COMMAND.fullmatch(line.rstrip())
    if match is None:
        return Question(line.strip())
    name, argument = match[1], match[2] or ""
    command = find_command(name)
    return CommandCall(command, argument) if command else UnknownCommand(name, argument)


def find_command(name: str) -> Command | None:
    """Look up a command by its name or by another name for it, ignoring case."""
    lower = name.lower()
    return _BY_NAME.get(OTHER_NAMES.get(lower, lower))


def find_near_name(name: str, more: Sequence[str] = ()) -> str | None:
    """Return the most similar name among the commands and `more`; None if no name is similar."""
    near = get_close_matches(name.lower(), [*_BY_NAME, *OTHER_NAMES, *more], 1, 0.6)
    return near[0] if near else None
