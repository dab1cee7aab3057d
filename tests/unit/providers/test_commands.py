"""Commands in hints are replaced by the client's own commands, or by words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import jumpseat
from jumpseat.providers import use_client_commands
from jumpseat.providers.commands import HINTED_COMMANDS

pytestmark = pytest.mark.requirement("1:commands")

SOURCES = Path(jumpseat.__file__).parent
PACKAGES_WITHOUT_HINTS = ("connections", "hub", "testing", "rpc")
"""Packages whose texts are meant for the terminal or are not hints."""

COMMAND = r"jumpseat (?P<arguments>[^`]+)|\{(?:[^`]*login_command[^`]*|command|INSTALL_COMMAND)\}"
NAMED = re.compile(rf"(?P<before>.{{4}})`(?:{COMMAND})`", re.DOTALL)
BARE = re.compile(
    r"(?<!`)\bjumpseat (?:login|keys|local|config|doctor|models|accept-terms|settings|status|serve)\b"
)


@pytest.mark.parametrize(
    ("text", "with_commands", "without"),
    [
        ("Run `jumpseat login`.", "Run `:Login`.", "Sign in."),
        ("Run `jumpseat login work` again.", "Run `:Login` for work again.", "Sign in to work again."),
        ("Then run `jumpseat login`.", "Then run `:Login`.", "Then sign in."),
        ("So run `jumpseat keys set groq`.", "So run `:Key` for groq.", "So store the API key of groq."),
        ("Run `jumpseat keys set NAME`.", "Run `:Key`.", "Store an API key."),
        ("Run `jumpseat accept-terms a:m`.", "Accept the terms of a:m.", "Accept the terms of a:m."),
        ("Run `ollama pull x`.", "Run `ollama pull x`.", "Run `ollama pull x`."),
    ],
)  # fmt: skip
def test_a_command_in_a_hint_becomes_the_clients_command_or_words(
    text: str, with_commands: str, without: str
) -> None:
    assert use_client_commands(text, {"signIn": ":Login", "setKey": ":Key"}) == with_commands
    assert use_client_commands(text, {"check": ":Check"}) == without
    assert use_client_commands(text, None) == text


def test_every_hint_names_a_command_in_the_form_that_is_replaced() -> None:
    wrong, seen = [], 0
    for path, text in texts():
        for found in NAMED.finditer(f"    {text}"):
            seen += 1
            arguments = re.sub(r"\{[^}]*\}", "x", found["arguments"] or "login")
            known = any(re.fullmatch(command.arguments, arguments) for command in HINTED_COMMANDS)
            if not (known and found["before"].lower() == "run "):
                wrong.append(f"{path}: {text}")
        # A text that begins with a command is taken for the command alone. Any other text must quote it.
        if BARE.search(text) and not BARE.match(text):
            wrong.append(f"{path}: {text}")
    assert wrong == []
    assert seen > 20


def texts() -> Iterator[tuple[str, str]]:
    """Yield each string that may be a hint, with the name of its file.

    Docstrings are left out, and expressions in f-strings stay in braces.
    """
    for file in SOURCES.rglob("*.py"):
        name = file.relative_to(SOURCES)
        if name.parts[0] in PACKAGES_WITHOUT_HINTS or str(name) == "providers/commands.py":
            continue
        tree = ast.parse(file.read_text("utf-8"))
        parts = {
            id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values
        }
        statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if id(node) in parts or id(node) in statements:
                continue
            if isinstance(node, ast.JoinedStr):
                yield str(name), ast.unparse(node)[2:-1]
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield str(name), node.value
