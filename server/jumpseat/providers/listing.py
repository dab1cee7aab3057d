"""The models of several providers at once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from jumpseat.chat import ChatError, ConnectionError, ModelInfo, RequestError
from jumpseat.chat.errors import daemon_failure
from jumpseat.providers.registry import Registry

logger = logging.getLogger(__name__)

LISTING_SECONDS = 15.0
"""The time limit of one provider in a list of the models of several."""


@dataclass(frozen=True, slots=True)
class ProviderFailure:
    """A provider whose models could not be listed, and why."""

    provider: str
    error: ChatError


async def list_all_models(
    registry: Registry, providers: Sequence[str], *, refresh: bool = False
) -> tuple[list[ModelInfo], list[ProviderFailure]]:
    """The models of several providers, fetched concurrently, and the failures."""

    async def of(provider: str) -> list[ModelInfo] | ProviderFailure:
        try:
            async with asyncio.timeout(LISTING_SECONDS):
                return await registry.list_models(provider, refresh=refresh)
        except ChatError as error:
            return ProviderFailure(provider, error)
        except TimeoutError:
            message = f"{provider} did not list its models within {LISTING_SECONDS:g} s."
            return ProviderFailure(provider, ConnectionError(message, provider=provider))
        except NotImplementedError:
            return ProviderFailure(
                provider, RequestError(f"{provider} does not list its models.", provider=provider)
            )
        except Exception:
            logger.exception("listing the models of %s failed", provider)
            return ProviderFailure(provider, daemon_failure("listed these models", provider=provider))

    models: list[ModelInfo] = []
    failures: list[ProviderFailure] = []
    for answer in await asyncio.gather(*map(of, providers)):
        if isinstance(answer, ProviderFailure):
            failures.append(answer)
        else:
            models += answer
    return models, failures
