"""The event for warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

WAITING_FOR_ROOM = "waiting_for_room"
"""The code of the warning that an attempt is waiting until another request ends.

Other warnings from an attempt are delayed until its answer begins. This one is sent immediately.
"""


@dataclass(slots=True)
class WarningEvent:
    """A warning to the client. Most warnings report a change to the request or to the answer."""

    type: ClassVar[str] = "warning"
    code: str
    """The kind of warning, in snake_case."""

    message: str
