"""Writes the manual page `docs/jumpseat.1` from the commands: `make manual`.

The wheel contains the page as `share/man/man1/jumpseat.1`, where `man` finds it if the environment's programs
are on the PATH.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import click

from jumpseat import __version__
from jumpseat_cli.program import jumpseat

PAGE = Path(__file__).parents[2] / "docs" / "jumpseat.1"

SYNOPSIS = """\
.B jumpseat
.I command
.RI [ options ]
.RI [ arguments ]
.br
.B jumpseat
.RI \\(dq question \\(dq"""
EXIT_CODES = {
    "0": "Success.",
    "1": "The command failed or found a problem.",
    "2": "Wrong usage.",
    "3": "A call of a tool was denied, because there was no terminal on which to ask you.",
    "130": "Interrupted.",
    "143": "Ended by SIGTERM.",
}
FILES = {
    "~/.config/jumpseat/config.toml": "The configuration.",
    "~/.local/state/jumpseat": "Sign-ins, saved settings and kept conversations.",
    "~/.local/share/jumpseat": "The local model.",
}
VARIABLES = {
    "JUMPSEAT_CONFIG": "The configuration file.",
    "JUMPSEAT_HOME": "One directory for the configuration, the state and the local model.",
    "NO_COLOR": "Print no colours.",
}


def manual() -> str:
    """Return the page, in the language of man(7)."""
    parts = [
        f'.TH JUMPSEAT 1 "" "jumpseat {__version__}" "User Commands"',
        section("NAME", "jumpseat \\- chat with any model provider, from the shell and from editors"),
        section("SYNOPSIS", SYNOPSIS),
        section("DESCRIPTION", "\n".join(text_of(jumpseat))),
        ".SH COMMANDS",
        *(part for names, command in walk(jumpseat, ["jumpseat"]) for part in describe(names, command)),
        section("EXIT STATUS", format_list(EXIT_CODES)),
        section("ENVIRONMENT", format_list(VARIABLES)),
        section("FILES", format_list(FILES)),
        ".PP\nmacOS and Windows use the directories of the platform.",
    ]
    return "\n".join(parts) + "\n"


def section(title: str, text: str) -> str:
    """Return a section with its heading."""
    return f".SH {title}\n{text}"


def format_list(rows: dict[str, str]) -> str:
    """Return a list of terms with their explanations."""
    return "\n".join(f".TP\n.B {escape(term)}\n{escape(text)}" for term, text in rows.items())


def walk(group: click.Group, names: list[str]) -> Iterator[tuple[list[str], click.Command]]:
    """Yield each command of a group, except hidden commands, with the words that call it."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is None or command.hidden:
            continue
        yield [*names, name], command
        if isinstance(command, click.Group):
            yield from walk(command, [*names, name])


def describe(names: list[str], command: click.Command) -> Iterator[str]:
    """Yield the heading of a command, its usage, text and options."""
    context = click.Context(command, info_name=" ".join(names))
    yield f'.SS "{escape(" ".join(names))}"'
    usage = " ".join(command.collect_usage_pieces(context))
    yield f".B {escape(' '.join(names))}\n{escape(usage)}\n.PP"
    yield from text_of(command)
    for parameter in command.params:
        record = parameter.get_help_record(context)
        if isinstance(parameter, click.Option) and record is not None:
            yield f".TP\n.B {escape(record[0])}\n{escape(record[1])}"


def text_of(command: click.Command) -> Iterator[str]:
    """Yield the paragraphs of a command's help. Examples keep their line breaks."""
    for paragraph in re.split(r"\n\s*\n", inspect.cleandoc(command.help or "")):
        if paragraph.startswith("\b"):
            heading, *lines = map(escape, paragraph.split("\n")[1:])
            yield "\n".join([f".B {heading}", ".nf", *lines, ".fi"])
        else:
            yield escape(" ".join(paragraph.split()))
        yield ".PP"


def escape(text: str) -> str:
    """Escape a text, so that man(7) prints it unchanged."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq")
    return f"\\&{text}" if text.startswith(".") else text


if __name__ == "__main__":
    PAGE.write_text(manual(), "utf-8")
