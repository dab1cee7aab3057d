"""Changes of models, providers and credentials, and the listeners that get them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from jumpseat.adapters.base.account import AuthStatus

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelsChanged:
    """A provider's list of models differs from the last one that was announced."""

    provider: str


@dataclass(frozen=True, slots=True)
class ProvidersChanged:
    """Which providers there are, which one is the default, or what one can do."""


@dataclass(frozen=True, slots=True)
class AuthChanged:
    """The state of a credential."""

    status: AuthStatus


Change: TypeAlias = ModelsChanged | ProvidersChanged | AuthChanged

OnChange: TypeAlias = Callable[[Change], None]
"""Called on the event loop, at once; must not wait."""


class Changes:
    """The listeners for changes. Used on the event loop only."""

    def __init__(self) -> None:
        self._listeners: list[OnChange] = []

    def subscribe(self, listener: OnChange) -> Callable[[], None]:
        """Hear of every change from now on; the returned function ends that."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def announce(self, change: Change) -> None:
        """Call every listener; one that fails is logged and does not keep the others from it."""
        for listener in list(self._listeners):
            try:
                listener(change)
            except Exception:
                logger.exception("telling of %s failed", type(change).__name__)
