"""The interface for additions of a provider to a dialect: price, sources, notices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

from jumpseat.chat import Cost, WarningEvent


class Extras(Protocol):
    """Reads the additions of one provider. Each method takes the object that may hold them."""

    def cost_in(self, container: Mapping[str, Any]) -> Cost | None:
        """The price of the answer so far."""

    def sources_in(self, container: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
        """The sources of the answer as (url, title); either may be empty."""
        ...

    def notices_in(self, container: Mapping[str, Any]) -> Iterable[WarningEvent]:
        """Warnings of the provider that do not end the answer."""
        ...
