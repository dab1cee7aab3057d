"""Questions on the terminal. Ctrl-C and SIGTERM end them and restore the terminal."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click

from jumpseat.system.threads import run_blocking
from jumpseat_cli.terminal.failures import FAILED, OK, TERMINATED
from jumpseat_cli.terminal.running import run_until_terminated

if sys.platform != "win32":
    import termios

T = TypeVar("T")


async def confirm(question: str) -> int:
    """Ask a question; return `OK` for yes and `FAILED` for no."""
    return OK if await _ask_in_thread(lambda: click.confirm(question, err=True)) else FAILED


def can_ask() -> bool:
    """Return whether somebody can be asked: stdin and stderr are terminals."""
    return sys.stdin.isatty() and sys.stderr.isatty()


async def ask_line(question: str) -> str | None:
    """Ask for a line, ignoring keys typed before the question; return None if stdin has ended."""
    _discard_typed()

    def ask() -> str | None:
        try:
            return str(click.prompt(question.rstrip(), "", prompt_suffix=" ", show_default=False, err=True))
        except click.Abort:
            return None

    return await _ask_in_thread(ask)


def _discard_typed() -> None:
    """Discard keys that were typed before the question: they were not meant as an answer."""
    if sys.platform != "win32":
        termios.tcflush(sys.stdin, termios.TCIFLUSH)
    else:
        import msvcrt

        while msvcrt.kbhit():
            msvcrt.getwch()


def ask_hidden(question: str, **options: Any) -> str:
    """Ask for a text that is not shown while it is typed.

    Args:
        question: the prompt.
        options: as for `click.prompt`.

    Raises:
        click.Abort: stdin has ended.
        click.exceptions.Exit: SIGTERM arrived, and the command must end.
        KeyboardInterrupt: the user pressed Ctrl-C.
    """

    def ask() -> str:
        return str(click.prompt(question, hide_input=True, err=True, **options))

    try:
        return asyncio.run(run_until_terminated(_ask_in_thread(ask)))
    except asyncio.CancelledError:
        raise click.exceptions.Exit(TERMINATED) from None


async def _ask_in_thread(ask: Callable[[], T]) -> T:
    """Ask in a worker thread: the main thread would miss a signal that arrives just before `input` blocks."""
    modes = _terminal_modes()
    try:
        # With `within`, even if it is infinite, the process does not wait for the thread after a signal.
        return await run_blocking(ask, within=math.inf)
    except asyncio.CancelledError:
        # The thread is still reading, so it does not turn the echo on again after a hidden answer.
        _restore(modes)
        click.echo(err=True)
        raise


def _terminal_modes() -> list[Any] | None:
    if sys.platform != "win32" and sys.stdin.isatty():
        return termios.tcgetattr(sys.stdin)
    return None


def _restore(modes: list[Any] | None) -> None:
    if sys.platform != "win32" and modes is not None:
        termios.tcsetattr(sys.stdin, termios.TCSANOW, modes)
