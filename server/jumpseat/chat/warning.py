"""The event that reports what was changed or dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

WAITING_FOR_ROOM = "waiting_for_room"
"""The code of the only warning that is about what happens now."""


@dataclass(slots=True)
class WarningEvent:
    """Part of the request or the answer was changed or dropped; `code` is snake_case."""

    type: ClassVar[str] = "warning"
    code: str
    message: str
