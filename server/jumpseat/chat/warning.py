"""The event for changed or dropped parts of a request or an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

WAITING_FOR_ROOM = "waiting_for_room"
"""The code of the only warning before an answer begins: the attempt waits for other requests."""


@dataclass(slots=True)
class WarningEvent:
    """Part of the request or the answer was changed or dropped, or the request waits (`WAITING_FOR_ROOM`)."""

    type: ClassVar[str] = "warning"
    code: str
    """The kind of warning, in snake_case."""

    message: str
