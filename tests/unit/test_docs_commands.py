"""Every command, flag and `make` target that a page names exists."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.unit.pages import (
    COMMAND_LINE,
    EDITOR_PAGES,
    PAGES,
    README,
    ROOT,
    WAIT_SECONDS,
    fences,
    prose,
    read,
    spans,
)

EVERY_PAGE = [*PAGES, *EDITOR_PAGES.values()]


def shell_lines(page: Path) -> list[str]:
    """Return the commands of a page: its shell blocks line by line, and the code spans."""
    return [line for block in fences(page, "sh") for line in block.splitlines()] + spans(prose(page))


@pytest.mark.parametrize("page", EVERY_PAGE, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_make_target_that_a_page_names_exists(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", read(ROOT / "Makefile"), re.MULTILINE))
    named = {
        found[1] for line in shell_lines(page) if (found := re.match(r"make ([a-z-]+)", line)) is not None
    }

    assert named <= targets
    assert page != README or named >= {"chat", "test"}


def jumpseat_commands(line: str) -> Iterator[list[str]]:
    """Yield the words of each `jumpseat …` in a pipeline."""
    if "jumpseat" not in line or "_JUMPSEAT_COMPLETE" in line:
        return
    try:
        words = shlex.split(line, comments=True)
    except ValueError:
        return
    command: list[str] | None = None
    for word in [*words, "|"]:
        if word in ("|", ">", "&&", ";"):
            if command is not None:
                yield command
            command = None
        elif command is not None:
            command.append(word.strip("[]"))
        elif word == "jumpseat":
            command = []


@cache
def help_of(*command: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "jumpseat", *command, "--help"],
        capture_output=True,
        encoding="utf-8",
        timeout=WAIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"jumpseat {' '.join(command)}: {done.stderr}"
    return done.stdout


def subcommands(*command: str) -> list[str]:
    """Return the commands in the help of a group."""
    _, _, listed = help_of(*command).partition("\nCommands:\n")
    return re.findall(r"^  ([a-z-]+) ", listed, re.MULTILINE)


def flags(*command: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", help_of(*command)))


COMMAND_LINES = [
    pytest.param(words, id=f"{page.parent.name}: {' '.join(words)[:60]}")
    for page in EVERY_PAGE
    for line in shell_lines(page)
    for words in jumpseat_commands(line)
]


@pytest.mark.parametrize("words", COMMAND_LINES)
def test_every_command_and_flag_that_a_page_names_exists(words: list[str]) -> None:
    command: list[str] = []
    rest = list(words)
    if rest and (" " in rest[0] or (rest[0].startswith("-") and rest[0] not in flags())):
        # A question, or an option before a question, belongs to `chat`.
        rest.insert(0, "chat")
    while rest and not rest[0].startswith("-") and "Commands:" in help_of(*command):
        if command == ["models"] and rest[0] not in subcommands(*command):
            command.append("list")  # The words are a search, for which the command may be left out.
            break
        assert rest[0] in subcommands(*command)
        command.append(rest.pop(0))

    if command == ["models"]:
        command.append("list")
    assert {word for word in rest if word.startswith("-") and word != "-"} <= flags(*command)


def test_every_command_is_on_its_page_and_every_flag_in_the_prose_exists() -> None:
    groups = ("local", "config", "settings", "daemon", "conversations", "models", "keys", "tools", "mcp")
    commands = [(name,) for name in subcommands()]
    commands += [(group, name) for group in groups for name in subcommands(group)]
    text = read(COMMAND_LINE)

    assert [command for command in commands if f"jumpseat {' '.join(command)}" not in text] == []
    known = flags().union(*(flags(*command) for command in commands))
    # The prose names these flags without a command.
    stray = {span.split()[0] for span in spans(prose(COMMAND_LINE)) if span.startswith("--")}
    assert stray <= known
    assert stray != set()
