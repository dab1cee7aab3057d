"""Checks one provider: its table, the sources of its values, its hosts, and its sign-in or key."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Iterable

from jumpseat.adapters.base import Adapter, AuthStatus, ChecksHosts, ChecksSetup
from jumpseat.chat import ChatError, Check
from jumpseat.config import ProviderConfig, Values
from jumpseat.config.source_cache import SourceCache
from jumpseat.config.sources import mask_source, source_prefix
from jumpseat.providers.checkup_values import credential_keys, list_sources
from jumpseat.providers.registry import Registry

PART_SECONDS = 8.0
"""The time limit of each part. The parts run concurrently."""

_LATE = f"There was no result within {PART_SECONDS:g} s."

SOURCE_SECONDS = 7.5
"""The time limit for each value source, which the user may have to unlock."""


async def diagnose(registry: Registry, provider: str) -> list[Check]:
    """Return the checks of one provider. A failure does not raise an exception: its check has `ok=False`.

    Reads the provider's credentials, which may run a program, and sends requests to its hosts.

    Raises:
        RequestError: there is no such provider.
    """
    table = registry.table(provider)
    await registry.prepare(provider)
    try:
        adapter = registry.adapter(provider)
        notes = adapter.check() if isinstance(adapter, ChecksSetup) else ()
    except ChatError as error:
        return [Check("configuration", False, error.message, error.hint)]
    sound = Check("configuration", True, f"The configuration of {provider} has no errors.")
    ignored = [Check("configuration", None, note) for note in notes]
    credentials, hosts, sign_in = await asyncio.gather(
        _run_in_time("credential", _check_credentials(provider, table)),
        _run_in_time("connection", _check_hosts(adapter)),
        _run_in_time("signIn", _check_sign_in(registry, provider)),
    )
    known = {check.message for check in credentials}
    if any(check.ok is False for check in (*credentials, *hosts)):
        # Do not also report the steps that were skipped because of this failure.
        known |= {_LATE, *(check.message for check in sign_in if check.ok is None)}
    further = [check for check in sign_in if check.message not in known]
    return [*(ignored or [sound]), *credentials, *hosts, *further]


async def _run_in_time(name: str, part: Awaitable[Iterable[Check]]) -> list[Check]:
    begin = time.monotonic()
    try:
        async with asyncio.timeout(PART_SECONDS):
            return list(await part)
    except TimeoutError:
        message = _LATE
    except ChatError as error:
        return [Check(name, False, error.message, error.hint)]
    return [Check(name, False, message, None, round((time.monotonic() - begin) * 1000))]


async def _check_credentials(provider: str, table: ProviderConfig) -> list[Check]:
    """Check whether each source in the table yields a value."""
    values = Values(provider, table, cache=SourceCache())  # With an empty cache, every source is read.
    variables = table.origin.environment.variables

    async def check(path: tuple[str | int, ...], value: str) -> Check | None:
        key = ".".join(map(str, path))
        place = f"providers.{provider}.{key}"
        is_source = source_prefix(value) is not None
        if not is_source and value not in variables:
            if path[0] not in credential_keys(table):
                return None
            hint = (
                f"Run `jumpseat keys set {provider}` to store it outside of the file."
                if key == "api_key"
                else None
            )
            return Check("credential", None, f"{place} is written in the configuration itself.", hint)
        source = mask_source(value) if is_source else f"the variable {value}"
        try:
            async with asyncio.timeout(SOURCE_SECONDS):
                await values.resolve(key, value)
        except ChatError as error:
            return Check("credential", False, error.message, error.hint)
        except TimeoutError:
            message = f"{place} is {source}, which did not return a value within {SOURCE_SECONDS:g} s."
            return Check("credential", False, message)
        return Check("credential", True, f"{place} is {source}, which has a value.")

    found = await asyncio.gather(*(check(path, value) for path, value in list_sources(table)))
    return [each for each in found if each is not None]


async def _check_hosts(adapter: Adapter) -> Iterable[Check]:
    return await adapter.check_hosts() if isinstance(adapter, ChecksHosts) else ()


async def _check_sign_in(registry: Registry, provider: str) -> list[Check]:
    begin = time.monotonic()
    status = await registry.auth_status(provider, refresh=True)
    return [_to_check(status, round((time.monotonic() - begin) * 1000))]


def _to_check(status: AuthStatus, duration_ms: int) -> Check:
    provider = status.provider
    if status.state in ("signed_out", "expired", "not_authorized") or status.chat_enabled is False:
        message = status.message or f"{provider} cannot be used: {status.state.replace('_', ' ')}."
        return Check("signIn", False, message, None, duration_ms)
    if status.state == "not_required":
        return Check("signIn", True, f"{provider} does not need a credential.")
    if status.state == "configured":
        if status.message is not None:
            return Check("signIn", None, f"The key of {provider} was not tested: {status.message}")
        return Check("signIn", None, f"The key of {provider} was not tested.")
    if status.login is None and status.source is None:
        return Check("signIn", True, f"{provider} accepts the key.", None, duration_ms)
    parts = [f"Signed in as {status.login}" if status.login else "Signed in"]
    parts += [f"on {status.host}"] if status.host else []
    sentence = " ".join(parts)
    sentence += f", plan {status.plan}" if status.plan else ""
    sentence += f", source {status.source}" if status.source else ""
    note = f" {status.message}" if status.message else ""
    return Check("signIn", True, f"{sentence}.{note}", None, duration_ms)
