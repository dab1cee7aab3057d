"""The event for changed or dropped parts of a request or an answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

WAITING_FOR_ROOM = "waiting_for_room"
"""The code of the only warning about the current state of a turn."""


@dataclass(slots=True)
class WarningEvent:
    """Part of the request or the answer was changed or dropped. `code` is in snake_case."""

    type: ClassVar[str] = "warning"
    code: str
    message: str
