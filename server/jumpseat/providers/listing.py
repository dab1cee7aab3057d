"""Lists the models of several providers concurrently."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from jumpseat.chat import ChatError, ModelInfo, RequestError
from jumpseat.chat.errors import daemon_failure
from jumpseat.providers.lists import StillListingError
from jumpseat.providers.registry import Registry

logger = logging.getLogger(__name__)

PATIENCE_SECONDS = 5.0
"""The time limit for the list of each provider, counted from the start of the fetch."""


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A provider whose models could not be listed, and the reason."""

    provider: str
    error: ChatError


async def list_all_models(
    registry: Registry, providers: Sequence[str], *, refresh: bool = False
) -> tuple[list[ModelInfo], list[ProviderFailure]]:
    """Return the models of several providers, fetched concurrently, and the failures.

    If a provider's list is known but a new one has not arrived in time, the result contains both the known
    models and a failure.
    """

    async def list_one(provider: str) -> tuple[Sequence[ModelInfo], ChatError | None]:
        try:
            return await registry.list_models(provider, refresh=refresh, patience=PATIENCE_SECONDS), None
        except StillListingError as error:
            return [row.info for row in (registry.known_models(provider) or {}).values()], error
        except ChatError as error:
            return (), error
        except NotImplementedError:
            return (), RequestError(f"{provider} does not list its models.", provider=provider)
        except Exception:
            logger.exception("listing the models of %s failed", provider)
            return (), daemon_failure("listed these models", provider=provider)

    answers = await asyncio.gather(*map(list_one, providers))
    models = [model for listed, _ in answers for model in listed]
    failures = [
        ProviderFailure(provider, error)
        for provider, (_, error) in zip(providers, answers, strict=True)
        if error is not None
    ]
    return models, failures
