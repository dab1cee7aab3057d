"""Determines which kept turns are still running, in this process or in another one."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime, timedelta

from jumpseat.conversations.placing import Last
from jumpseat.conversations.state import State, TurnState
from jumpseat.system.process_life import is_alive

MAX_TURN_AGE = timedelta(days=1)
"""The age from which a turn without an end counts as dead, because its process id may have been reused."""

running_here: set[str] = set()
"""The keys of the turns that this process runs."""


def judge_last_turn(state: State) -> Last:
    """Return the state of a conversation's last turn: running, or how it ended."""
    if state.last is None:
        return "none"
    if is_running(state.last):
        return "open"
    if state.last.is_open:
        return "lost"
    return "unfinished" if state.last.failed else "finished"


def is_running(turn: TurnState) -> bool:
    """Whether a living process runs the turn, or a process on another machine may run it."""
    if not turn.is_open or datetime.now(UTC) - turn.at > MAX_TURN_AGE:
        return False
    if turn.owner.host != platform.node():
        return True  # The processes of another machine cannot be checked.
    if turn.owner.pid == os.getpid():
        return turn.key in running_here
    return is_alive(turn.owner.pid)
