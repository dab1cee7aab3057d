"""Optional parts of the interface, which an adapter supports by defining their members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jumpseat.chat import Check, ModelInfo


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The daemon's client, by its own name."""

    name: str
    version: str | None = None


@runtime_checkable
class IdentifiesClient(Protocol):
    """An adapter that sends the client's name to its provider."""

    client_info: ClientInfo | None
    """The attached client, set by the registry before the adapter's first use."""


@runtime_checkable
class ChangesCapabilities(Protocol):
    """An adapter whose capabilities change at run time."""

    on_capabilities_change: Callable[[], None] | None
    """A callback set by the registry, which the adapter calls after a change of `capabilities`."""


@runtime_checkable
class CachesModels(Protocol):
    """An adapter that reads the account's models, including the default one, for its own chats."""

    def cached_models(self) -> Sequence[ModelInfo]:
        """Return the list as last read, the same object until the next read; empty before the first."""
        ...

    async def find_default_model(self) -> str | None:
        """Return the account's default model, reading the list if no entry of `cached_models` is marked.

        Raises:
            ChatError: the list could not be read.
        """
        ...


@runtime_checkable
class SharesModels(Protocol):
    """An adapter that requests the list of models once for all sessions of a daemon."""

    on_models_change: Callable[[], None] | None
    """A callback set by the registry, to be called when another session has received a changed list."""

    async def recent_models(self) -> list[ModelInfo]:
        """Like `list_models`, but reuse responses that any session received in the last minutes.

        Raises:
            ChatError: see `list_models`.
        """
        ...


@runtime_checkable
class EditsInline(Protocol):
    """An adapter that extracts the replacement from the answer to an edit."""

    def inline_output(self, text: str) -> str | None:
        """Return the replacement, which may be empty; None to let the daemon find it."""
        ...


@runtime_checkable
class ChecksSetup(Protocol):
    """An adapter that needs programs or files on this machine."""

    def check(self) -> Sequence[str]:
        """Return a sentence for each key of the table that has no effect.

        Must not send requests or read credentials. Each sentence, and the message of an error, begins with
        its key, so that it is reported with the key's line.

        Raises:
            ConfigError: a program or file is missing, or cannot be used.
        """
        ...


@runtime_checkable
class ChecksHosts(Protocol):
    """An adapter that can name in advance the hosts that it sends requests to."""

    async def check_hosts(self) -> Sequence[Check]:
        """Check whether its hosts can be reached, with `jumpseat.http.diagnosis.check_hosts`.

        Raises:
            ChatError: the table has no usable URL.
        """
        ...
