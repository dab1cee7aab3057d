"""Stores and removes providers' API keys, and updates the references to them in the configuration file.

The command line and the daemon both use this module. A key is never written to the configuration file.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jumpseat.chat import ChatError, ConfigError, ConnectionError, RequestError
from jumpseat.config import FaultyConfigError
from jumpseat.config.editing import ConfigurationFile
from jumpseat.config.reading import Source, list_faults, validate_tables
from jumpseat.config.redaction import HIDDEN, mask_value
from jumpseat.config.sources import source_prefix
from jumpseat.config.stored_keys import FOLDER, StoredKey, delete_key, has_key, is_stored, store_key
from jumpseat.config.values import is_unset_variable
from jumpseat.providers.kinds import KINDS
from jumpseat.providers.registry import Registry
from jumpseat.providers.services import SERVICES, WITH_KEY
from jumpseat.system.environment import Environment
from jumpseat.system.paths import make_private
from jumpseat.system.threads import run_blocking

MAX_KEY_CHARACTERS = 64 * 1024

TRY_SECONDS = 10.0
"""The time limit for listing a provider's models to try its key, while the user waits."""

LOCK_SECONDS = 10.0
"""The time limit for waiting for another process that sets or removes a key."""

_WITHOUT_KEY = {
    "copilot": "Run `jumpseat login` to sign in instead.",
    "copilot-language-server": "Run `jumpseat login {provider}` to sign in instead.",
    "local": "A local model does not need a key.",
}
"""The kinds of providers that have no API key, each with a hint."""


@dataclass(frozen=True, slots=True)
class KeySlot:
    """The place for a provider's key: the `api_key` of the provider's table."""

    provider: str
    file: ConfigurationFile
    table: Mapping[str, Any]
    """The provider's table in the file, or the usual table of a well-known service."""

    is_new: bool
    """Whether the file does not have the table yet."""

    before: str | None
    """The source that the new key replaces; None if there is none."""


@dataclass(frozen=True, slots=True)
class RemovedKey:
    """The result of removing a key."""

    file: Path
    source: str | None
    """The source that was restored; None if the key had not replaced any."""


def explain_invalid_key(key: str, environment: Environment) -> str | None:
    """Return why a text cannot be a key, as a clause that does not quote the text; None if it can be one."""
    if not key:
        return "it is empty"
    if len(key) > MAX_KEY_CHARACTERS:
        return "it is too long"
    if not key.isprintable() or any(map(str.isspace, key)):
        return "it contains white space or control characters"
    prefix = source_prefix(key)
    if prefix is not None:
        return (
            f"it begins with {prefix}, so it refers to a key elsewhere. Write the reference into the "
            "configuration file"
        )
    if key in environment.variables or is_unset_variable(key, environment):
        return "it is the name of an environment variable"
    return None


def find_key_slot(provider: str, file: Path, environment: Environment) -> KeySlot:
    """Find the place for a provider's key. Blocks, because it may run a command.

    Args:
        provider: the provider's id.
        file: the configuration file, which may be missing.
        environment: the user's environment.

    Raises:
        RequestError: there is no such provider.
        ConfigError: the provider does not use a key, it already has a key that jumpseat did not store, or
            the file cannot be read.
    """
    configuration = ConfigurationFile(file)
    table = configuration.providers.get(provider)
    kind = str((table or {}).get("kind") or provider)
    if kind in _WITHOUT_KEY and (table is not None or provider in _WITHOUT_KEY):
        hint = _WITHOUT_KEY[kind].format(provider=provider)
        raise ConfigError(f"{provider} does not use an API key.", provider=provider, hint=hint)
    if table is not None:
        before = _find_replaceable_source(provider, configuration, environment)
        return KeySlot(provider, configuration, table, is_new=False, before=before)
    service = SERVICES.get(provider)
    if service is None or not service.table:
        raise _make_unknown_error(provider, configuration)
    before = None if service.variable is None else f"env:{service.variable}"
    return KeySlot(provider, configuration, service.table, is_new=True, before=before)


def _find_replaceable_source(provider: str, file: ConfigurationFile, environment: Environment) -> str | None:
    """Return the `api_key` in a provider's table, which a new key can replace; None if the table has none.

    Raises:
        ConfigError: the provider has a key that jumpseat did not store.
    """
    table = file.providers[provider]
    before = table.get("api_key")
    if before is None or is_stored(before, environment):
        return before
    if isinstance(before, str) and not has_key(provider, table, file.path, environment):
        return before
    shown = mask_key(provider, before, environment)
    place = "in the table itself" if shown in ("", HIDDEN) else f"from {shown}"
    raise ConfigError(
        f"{provider} already has a key, {place}: api_key in [providers.{provider}] of {file.path}.",
        provider=provider,
        hint="To store another key, first run `jumpseat config edit` and remove that line.",
    )


def mask_key(provider: str, value: object, environment: Environment) -> str:
    """Return a value of `api_key` in a form that is safe to show; empty if it is not a string."""
    return (
        mask_value(("providers", provider, "api_key"), value, environment) if isinstance(value, str) else ""
    )


def _make_unknown_error(provider: str, file: ConfigurationFile) -> RequestError:
    from difflib import get_close_matches

    near = get_close_matches(provider, [*file.providers, *SERVICES], 1)
    hint = f"Did you mean {near[0]}? " if near else ""
    hint += f"jumpseat knows {', '.join(WITH_KEY)}. "
    hint += f"For another provider, add a table [providers.{provider}] to {file.path}."
    return RequestError(f"There is no provider named {provider!r} in the configuration.", hint=hint)


async def try_key(key: str, slot: KeySlot, environment: Environment) -> ChatError | None:
    """Request the provider's list of models with a key, and return the error if that fails.

    The key is sent only to the host in the user's own file or in the table of the well-known service.
    """
    provider = slot.provider
    table = {**slot.table, "api_key": key}
    source = Source(str(slot.file.path), tables={"providers": {provider: table}})
    config, errors = validate_tables(source.tables, KINDS)
    if config is None:
        return FaultyConfigError([fault for _, fault in list_faults(errors, source)], provider)
    tables = {"providers": {provider: slot.table}}
    config.note_origins(environment.directory / slot.file.path, tables, environment)
    registry = Registry(config)
    try:
        async with asyncio.timeout(TRY_SECONDS):
            await registry.prepare(provider)
            # Do not use the registry's lists: they log errors, which may quote a key that is too short to be
            # recognised in logs.
            await registry.adapter(provider).list_models()
    except TimeoutError:
        message = f"{provider} did not list its models within {TRY_SECONDS:g} s."
        return ConnectionError(message, provider=provider)
    except ChatError as error:
        error.message = error.message.replace(key, HIDDEN)
        error.hint = error.hint and error.hint.replace(key, HIDDEN)
        return error
    finally:
        await registry.aclose()
    return None


async def set_key(
    key: str, provider: str, file: Path, environment: Environment, *, in_file: bool = False
) -> StoredKey:
    """Store a key, refer to it in the configuration file, and delete the key that jumpseat stored before.

    Args:
        key: a text for which `explain_invalid_key` returns None.
        provider: the provider's id.
        file: the configuration file, which may be missing.
        environment: the user's environment.
        in_file: whether to store the key in a file even if there is a keyring.

    Raises:
        ChatError: see `find_key_slot`; or the key cannot be stored, or the file cannot be changed.
    """
    async with lock_configuration(environment):
        slot = await run_blocking(find_key_slot, provider, file, environment)
        stored = await store_key(key, provider, environment, before=slot.before, in_file=in_file)
        values = {**(slot.table if slot.is_new else {}), "api_key": stored.source}
        try:
            await run_blocking(slot.file.set, provider, values)
        except ConfigError as error:
            error.hint = (
                f'The key is stored. Add to the table [providers.{provider}]: api_key = "{stored.source}"'
            )
            raise
        if slot.before is not None and is_stored(slot.before, environment):
            await delete_key(slot.before, environment)
        return stored


async def remove_key(provider: str, file: Path, environment: Environment) -> RemovedKey | None:
    """Delete a provider's stored key. In the configuration file, restore the source that the key replaced.

    Return None if the provider has no key, or if it has a key that jumpseat did not store.

    Raises:
        ConfigError: the key cannot be deleted, or the file cannot be read or changed.
    """
    async with lock_configuration(environment):
        configuration = await run_blocking(ConfigurationFile, file)
        source = configuration.providers.get(provider, {}).get("api_key")
        if not isinstance(source, str) or not is_stored(source, environment):
            return None
        # Delete the key first: if that fails, the file still refers to the key.
        replaced = await delete_key(source, environment)
        await run_blocking(configuration.set, provider, {"api_key": replaced})
        return RemovedKey(configuration.path, replaced)


@asynccontextmanager
async def lock_configuration(environment: Environment) -> AsyncIterator[None]:
    """Prevent other processes and sessions from changing keys and tables at the same time."""
    from filelock import AsyncFileLock, Timeout  # Deferred: few sessions set a key.

    path = environment.places.state_dir / FOLDER / "keys.lock"
    try:
        await run_blocking(make_private, path.parent)
        lock = AsyncFileLock(path, mode=0o600, timeout=LOCK_SECONDS)
        await lock.acquire()
    except Timeout:
        raise ConfigError(f"Another process has been changing keys for {LOCK_SECONDS:g} s.") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be locked: {error.strerror or error}.") from None
    try:
        yield
    finally:
        await lock.release()
