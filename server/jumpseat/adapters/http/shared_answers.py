"""Shares the responses to requests for lists of models among the sessions of a daemon."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Coroutine, Hashable, Iterator
from contextvars import ContextVar
from typing import Any

from jumpseat.chat import ChatError
from jumpseat.system.clock import Moment
from jumpseat.system.shared import Reference, Shared
from jumpseat.system.single_flight import SingleFlight, WorkCancelled

RECENT_SECONDS = 600.0
"""The greatest age of a shared response, in seconds."""

# This is a context variable because hooks of plug-ins are called between `recent` and `get`, and a parameter
# would have to pass through them.
_max_age: ContextVar[float] = ContextVar("max_age", default=0.0)

Fetch = Callable[[], Coroutine[Any, Any, Any]]


class _Answer:
    """The last response to a request, and the request in progress."""

    def __init__(self) -> None:
        self.content: Any = None
        self.listeners: set[Callable[[], object]] = set()
        self.flight: SingleFlight[Any] = SingleFlight()
        self._at: Moment | None = None

    async def get(self, fetch: Fetch, max_age: float) -> Any:
        if self._at is not None and self._at.age() < max_age:
            return self.content
        try:
            return await self.flight.run(lambda: self._fetch(fetch))
        except WorkCancelled:
            return await fetch()  # The adapters that shared the request were closed, which cancelled it.
        except ChatError as error:
            raise copy.copy(error) from None  # Each caller adds its own hint to its copy.

    async def _fetch(self, fetch: Fetch) -> Any:
        content = await fetch()
        changed = self._at is not None and content != self.content
        self.content, self._at = content, Moment.now()
        if changed:
            for listener in tuple(self.listeners):
                listener()
        return content

    async def aclose(self) -> None:
        await self.flight.aclose()


class SharedAnswers:
    """The responses that one adapter uses."""

    def __init__(self, shared: Shared, on_change: Callable[[], object]) -> None:
        """
        Args:
            shared: the store that sessions share.
            on_change: called when a shared response differs from the previous one, whichever session asked.
        """
        self._shared = shared
        self._on_change = on_change
        self._held: dict[str, tuple[Hashable, Reference[_Answer]]] = {}
        """The responses in use, by the name of the request, each with its key."""

    @contextlib.contextmanager
    def recent(self) -> Iterator[None]:
        """Within this context, let `get` also return responses that are at most `RECENT_SECONDS` old."""
        token = _max_age.set(RECENT_SECONDS)
        try:
            yield
        finally:
            _max_age.reset(token)

    def is_running(self, name: str) -> bool:
        """Whether the request of this name is in progress."""
        held = self._held.get(name)
        return held is not None and held[1].value.flight.is_running

    async def get(self, name: str, key: Hashable, fetch: Fetch) -> Any:
        """Return the response to a request. Concurrent callers with equal keys share one request.

        Args:
            name: the request's name within the adapter. The adapter uses one key at a time for each name.
            key: everything that determines the response, and the provider's id, because errors contain it.
            fetch: sends the request, which continues even if the caller of `get` is cancelled.

        Raises:
            ChatError: an error of `fetch`.
        """
        held = self._held.get(name)
        if held is None or held[0] != key:
            # Replace the entry before the `await`: a concurrent call must not acquire the value again.
            new = self._shared.acquire(("answer", key), _Answer, _Answer.aclose, linger=RECENT_SECONDS)
            new.value.listeners.add(self._on_change)
            self._held[name] = key, new
            if held is not None:
                await self._release_answer(held[1])
            held = key, new
        return await held[1].value.get(fetch, _max_age.get())

    async def aclose(self) -> None:
        """Release all responses."""
        held, self._held = self._held, {}
        for _, each in held.values():
            await self._release_answer(each)

    async def _release_answer(self, held: Reference[_Answer]) -> None:
        held.value.listeners.discard(self._on_change)
        await held.release()
