"""Optional parts of the interface, which an adapter supports by defining their members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jumpseat.chat import Check, ModelInfo


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The name and version that the daemon's client has sent."""

    name: str
    version: str | None = None


@runtime_checkable
class IdentifiesClient(Protocol):
    """An adapter that sends the client's name to its provider."""

    client_info: ClientInfo | None
    """The client, set by the registry before the adapter's first use; None if it is unknown."""


@runtime_checkable
class ChangesCapabilities(Protocol):
    """An adapter whose capabilities change at run time."""

    on_capabilities_change: Callable[[], None] | None
    """A callback that the registry sets. The adapter calls it after a change of `capabilities`."""


@runtime_checkable
class CachesModels(Protocol):
    """An adapter that reads the account's list of models itself, for example to find the default model."""

    def cached_models(self) -> Sequence[ModelInfo]:
        """Return the list that was read last. It is the same object until the list is read again.

        Before the first read, the list is empty.
        """
        ...

    async def find_default_model(self) -> str | None:
        """Return the account's default model.

        If no entry of `cached_models` is marked as the default, this reads the list.

        Raises:
            ChatError: the list could not be read.
        """
        ...


@runtime_checkable
class SharesModels(Protocol):
    """An adapter that requests the list of models once for all sessions of a daemon."""

    on_models_change: Callable[[], None] | None
    """A callback that the registry sets. The adapter calls it when another session has fetched a new list."""

    async def recent_models(self) -> list[ModelInfo]:
        """Return the same as `list_models`, but reuse responses that arrived in the last few minutes.

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
        """Return one sentence for each key of the provider's table that has no effect.

        Must not send requests or read credentials. Each sentence, and the message of a `ConfigError`, begins
        with the key that it is about, so that the daemon can report the line of the key.

        Raises:
            ConfigError: a program or file is missing, or cannot be used.
        """
        ...


@runtime_checkable
class ChecksHosts(Protocol):
    """An adapter that can name in advance the hosts that it sends requests to."""

    async def check_hosts(self) -> Sequence[Check]:
        """Check whether the adapter's hosts can be reached, with `jumpseat.http.diagnosis.check_hosts`.

        Raises:
            ChatError: the table has no usable URL.
        """
        ...
