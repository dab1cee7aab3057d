"""The event that reports what was changed or dropped; a response keeps them all."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar


@dataclass(slots=True)
class WarningEvent:
    """Something of the request was changed or dropped; `code` is snake_case."""

    type: ClassVar[str] = "warning"
    code: str
    message: str
