"""The schemas of the tables `[daemon]` and `[conversations]`."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
from pydantic import BaseModel, ConfigDict, Field


class DaemonOptions(BaseModel):
    """The table `[daemon]`: options of the shared daemon."""

    model_config = ConfigDict(extra="allow", strict=True)

    idle_minutes: float = Field(default=10.0, ge=0, le=60 * 24 * 365)
    """Minutes that the daemon waits for the next client; 0 to exit immediately."""


class ConversationOptions(BaseModel):
    """The table `[conversations]`: options for storing conversations."""

    model_config = ConfigDict(extra="allow", strict=True)

    keep: bool = True
    """Whether conversations may be stored. If False, nothing is written, whatever a client requests."""

    max_days: float = Field(default=0.0, ge=0, le=365_000)
    """Days after its last change until a conversation is deleted; 0 for no limit."""

    max_megabytes: float = Field(default=500.0, ge=0, le=1_000_000)
    """The maximum size of all conversations together; 0 for no limit."""
