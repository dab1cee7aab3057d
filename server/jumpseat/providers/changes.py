"""Changes to models, providers and credentials, and the listeners for them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from jumpseat.adapters.base.account import AuthStatus

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ModelsChanged:
    """A provider's list of models has changed."""

    provider: str


@dataclass(frozen=True, slots=True)
class ProvidersChanged:
    """The providers, the default provider, or a provider's capabilities have changed."""


@dataclass(frozen=True, slots=True)
class AuthChanged:
    """The state of a credential has changed."""

    status: AuthStatus


Change: TypeAlias = ModelsChanged | ProvidersChanged | AuthChanged

OnChange: TypeAlias = Callable[[Change], None]
"""A listener. It is called on the event loop and must not block."""


class Changes:
    """The listeners for changes. Used on the event loop only."""

    def __init__(self) -> None:
        self._listeners: list[OnChange] = []

    def subscribe(self, listener: OnChange) -> Callable[[], None]:
        """Call the listener for every change; return a function that removes it."""
        self._listeners.append(listener)

        def unsubscribe() -> None:
            if listener in self._listeners:
                self._listeners.remove(listener)

        return unsubscribe

    def announce(self, change: Change) -> None:
        """Call every listener and log failures."""
        for listener in list(self._listeners):  # A copy, because a listener may unsubscribe.
            try:
                listener(change)
            except Exception:
                logger.exception("a listener for %s failed", type(change).__name__)
