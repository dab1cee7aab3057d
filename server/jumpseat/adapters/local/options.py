"""The configuration keys of the kind `local`."""

# Do not import `annotations` from `__future__` here: pydantic would compile each annotation's text again.
from pydantic import BaseModel, ConfigDict


class LocalOptions(BaseModel):
    """Keys of a provider's table."""

    model_config = ConfigDict(strict=True)

    model_path: str | None = None
    """A GGUF file to run instead of the installed model."""
