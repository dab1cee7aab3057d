"""The combined state of all runs of one definition. Clients with the same state directory share it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from jumpseat.system.environment import Environment
from jumpseat.system.shared import Reference
from jumpseat.tools.server import ServerState, Tool

LINGER_SECONDS = 24 * 3600.0
"""How long the tools that were listed last are remembered after the last client has left."""

_ORDER: tuple[ServerState, ...] = ("running", "starting", "needs_sign_in", "failed")
"""The states by precedence. If runs have different states, the one that comes first here is shown."""


class RecordedRun(ABC):
    """A run, as its record sees it."""

    state: ServerState = "stopped"
    error: str | None = None
    """Why the server is not running, as a sentence without secrets.

    None if the server is running or starting, was never started, or was stopped on purpose.
    """

    @property
    @abstractmethod
    def works_without_token(self) -> bool:
        """Whether the server is running and has not received the token of a sign-in."""

    @abstractmethod
    async def reset(self) -> None:
        """Stop the server, even during a turn, and forget its failures."""


@dataclass(slots=True, eq=False)
class ServerRecord:
    """The runs of one definition, and the tools that were listed last."""

    tools: Sequence[Tool] = ()
    runs: set[RecordedRun] = field(default_factory=set)
    listeners: set[Callable[[], None]] = field(default_factory=set)

    @property
    def state(self) -> ServerState:
        """The combined state of the runs."""
        states = {run.state for run in self.runs}
        return next((state for state in _ORDER if state in states), "stopped")

    @property
    def error(self) -> str | None:
        """Why a run failed or ended; None if any run is running or starting."""
        if self.state in ("running", "starting"):
            return None
        return next((run.error for run in self.runs if run.error is not None), None)

    def announce(self) -> None:
        """Notify all clients that the state or the tools have changed."""
        for listener in list(self.listeners):
            listener()


async def _close(record: ServerRecord) -> None:
    """Do nothing: a record has nothing to close."""


def acquire_record(environment: Environment, identity: str) -> Reference[ServerRecord]:
    """Return the record of a definition, which all clients with the same state directory share."""
    key = ("mcp record", environment.places.state_dir, identity)
    return environment.shared.acquire(key, ServerRecord, _close, linger=LINGER_SECONDS)
