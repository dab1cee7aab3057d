"""Stores a provider's key outside of the configuration file: in the keyring, or in a file of its own.

Each stored key has a new name, so that the configuration changes with it and running daemons read it.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from jumpseat.config.sources.file import FILE
from jumpseat.config.sources.keyring import KEYRING
from jumpseat.system.environment import Environment
from jumpseat.system.keyring_storage import SERVICE, BoundedKeyring, KeyringError, system_keyring
from jumpseat.system.paths import make_private

FOLDER = "keys"
_NUMBER = re.compile(r"[.](\d{1,9})$")


class CannotStoreError(Exception):
    """A key cannot be stored or deleted. The message is a sentence without the key."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """Where a key is."""

    source: str
    """The value of `api_key` that names it."""

    place: str
    """The end of a sentence: `the keyring`, `the file …`."""


async def store_key(
    key: str, provider: str, environment: Environment, *, before: str | None = None, in_file: bool = False
) -> StoredKey:
    """Store a key in the keyring, or where there is none in a file that only the user can read.

    Args:
        key: the key.
        provider: the provider's id.
        environment: the user's.
        before: the value of `api_key` until now.
        in_file: do not use the keyring.

    Raises:
        CannotStoreError: neither is possible.
    """
    name = f"{quote(provider, safe='')}.{_number_of(before) + 1}"
    if not in_file:
        try:
            await BoundedKeyring(system_keyring).set(_entry(name), key)
        except KeyringError:
            pass  # None, or locked: a file works everywhere.
        else:
            return StoredKey(f"{KEYRING.prefix}{SERVICE}/{_entry(name)}", "the keyring")
    file = environment.places.state_dir / FOLDER / name
    try:
        _write(file, key)
    except OSError as error:
        raise CannotStoreError(f"{file} cannot be written: {error.strerror or error}.") from None
    return StoredKey(f"{FILE.prefix}{file}", f"the file {file}")


async def delete_key(source: str, environment: Environment) -> None:
    """Delete a key that `store_key` stored; one that is gone is no error.

    Raises:
        CannotStoreError: it is still there.
    """
    if source.startswith(KEYRING.prefix):
        try:
            await BoundedKeyring(system_keyring).delete(source.rpartition("/")[2])
        except KeyringError as error:
            raise CannotStoreError(f"The keyring cannot be used: {error}.") from None
        return
    _delete(Path(source.removeprefix(FILE.prefix)))


def is_stored(source: object, environment: Environment) -> bool:
    """Whether a value of `api_key` names a key that `store_key` stored."""
    if not isinstance(source, str):
        return False
    folder = environment.places.state_dir / FOLDER
    in_file = source.startswith(FILE.prefix) and Path(source.removeprefix(FILE.prefix)).parent == folder
    return in_file or source.startswith(f"{KEYRING.prefix}{SERVICE}/{_entry('')}")


def _entry(name: str) -> str:
    """The name in the keyring, apart from those of sign-ins."""
    return f"api_key.{name}"


def _number_of(source: str | None) -> int:
    found = _NUMBER.search(source or "")
    return int(found[1]) if found else 0


def _delete(file: Path) -> None:
    try:
        file.unlink(missing_ok=True)
    except OSError as error:
        raise CannotStoreError(f"{file} cannot be deleted: {error.strerror or error}.") from None


def _write(file: Path, key: str) -> None:
    make_private(file.parent)
    file.unlink(missing_ok=True)  # Left by a change of the configuration by hand.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    with os.fdopen(os.open(file, flags, 0o600), "w", encoding="utf-8") as stream:
        stream.write(f"{key}\n")
        stream.flush()
        os.fsync(stream.fileno())
