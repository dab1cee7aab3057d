"""Makes kept conversations of texts, for tests of lists and of pruning."""

from __future__ import annotations

from pathlib import Path

from jumpseat.conversations import ConversationStore, NewTurn
from tests.unit.conversations.support import answered, said, turn


def new_turn(id_: str, *texts: str, cwd: str | None = None) -> NewTurn:
    """A turn with these messages, the user's first and last."""
    return turn(said(*texts), id_, directory=None if cwd is None else Path(cwd))


def keep(
    store: ConversationStore, id_: str, *texts: str, answer: str = "An answer.", cwd: str | None = None
) -> None:
    """Keep a whole turn."""
    store.finish(store.begin(new_turn(id_, *texts, cwd=cwd)), answered(answer))
