"""Parts of an adapter that few providers have. An adapter has a part if it has the members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jumpseat.chat import ModelInfo


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The program that the daemon serves, by its own name."""

    name: str
    version: str | None = None


@runtime_checkable
class IdentifiesClient(Protocol):
    """Tells its provider which program is attached."""

    client_info: ClientInfo | None
    """Set by the registry before the adapter's first use."""


@runtime_checkable
class ChangesCapabilities(Protocol):
    """Learns after its start what it can do."""

    on_capabilities_change: Callable[[], None] | None
    """Set by the registry; to be called when `capabilities` changed."""


@runtime_checkable
class KnowsModels(Protocol):
    """Reads the account's list of models for its own chats, default model included."""

    def heard_models(self) -> Sequence[ModelInfo]:
        """The list as last read; empty before that. The same object until it is read again."""
        ...

    async def find_default_model(self) -> str | None:
        """The account's default model; reads the list if no row of `heard_models` is marked.

        Raises:
            ChatError: the list could not be read.
        """
        ...


@runtime_checkable
class EditsInline(Protocol):
    """Finds the replacement in an answer that was asked to rewrite a text in place."""

    def inline_output(self, text: str) -> str | None:
        """The replacement, which may be empty; None if the daemon should find it."""
        ...


@runtime_checkable
class ChecksSetup(Protocol):
    """Needs something on this machine: a program, a file."""

    def check(self) -> Sequence[str]:
        """A sentence for each key of the table that has no effect.

        Checks local files only: makes no requests and reads no credentials. Each sentence and
        message begins with the key it is about, so that it is reported with the key's line.

        Raises:
            ConfigError: something is missing or cannot be used.
        """
        ...
