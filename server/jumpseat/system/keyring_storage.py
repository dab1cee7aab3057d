"""Access to the operating system's keyring through the optional `keyring` package.

A keyring may be missing, locked, or waiting for user input, so every call runs in a thread with a time limit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from jumpseat.system.threads import run_blocking

KEYRING_SECONDS = 3.0
SERVICE = "jumpseat"
LOWEST_PRIORITY = 1.0
"""The minimum priority of a backend. Backends below it store plain text, or prompt for their own password."""

T = TypeVar("T")


class KeyringError(Exception):
    """The keyring cannot be used now. The message gives the reason and contains no secret."""


class Keyring(Protocol):
    """The required interface of a keyring. The methods block, and may raise any exception."""

    def get_password(self, service: str, username: str) -> str | None:
        """Return the secret stored under this name."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Store a secret under this name."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Delete the secret stored under this name."""
        ...


class BoundedKeyring:
    """A keyring whose calls have a time limit."""

    def __init__(self, open_keyring: Callable[[], Keyring | None], seconds: float = KEYRING_SECONDS) -> None:
        """
        Args:
            open_keyring: opens the keyring, or returns None if the machine has none. Called in a thread.
            seconds: the time limit for each call.
        """
        self._open = open_keyring
        self._seconds = seconds

    async def get(self, name: str, service: str = SERVICE) -> str | None:
        """Return the secret stored under a name by jumpseat or another service.

        Raises:
            KeyringError: the keyring cannot be used.
        """
        return await self._call_with_limit(lambda keyring: keyring.get_password(service, name))

    async def set(self, name: str, secret: str) -> None:
        """Store a secret.

        Raises:
            KeyringError: the keyring cannot be used, or does not return the stored secret.
        """

        def store(keyring: Keyring) -> str | None:
            keyring.set_password(SERVICE, name, secret)
            return keyring.get_password(SERVICE, name)

        if await self._call_with_limit(store) != secret:
            raise KeyringError("it does not return the stored secret")

    async def delete(self, name: str) -> None:
        """Delete a secret, if it exists.

        Raises:
            KeyringError: the keyring cannot be used.
        """

        def delete(keyring: Keyring) -> None:
            if keyring.get_password(SERVICE, name) is not None:
                keyring.delete_password(SERVICE, name)

        await self._call_with_limit(delete)

    async def _call_with_limit(self, work: Callable[[Keyring], T]) -> T:
        def run() -> T:
            try:
                keyring = self._open()
                if keyring is None:
                    raise KeyringError("there is no keyring")
                return work(keyring)
            except KeyringError:
                raise
            except BaseException as error:  # Backends may raise exceptions from D-Bus or the Keychain.
                raise KeyringError(type(error).__name__) from None

        try:
            return await run_blocking(run, within=self._seconds)
        except TimeoutError:
            raise KeyringError(f"it did not answer within {self._seconds:g} s") from None


def system_keyring() -> Keyring | None:
    """Return the machine's keyring; None if the `keyring` package or a safe backend is missing."""
    try:
        import keyring  # Optional, and imported late because it loads every installed backend.
    except ImportError:
        return None
    backend = keyring.get_keyring()
    try:
        priority = float(backend.priority)
    except Exception:
        return None
    return backend if priority >= LOWEST_PRIORITY else None


async def find_keyring_name() -> str | None:
    """Return the name of the module that implements the machine's keyring; None if there is none.

    Raises:
        KeyringError: the keyring cannot be opened, or does not answer in time.
    """
    try:
        keyring = await run_blocking(system_keyring, within=KEYRING_SECONDS)
    except TimeoutError:
        raise KeyringError(f"it did not answer within {KEYRING_SECONDS:g} s") from None
    except Exception as error:
        raise KeyringError(type(error).__name__) from None
    return None if keyring is None else type(keyring).__module__
