"""What a value source declares."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeAlias

from jumpseat.config.schema import ProviderConfig
from jumpseat.system.threads import run_blocking

READ_SECONDS = 10.0
"""Time limit for a file or a function."""


class SourceError(Exception):
    """A source has no value. The message is the end of a sentence."""

    def __init__(self, why: str, hint: str) -> None:
        """
        Args:
            why: the reason, without the value.
            hint: a sentence that says what to do.
        """
        super().__init__(why)
        self.hint = hint


Read: TypeAlias = Callable[[str, ProviderConfig], Awaitable[str]]
"""Reads a value, given the text after the prefix and the table; raises `SourceError`. Bounded in time, and
does not block the event loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueSource:
    """One kind of value source. It has one of `read`, `read_now` and `refer`."""

    prefix: str
    """With its colon."""

    read: Read | None = None
    read_now: Callable[[str, ProviderConfig], str] | None = None
    """Reads a value from memory, each time it is needed; raises `SourceError`."""

    refer: Callable[[str, ProviderConfig], str] | None = None
    """Returns another configured value of the table, which is then resolved; raises `SourceError`."""

    fault: Callable[[str, ProviderConfig], str | None] | None = None
    """The fault in the form of the text after the prefix, as the end of a sentence. Reads nothing."""

    costly: bool = False
    """Reading may run a program or ask the user for a password."""

    shown: Callable[[str], str] = lambda argument: argument
    """The text after the prefix as error messages may show it."""


async def on_a_thread(work: Callable[[], str], what: str) -> str:
    """Run this on a thread, within `READ_SECONDS`.

    Raises:
        SourceError: it took longer.
    """
    try:
        return await run_blocking(work, within=READ_SECONDS)
    except TimeoutError:
        raise SourceError(
            f"{what} did not end within {READ_SECONDS:g} s", "Use a source that answers faster."
        ) from None
