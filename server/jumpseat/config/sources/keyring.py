"""`keyring:service/user`: an entry of the system's keyring."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec

from jumpseat.config.schema import ProviderConfig
from jumpseat.config.sources.base import SourceError, ValueSource
from jumpseat.system.keyring_storage import BoundedKeyring, KeyringError, system_keyring
from jumpseat.system.packages import install_command


async def _read(place: str, table: ProviderConfig) -> str:
    service, user = _split(place)
    if not (service and user):
        raise SourceError("that is not of the form keyring:service/user", "Name the service and the user.")
    try:
        secret = await BoundedKeyring(system_keyring).get(user, service)
    except KeyringError as error:
        if find_spec("keyring") is None:
            raise SourceError(
                "the package keyring is not installed", f"Run `{install_command('keyring')}`."
            ) from None
        raise SourceError(
            f"the system's keyring cannot be used: {error}", "Unlock it, or use another source."
        ) from None
    if secret is None:
        raise SourceError(
            "the keyring has no such entry",
            f"Run `{shlex.join([sys.executable, '-m', 'keyring', 'set', service, user])}`.",
        )
    return secret


def _split(place: str) -> tuple[str, str]:
    # Split at the last slash, because a service is often a URL.
    service, _, user = place.rpartition("/")
    return service, user


def _find_fault(place: str, table: ProviderConfig) -> str | None:
    return None if all(_split(place)) else "is not of the form keyring:service/user"


KEYRING = ValueSource(prefix="keyring:", read=_read, find_fault=_find_fault, costly=True)
