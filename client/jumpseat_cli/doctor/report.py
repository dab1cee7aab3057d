"""The report: sections of checks, without secrets or the path of the user's home directory."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click

from jumpseat.chat import Check
from jumpseat_cli.terminal.text import can_print, clean_line
from jumpseat_cli.terminal.wrapping import wrap

MARKS = {True: "✓", False: "✗", None: "-"}
WORDS = {True: "ok", False: "FAIL", None: "-"}
_COLOURS = {True: "green", False: "red", None: None}
SLOW_MS = 1000


@dataclass(frozen=True, slots=True)
class ReportSection:
    """A section of the report: related checks under one title."""

    title: str
    checks: Sequence[Check]
    provider: str | None = None
    """The id of the provider that was checked."""

    @property
    def failures(self) -> int:
        """The number of failed checks."""
        return sum(check.ok is False for check in self.checks)

    def rewrite_texts(self, rewrite: Any) -> ReportSection:
        """Return a copy with every message and hint rewritten."""
        checks = [
            replace(
                check,
                message=rewrite(check.message),
                hint=None if check.hint is None else rewrite(check.hint),
            )
            for check in self.checks
        ]
        return replace(self, checks=checks)

    def as_dict(self) -> dict[str, Any]:
        """Return the section in its JSON form."""
        shaped: dict[str, Any] = {"title": self.title}
        if self.provider is not None:
            shaped["provider"] = self.provider
        shaped["checks"] = [_as_dict(check) for check in self.checks]
        return shaped


def _as_dict(check: Check) -> dict[str, Any]:
    shaped: dict[str, Any] = {"name": check.name, "ok": check.ok, "message": check.message}
    if check.hint is not None:
        shaped["hint"] = check.hint
    if check.duration_ms is not None:
        shaped["durationMs"] = check.duration_ms
    return shaped


def make_redactor(redact: Callable[[str], str]) -> Callable[[str], str]:
    """Return a function that cleans a line, hides its secrets, and abbreviates the home directory as `~`."""
    try:
        home = str(Path.home())
    except RuntimeError:  # The user has no home directory.
        home = ""

    def rewrite(text: str) -> str:
        text = clean_line(redact(text))
        # A home directory of `/` would match everywhere.
        return text.replace(home + os.sep, "~" + os.sep) if len(home) > 1 else text

    return rewrite


def show_section(section: ReportSection) -> None:
    """Print one section of the report."""
    _print(click.style(section.title, bold=True))
    marks = MARKS if can_print("✓✗") else WORDS
    width = max(map(len, marks.values()))
    for check in section.checks:
        mark = click.style(marks[check.ok].ljust(width), fg=_COLOURS[check.ok])
        slow = check.duration_ms is not None and check.duration_ms >= SLOW_MS
        message = (
            f"{check.message} ({check.duration_ms / 1000:.1f} s)"
            if slow and check.duration_ms
            else check.message
        )
        indent = " " * (width + 3)
        _print(f"  {mark} {_wrap(message, indent)}")
        if check.hint:
            _print(f"{indent}{_wrap(check.hint, indent)}")


def show_summary(failures: int) -> None:
    """Print how many checks failed."""
    if failures:
        _print(click.style("1 problem." if failures == 1 else f"{failures} problems.", fg="red"))
    else:
        _print(click.style("No problems.", fg="green"))


def _wrap(text: str, indent: str) -> str:
    """Wrap a text on a terminal, and indent all lines except the first; elsewhere, return it unchanged."""
    return wrap(indent + text).removeprefix(indent) if sys.stdout.isatty() else text


def _print(text: str) -> None:
    click.echo(text, color=None if "NO_COLOR" not in os.environ else False)
