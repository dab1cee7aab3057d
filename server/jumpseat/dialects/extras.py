"""Defines the interface for a provider's additions to a dialect: price, sources, notices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from jumpseat.chat import Cost, WarningEvent


class Extras(Protocol):
    """A reader of one provider's additions. Each method takes the object that may contain them."""

    def cost_in(self, container: Mapping[str, Any]) -> Cost | None:
        """Return the price of the answer so far."""

    def sources_in(self, container: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """Return the answer's sources as (url, title); either may be empty."""
        ...

    def notices_in(self, container: Mapping[str, Any]) -> Iterable[WarningEvent]:
        """Return the provider's warnings that do not end the answer."""
        ...
