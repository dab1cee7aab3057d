"""The branches of a session: the conversation with the session's id, and the forks that the session used."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from typing import Any

from jumpseat.chat import Cost, Usage
from jumpseat.chat.usage import add_costs
from jumpseat.conversations.rows import KeptConversation
from jumpseat.conversations.state import NEVER, State


@dataclass(frozen=True, slots=True)
class KeptSession:
    """A session as it was at the end of its last turn."""

    conversation: KeptConversation
    """The branch that the session used last."""

    choices: Mapping[str, Any] | None
    """The choices of the session's last turn; None if the session has not used the conversation."""

    usage: Usage | None
    """The last usage that a turn of `conversation` reported."""

    cost: Cost | None
    """The total cost of the turns in all branches."""


def find_branches(family: Iterable[State], session_id: str) -> list[State]:
    """Return a session's branches among a conversation and its forks, in the order of their last use."""
    branches = [state for state in family if state.id == session_id or session_id in state.sessions]
    return sorted(branches, key=lambda state: _find_last_use(state, session_id))


def find_session(state: State) -> tuple[str, datetime]:
    """Return the id of the session under which a conversation is listed, and the time of the last use."""
    if state.id in state.sessions or not state.sessions:
        return state.id, _find_last_use(state, state.id)
    return max(((id_, use.at) for id_, use in state.sessions.items()), key=lambda each: each[1])


def describe_session(branches: Sequence[State], session_id: str) -> KeptSession:
    """Return the session with these branches, which must be in the order of their last use."""
    last = branches[-1]
    use = last.sessions.get(session_id)
    return KeptSession(
        last.kept,
        None if use is None else use.choices,
        last.usage,
        reduce(add_costs, [state.cost for state in branches]),
    )


def is_deleted_with(state: State, session_id: str) -> bool:
    """Whether deleting a session deletes a branch: the ids are equal, or no other session used the branch."""
    return state.id == session_id or state.sessions.keys() == {session_id}


def _find_last_use(state: State, session_id: str) -> datetime:
    use = state.sessions.get(session_id)
    return NEVER if use is None else use.at
