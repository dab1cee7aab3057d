"""Optional parts of an adapter. An adapter has a part if it has its members."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from jumpseat.chat import Check, ModelInfo


@dataclass(frozen=True, slots=True)
class ClientInfo:
    """The client of the daemon, by its own name."""

    name: str
    version: str | None = None


@runtime_checkable
class IdentifiesClient(Protocol):
    """Sends the name of the client to its provider."""

    client_info: ClientInfo | None
    """Set by the registry before the adapter's first use."""


@runtime_checkable
class ChangesCapabilities(Protocol):
    """Has capabilities that change at run time."""

    on_capabilities_change: Callable[[], None] | None
    """Set by the registry; call it after a change of `capabilities`."""


@runtime_checkable
class KnowsModels(Protocol):
    """Reads the account's list of models, with its default model, for its own chats."""

    def heard_models(self) -> Sequence[ModelInfo]:
        """The list as last read, the same object until the next read; empty before the first."""
        ...

    async def find_default_model(self) -> str | None:
        """The account's default model; reads the list if no row of `heard_models` is marked.

        Raises:
            ChatError: the list could not be read.
        """
        ...


@runtime_checkable
class SharesModels(Protocol):
    """Makes its requests for the list of models once for all sessions of a daemon."""

    on_models_change: Callable[[], None] | None
    """Set by the registry; to be called when another session has received another list."""

    async def recent_models(self) -> list[ModelInfo]:
        """As `list_models`, but with answers that any session has received in the last minutes.

        Raises:
            ChatError: as `list_models` raises it.
        """
        ...


@runtime_checkable
class EditsInline(Protocol):
    """Finds the replacement in the answer to an edit."""

    def inline_output(self, text: str) -> str | None:
        """The replacement, which may be empty; None if the daemon should find it."""
        ...


@runtime_checkable
class ChecksSetup(Protocol):
    """Needs programs or files on this machine."""

    def check(self) -> Sequence[str]:
        """A sentence for each key of the table that has no effect.

        Makes no requests and reads no credentials. Each sentence, and the message of an error, begins with
        its key, so that it is reported with the key's line.

        Raises:
            ConfigError: a program or file is missing, or cannot be used.
        """
        ...


@runtime_checkable
class ChecksHosts(Protocol):
    """Makes its requests to hosts that it can name before."""

    async def check_hosts(self) -> Sequence[Check]:
        """Whether its hosts can be reached, as `jumpseat.http.diagnosis.check_hosts` finds out.

        Raises:
            ChatError: the table has no usable URL.
        """
        ...
