"""Data that is remembered between the turns of a conversation: decisions, and the data of tool servers."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from jumpseat.system.environment import Environment
from jumpseat.system.shared import Reference

MAX_CONVERSATIONS = 1000
"""The maximum number of conversations to remember; the least recently used are forgotten first."""

LINGER_SECONDS = 24 * 3600.0
"""How long the shared daemon remembers conversations after its last client has left.

Each command of a shell script is a separate client, so the daemon is without clients between two commands.
"""


@dataclass(slots=True, eq=False)
class ConversationState:
    """The state of one conversation and its forks."""

    allowed: set[str] = field(default_factory=set)
    """The digests of the tools that the user allowed for the conversation."""

    server_states: dict[str, Any] = field(default_factory=dict)
    """The data of each tool server, such as the list of files that were read; by the server's name."""


class ConversationStates:
    """The states of the conversations of one user. Belongs to one event loop."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, ConversationState] = OrderedDict()

    def get_or_create(self, key: str) -> ConversationState:
        """Return the state of the conversation with this key; create it at the first call."""
        state = self._states.setdefault(key, ConversationState())
        self._states.move_to_end(key)
        while len(self._states) > MAX_CONVERSATIONS:
            self._states.popitem(last=False)
        return state


async def _close(states: ConversationStates) -> None:
    """Do nothing: nothing is open."""


def acquire_states(environment: Environment) -> Reference[ConversationStates]:
    """Return the states that all clients with the same state directory share."""
    key = ("tool conversations", environment.places.state_dir)
    return environment.shared.acquire(key, ConversationStates, _close, linger=LINGER_SECONDS)
