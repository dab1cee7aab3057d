"""The declaration of a value source."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from jumpseat.config.schema import ProviderConfig
from jumpseat.system.threads import run_blocking

READ_SECONDS = 10.0
"""The time limit for reading a file or calling a function."""


class SourceError(Exception):
    """A source has no value. The message completes a sentence."""

    def __init__(self, why: str, hint: str) -> None:
        """
        Args:
            why: the reason, which must not contain the value.
            hint: a sentence about the remedy.
        """
        super().__init__(why)
        self.hint = hint


Read: TypeAlias = Callable[[str, ProviderConfig], Awaitable[str]]
"""Reads a value or raises `SourceError`. The arguments are the text after the prefix, and the provider's
table. The function must have a time limit and must not block the event loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSource:
    """One kind of value source. Exactly one of `read`, `read_now` and `refer` is set."""

    prefix: str
    """The prefix including the colon."""

    read: Read | None = None
    read_now: Callable[[str, ProviderConfig], str] | None = None
    """Reads a value from memory each time it is needed, or raises `SourceError`."""

    refer: Callable[[str, ProviderConfig], str] | None = None
    """Returns another value from the table, or raises `SourceError`. The caller resolves that value."""

    find_fault: Callable[[str, ProviderConfig], str | None] | None = None
    """Checks the syntax of the text after the prefix without reading the value.

    Returns the fault as the end of a sentence, or None.
    """

    costly: bool = False
    """Whether reading may run a program or prompt the user for a password."""

    mask: Callable[[str], str] = lambda argument: argument
    """Returns the text after the prefix in a form that is safe for error messages."""


async def run_in_thread(work: Callable[[], str], what: str) -> str:
    """Run a function in a thread and wait for at most `READ_SECONDS`.

    Raises:
        SourceError: the function took longer.
    """
    try:
        return await run_blocking(work, within=READ_SECONDS)
    except TimeoutError:
        raise SourceError(
            f"{what} did not end within {READ_SECONDS:g} s", "Use a source that answers faster."
        ) from None
