"""The keys that a kind of provider has beside the common ones.

Above it is `base`, which gives this to plug-ins; below it is configuration.
"""

from __future__ import annotations

from typing import TypeVar

from pydantic import BaseModel, ValidationError

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig

Options = TypeVar("Options", bound=BaseModel)


def read_options(model: type[Options], provider: str, config: ProviderConfig) -> Options:
    """The keys of a provider's table that are not the common ones, as a model has them.

    Args:
        model: the keys and their types; a key that it does not have is warned about by the daemon.
        provider: the configured provider's id, for the error.
        config: the provider's table.

    Raises:
        ConfigError: a key is missing or wrong; the message names it, and repeats no value.
    """
    try:
        return model.model_validate(config.model_extra or {})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(map(str, ("providers", provider, *first["loc"])))
        told = first["msg"].removeprefix("Value error, ")
        raise ConfigError(f"{key}: {told}.", provider=provider) from None
