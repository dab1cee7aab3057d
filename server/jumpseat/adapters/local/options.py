"""The own keys of the kind `local`."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
from pydantic import BaseModel, ConfigDict


class LocalOptions(BaseModel):
    """Keys of a provider's table."""

    model_config = ConfigDict(strict=True)

    model_path: str | None = None
    """A GGUF file to run instead of the installed model."""
