"""Stores a provider's API key outside the configuration file: in the keyring, or in a separate file.

Each key is stored under a new name, so the configuration changes every time, and running daemons read the new
key. The source that a key replaced is recorded, so that this source can be restored when the key is deleted.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jumpseat.chat import ConfigError
from jumpseat.config.schema import ProviderConfig, TableOrigin
from jumpseat.config.sources.file import FILE
from jumpseat.config.sources.keyring import KEYRING
from jumpseat.config.values import is_unset_variable, resolve
from jumpseat.system.environment import Environment
from jumpseat.system.keyring_storage import SERVICE, BoundedKeyring, KeyringError, system_keyring
from jumpseat.system.paths import make_private
from jumpseat.system.state_file import StateError, StateFile

FOLDER = "keys"
REPLACED = "replaced.json"
_NUMBER = re.compile(r"[.](\d{1,9})$")


@dataclass(frozen=True, slots=True)
class StoredKey:
    """The location of a stored key."""

    source: str
    """The value for `api_key` that refers to the key."""

    place: str
    """The location, as a phrase for messages: `the keyring` or `the file …`."""

    @property
    def is_in_keyring(self) -> bool:
        """Whether the key is in the keyring and not in a file."""
        return self.source.startswith(KEYRING.prefix)


async def store_key(
    key: str, provider: str, environment: Environment, *, before: str | None = None, in_file: bool = False
) -> StoredKey:
    """Store a key in the keyring or, if the keyring cannot be used, in a file that only the user can read.

    Args:
        provider: the provider's id.
        environment: the user's environment.
        before: the previous value of `api_key`, which `delete_key` will return. If this value itself refers
            to a stored key, `delete_key` will return the source that the previous key replaced.
        in_file: whether to skip the keyring.

    Raises:
        ConfigError: the key cannot be stored, or the record of replaced sources cannot be used.
    """
    known = before if before is not None and is_stored(before, environment) else None
    name = f"{quote(provider, safe='')}.{_number_of(known) + 1}"
    stored = await _store(key, name, environment, in_file=in_file)
    replaced = _read_replaced_source(known, environment) if known is not None else before
    _record_replaced_source(stored.source, replaced, environment)
    return stored


async def _store(key: str, name: str, environment: Environment, *, in_file: bool) -> StoredKey:
    if not in_file:
        try:
            await BoundedKeyring(system_keyring).set(_keyring_name(name), key)
        except KeyringError:
            pass  # The keyring is missing or locked. A file always works.
        else:
            return StoredKey(f"{KEYRING.prefix}{SERVICE}/{_keyring_name(name)}", "the keyring")
    file = environment.places.state_dir / FOLDER / name
    try:
        _write(file, key)
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}.") from None
    return StoredKey(f"{FILE.prefix}{file}", f"the file {file}")


async def delete_key(source: str, environment: Environment) -> str | None:
    """Delete a key that `store_key` stored, if it still exists. Return the source that it replaced, or None.

    Raises:
        ConfigError: the key cannot be deleted, or the record of replaced sources cannot be read.
    """
    await _delete(source)
    # Keep the record: if the configuration file cannot be changed now, a later attempt restores the source.
    return _read_replaced_source(source, environment)


def has_key(provider: str, table: Mapping[str, Any], file: Path, environment: Environment) -> bool:
    """Whether `api_key` in a provider's table currently yields a key. Blocks, because it may run a command.

    Args:
        provider: the provider's id.
        table: the provider's table in the configuration file.
        file: the configuration file.
        environment: the user's environment.
    """
    value = table.get("api_key")
    if not isinstance(value, str) or not value or is_unset_variable(value, environment):
        return False
    config = ProviderConfig(kind=str(table.get("kind")), api_key=value)
    config.origin = TableOrigin(file, table, environment)
    try:
        return resolve(provider, "api_key", value, config).reveal() != ""
    except ConfigError:
        return False


async def _delete(source: str) -> None:
    if source.startswith(KEYRING.prefix):
        try:
            await BoundedKeyring(system_keyring).delete(source.rpartition("/")[2])
        except KeyringError as error:
            raise ConfigError(f"The keyring cannot be used: {error}.") from None
        return
    _unlink(Path(source.removeprefix(FILE.prefix)))


def is_stored(source: object, environment: Environment) -> bool:
    """Whether a value of `api_key` refers to a key stored by `store_key`."""
    if not isinstance(source, str):
        return False
    folder = environment.places.state_dir / FOLDER
    in_file = source.startswith(FILE.prefix) and Path(source.removeprefix(FILE.prefix)).parent == folder
    return in_file or source.startswith(f"{KEYRING.prefix}{SERVICE}/{_keyring_name('')}")


def _keyring_name(name: str) -> str:
    """Return a key's name in the keyring. The prefix distinguishes it from the names of sign-ins."""
    return f"api_key.{name}"


def _number_of(source: str | None) -> int:
    found = _NUMBER.search(source or "")
    return int(found[1]) if found else 0


def _read_replaced_source(source: str, environment: Environment) -> str | None:
    try:
        replaced = _record_file(environment).read().get(source)
    except StateError as error:
        raise ConfigError(error.message, hint=error.hint) from None
    return replaced if isinstance(replaced, str) else None


def _record_replaced_source(source: str, replaced: str | None, environment: Environment) -> None:
    """Record the source that a stored key replaced. If `replaced` is None, delete the key's old record."""

    def change(content: dict[str, Any]) -> dict[str, Any]:
        others = {name: each for name, each in content.items() if name != source}
        return others if replaced is None else {**others, source: replaced}

    try:
        file = _record_file(environment)
        if replaced is not None or source in file.read():
            file.update(change)
    except StateError as error:
        raise ConfigError(error.message, hint=error.hint) from None


def _record_file(environment: Environment) -> StateFile:
    return StateFile(environment.places.state_dir / FOLDER / REPLACED, private=True)


def _unlink(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise ConfigError(f"{file} cannot be deleted: {error.strerror or error}.") from None


def _write(file: Path, key: str) -> None:
    make_private(file.parent)
    # A file with this name may be left over if the user removed the key from the configuration by hand.
    file.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8") as stream:
        stream.write(f"{key}\n")
        stream.flush()
        os.fsync(stream.fileno())
