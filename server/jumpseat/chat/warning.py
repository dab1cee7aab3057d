"""The event that reports what was changed or dropped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(slots=True)
class WarningEvent:
    """Part of the request or the answer was changed or dropped; `code` is snake_case."""

    type: ClassVar[str] = "warning"
    code: str
    message: str
