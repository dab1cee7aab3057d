"""Describes providers to clients and probes their capabilities."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from jumpseat.adapters.base import Capabilities, CapabilitySource
from jumpseat.adapters.base.account import AuthMethod, AuthStatus
from jumpseat.chat import AuthenticationError, AuthorizationError, ChatError, ConnectionError
from jumpseat.config import SettingRow
from jumpseat.providers.registry import Registry

logger = logging.getLogger(__name__)

PROBE_SECONDS = 5.0
"""The timeout of one probe. `describe_providers` waits for all probes."""


@dataclass(frozen=True, slots=True)
class ProviderDescription:
    """A provider as clients see it."""

    id: str
    name: str
    kind: str
    is_default: bool
    configured: bool
    """Whether the provider is set up well enough to try a chat."""

    built_in: bool
    """Whether the provider exists although no configuration defines it."""

    auth_method: AuthMethod | None
    """None if the provider cannot be used, for example because its table is invalid."""

    auth: AuthStatus
    capabilities: Capabilities
    capability_sources: Mapping[str, CapabilitySource]
    settings_schema: Mapping[str, SettingRow]


async def describe_providers(
    registry: Registry, default: str | None, *, probe: bool = False
) -> list[ProviderDescription]:
    """Describe every provider, usable or not.

    Args:
        default: the default provider's id.
        probe: whether to probe all providers that are not signed out, concurrently. A failure is reported in
            the provider's `auth.message`.
    """
    await registry.prepare(*registry.ids)
    statuses = await asyncio.gather(
        *(_read_status(registry, provider, probe=probe) for provider in registry.ids)
    )
    return [
        _describe(registry, status, is_default=status.provider == default)
        for status in statuses
        if status.provider in registry.ids  # The configuration may have changed in the meantime.
    ]


def _describe(registry: Registry, auth: AuthStatus, *, is_default: bool) -> ProviderDescription:
    provider = auth.provider
    table = registry.table(provider)
    try:
        capabilities, sources = registry.capabilities(provider)
        auth_method = registry.account(provider).auth_method
    except ChatError:  # The status contains the reason; the other providers must still be listed.
        auth_method = None
        capabilities = Capabilities()
        sources = {field.name: "static" for field in fields(capabilities)}
    return ProviderDescription(
        id=provider,
        name=table.name or provider,
        kind=table.kind,
        is_default=is_default,
        configured=auth.state not in ("signed_out", "expired"),
        built_in=provider not in registry.user_defined,
        auth_method=auth_method,
        auth=auth,
        capabilities=capabilities,
        capability_sources=sources,
        settings_schema=registry.settings_rows(provider),
    )


async def _read_status(registry: Registry, provider: str, *, probe: bool) -> AuthStatus:
    try:
        status = await registry.auth_status(provider)
    except ChatError as error:
        return AuthStatus(provider=provider, state="signed_out", message=error.message)
    if not probe or status.state == "signed_out":
        return status
    try:
        async with asyncio.timeout(PROBE_SECONDS):
            return await _probe(registry, status)
    except TimeoutError:
        message = f"{provider} did not answer within {PROBE_SECONDS:g} s."
        return _add_failure(status, ConnectionError(message, provider=provider))
    except ChatError as error:
        return _add_failure(status, error)


async def _probe(registry: Registry, status: AuthStatus) -> AuthStatus:
    """Probe a provider. If it has a key and the probe succeeds, the state becomes `signed_in`."""
    if status.state not in ("not_required", "configured"):
        status = await registry.auth_status(status.provider, refresh=True)
    if await registry.probe(status.provider) and status.state == "configured":
        return replace(status, state="signed_in")
    return status


def _add_failure(status: AuthStatus, error: ChatError) -> AuthStatus:
    logger.info("probing %s failed: %s", status.provider, error.message)
    match error:
        case AuthorizationError():
            return replace(status, state="not_authorized", message=error.message)
        case AuthenticationError():
            return replace(status, state="signed_out", message=error.message)
        case _:
            return replace(status, message=error.message)
