"""Saves a turn: its messages before the start event, and its answer or error before the last event."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from jumpseat.chat import ChatCancelled, ChatError, Fold, Response, WarningEvent
from jumpseat.providers import Registry
from jumpseat.system.state_file import StateError
from jumpseat.system.tasks import run_to_end
from jumpseat.system.threads import run_blocking

if TYPE_CHECKING:
    from jumpseat.conversations import BegunTurn, ConversationStore, NewTurn

logger = logging.getLogger(__name__)

PARTIAL_SECONDS = 3.0
"""The delay between an event and the write of the partial answer.

If the daemon is killed, about 5 s of the answer may be lost: this delay and the time of a slow write.
"""

T = TypeVar("T")


@dataclass(slots=True, eq=False, weakref_slot=True)
class Keeper:
    """Saves one turn. If that fails, the turn continues with a warning."""

    store: ConversationStore | None
    """None if the user's configuration disables saving (`conversations.keep`)."""

    turn: NewTurn
    """The turn without its provider and model, which are passed to `begin`."""

    warned: deque[str]
    """The ids of conversations that are not saved, and whose clients were recently warned of that."""

    _begun: BegunTurn | None = None
    _writing: asyncio.Future[Any] | None = None
    _saving: asyncio.Task[None] | None = None

    @property
    def conversation_id(self) -> str | None:
        """The conversation that contains the turn; None if the turn is not saved."""
        return None if self._begun is None else self._begun.id

    async def begin(self, registry: Registry, provider: str, model: str) -> Sequence[WarningEvent]:
        """Read the credentials that must not be saved, and write the turn's messages.

        Raises:
            asyncio.CancelledError: the task was cancelled meanwhile; the turn is saved as cancelled.
        """
        if self.store is None:
            return self._warn_not_kept("The configuration contains conversations.keep = false.")
        await registry.read_credentials(provider, model)
        store, turn = self.store, replace(self.turn, provider=provider, model=model)
        begun, was_cancelled = await self._run_to_end(lambda: store.begin(turn))
        if isinstance(begun, str):
            warnings = self._warn_not_kept(begun)
        else:
            self._begun = begun
            warnings = _warn_about_fork(begun)
        if was_cancelled:
            await self.finish(
                Response(provider=provider, model=model), ChatCancelled("The chat was cancelled.")
            )
            raise asyncio.CancelledError
        return warnings

    def save_soon(self, fold: Fold) -> None:
        """Write the partial answer after `PARTIAL_SECONDS`, unless such a write is already pending."""
        if self._begun is not None and self._saving is None:
            self._saving = asyncio.create_task(self._save(fold))

    async def _save(self, fold: Fold) -> None:
        await asyncio.sleep(PARTIAL_SECONDS)
        if self.store is None or self._begun is None:
            return
        store, begun, content = self.store, self._begun, fold.partial().content
        problem = await run_blocking(_run_or_explain, lambda: store.save_partial(begun, content))
        if problem is not None:
            logger.warning("the answer so far was not kept: %s", problem)
        self._saving = None

    async def finish(self, response: Response, error: ChatError | None = None) -> Sequence[WarningEvent]:
        """Write the end of a turn that has begun: its answer, or its partial answer with the error.

        A cancellation during the write comes too late and has no effect.
        """
        if self.store is None or self._begun is None:
            return ()
        if self._saving is not None:
            self._saving.cancel()
        store, begun = self.store, self._begun
        problem, was_cancelled = await self._run_to_end(lambda: store.finish(begun, response, error))
        if was_cancelled and (task := asyncio.current_task()) is not None:
            task.uncancel()
        return () if problem is None else self._warn_not_kept(problem)

    async def wait_until_written(self) -> None:
        """Wait until no write is in progress."""
        if self._writing is not None:
            await asyncio.wait([self._writing])

    def _warn_not_kept(self, reason: str) -> Sequence[WarningEvent]:
        name = self.turn.conversation_id
        if name in self.warned:
            return ()
        self.warned.append(name)
        return (WarningEvent("conversation_not_kept", f"This conversation is not kept. {reason}"),)

    async def _run_to_end(self, work: Callable[[], T]) -> tuple[T | str, bool]:
        """Run a store operation in a thread, and wait for its end even if the task is cancelled.

        Returns:
            The operation's result, or a sentence that explains its failure; and whether the task was
            cancelled meanwhile.
        """
        self._writing = writing = asyncio.ensure_future(run_blocking(_run_or_explain, work))
        return await run_to_end(writing)


def _run_or_explain(work: Callable[[], T]) -> T | str:
    """Return the result of a store operation, or a sentence that explains its failure."""
    try:
        return work()
    except StateError as error:
        return " ".join(filter(None, (error.message, error.hint)))
    except Exception:
        logger.exception("a turn could not be kept")
        return "The daemon failed while it wrote the turn; its log has the details."


def _warn_about_fork(begun: BegunTurn) -> Sequence[WarningEvent]:
    if begun.forked_from is None:
        return ()
    message = (
        f"The messages do not continue the kept conversation {begun.forked_from}; "
        f"this turn is kept in its fork {begun.id}."
    )
    return (WarningEvent("conversation_forked", message),)
