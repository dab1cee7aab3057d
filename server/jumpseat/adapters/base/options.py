"""Reads the keys that only one kind of provider has."""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig

Options = TypeVar("Options", bound=BaseModel)


def read_options(model: type[Options], provider: str, config: ProviderConfig) -> Options:
    """Validate and return the keys of a provider's table that only the provider's kind has.

    Args:
        model: the pydantic model of these keys; the daemon warns of all unknown keys.
        provider: the configured provider's id, for the error.
        config: the provider's table.

    Raises:
        ConfigError: a key is missing or invalid; the message omits the value, which may be a secret.
    """
    try:
        return model.model_validate(config.model_extra or {})
    except ValidationError as error:
        # Leave out the input, which may be a secret.
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, ("providers", provider, *first["loc"])))
        message = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{key}: {message}.", provider=provider) from None
