"""The tables that are not about providers: `[daemon]` and `[conversations]`."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
from pydantic import BaseModel, ConfigDict, Field


class DaemonOptions(BaseModel):
    """The table `[daemon]`: the shared daemon."""

    model_config = ConfigDict(extra="allow", strict=True)

    idle_minutes: float = Field(default=10.0, ge=0, le=60 * 24 * 365)
    """How long it waits for the next client; 0 ends it at once."""


class ConversationOptions(BaseModel):
    """The table `[conversations]`: what is kept of conversations."""

    model_config = ConfigDict(extra="allow", strict=True)

    keep: bool = True
    """False: nothing is written, whatever a client requests."""

    max_days: float = Field(default=0.0, ge=0, le=365_000)
    """How long after its last change a conversation is kept; 0 for no limit."""

    max_megabytes: float = Field(default=500.0, ge=0, le=1_000_000)
    """Of all files."""
