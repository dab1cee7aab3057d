"""The schemas of the tables `[daemon]`, `[fetch]`, `[conversations]`, `[tools]` and `[acp]`."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class DaemonOptions(BaseModel):
    """The table `[daemon]`: options of the shared daemon."""

    model_config = ConfigDict(extra="allow", strict=True)

    idle_minutes: float = Field(default=10.0, ge=0, le=60 * 24 * 365)
    """Minutes that the daemon waits for the next client; 0 to exit immediately."""


class FetchOptions(BaseModel):
    """The table `[fetch]`: options for fetching the pages that a client names."""

    model_config = ConfigDict(extra="allow", strict=True)

    private: bool = False
    """Whether pages on this machine and in private networks may be fetched."""

    proxy: str | None = Field(default=None, repr=False)
    """The proxy, as in a provider's table; if absent, the environment variables apply."""

    ca_file: str | None = Field(default=None, min_length=1)
    """A file of certificates to trust in addition to the system's certificates."""


class ConversationOptions(BaseModel):
    """The table `[conversations]`: options for storing conversations."""

    model_config = ConfigDict(extra="allow", strict=True)

    keep: bool = True
    """Whether conversations may be stored. If False, nothing is written, whatever a client requests."""

    max_days: float = Field(default=0.0, ge=0, le=365_000)
    """Days without changes after which a conversation is deleted; 0 for no limit."""

    max_megabytes: float = Field(default=500.0, ge=0, le=1_000_000)
    """The maximum size of all conversations together; 0 for no limit."""


ToolSelector = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+/.+$")]
"""A server and a pattern of its tools, such as `files/*`."""


class ToolOptions(BaseModel):
    """The table `[tools]`: the rules and the limits for tools that the daemon runs."""

    model_config = ConfigDict(extra="allow", strict=True)

    allow: list[ToolSelector] = Field(default_factory=lambda: ["files/read", "files/list", "files/search"])
    """The tools that run without an approval."""

    ask: list[ToolSelector] = Field(default_factory=list)
    """The tools that need an approval for each call."""

    deny: list[ToolSelector] = Field(default_factory=list)
    """The tools that never run."""

    max_rounds: int = Field(default=25, ge=1, le=1000)
    """The maximum number of requests to the provider in one turn, not counting retries."""

    max_calls: int = Field(default=100, ge=1, le=10_000)
    """The maximum number of calls in one turn."""

    max_tools: int = Field(default=128, ge=1, le=10_000)
    """The maximum number of tools in one turn."""

    max_result_kilobytes: float = Field(default=64.0, ge=1, le=10_240)
    """The maximum size of a result's text, in KiB. The middle of a longer text is left out."""

    call_seconds: float = Field(default=120.0, gt=0, le=86_400)
    """The time limit for a call, not counting the wait for an approval."""


class AcpOptions(BaseModel):
    """The table `[acp]`: options for editors with the Agent Client Protocol."""

    model_config = ConfigDict(extra="allow", strict=True)

    tools: list[ToolSelector] = Field(default_factory=list)
    """Tools that each session offers in addition to the file tools and the tools of the session's servers."""
