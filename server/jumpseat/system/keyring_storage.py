"""The operating system's keyring, by way of the optional `keyring` package.

A keyring may be missing, locked, or wait for a person who is not there, so every call is bounded and runs
on a thread that nobody has to wait for. Above it are the value source `keyring:` and the store of tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from jumpseat.system.bounded import in_time

KEYRING_SECONDS = 3.0
SERVICE = "jumpseat"
LOWEST_PRIORITY = 1.0
"""Backends below it keep secrets in the clear, or ask for a password of their own."""

T = TypeVar("T")


class KeyringError(Exception):
    """The keyring cannot be used now. Says why in words without a secret."""


class Keyring(Protocol):
    """What is needed of a keyring. The methods block, and raise whatever they like."""

    def get_password(self, service: str, username: str) -> str | None:
        """The secret kept under this name."""
        ...

    def set_password(self, service: str, username: str, password: str) -> None:
        """Keep a secret under this name."""
        ...

    def delete_password(self, service: str, username: str) -> None:
        """Forget the secret kept under this name."""
        ...


class BoundedKeyring:
    """A keyring that answers in time or not at all."""

    def __init__(self, open_keyring: Callable[[], Keyring | None], seconds: float = KEYRING_SECONDS) -> None:
        """
        Args:
            open_keyring: makes the keyring, or None where the machine has none; called on a thread.
            seconds: how long each call may take.
        """
        self._open = open_keyring
        self._seconds = seconds

    async def get(self, name: str, service: str = SERVICE) -> str | None:
        """The secret kept under a name, by us or by another service.

        Raises:
            KeyringError: the keyring cannot be used.
        """
        return await self._bounded(lambda keyring: keyring.get_password(service, name))

    async def set(self, name: str, secret: str) -> None:
        """Keep a secret.

        Raises:
            KeyringError: the keyring cannot be used, or does not give back what it was given.
        """

        def kept(keyring: Keyring) -> str | None:
            keyring.set_password(SERVICE, name, secret)
            return keyring.get_password(SERVICE, name)

        if await self._bounded(kept) != secret:
            raise KeyringError("it does not keep what it is given")

    async def delete(self, name: str) -> None:
        """Forget a secret; one that is not there is no error.

        Raises:
            KeyringError: the keyring cannot be used.
        """

        def forget(keyring: Keyring) -> None:
            if keyring.get_password(SERVICE, name) is not None:
                keyring.delete_password(SERVICE, name)

        await self._bounded(forget)

    async def _bounded(self, work: Callable[[Keyring], T]) -> T:
        def run() -> T:
            try:
                keyring = self._open()
                if keyring is None:
                    raise KeyringError("there is none")
                return work(keyring)
            except KeyringError:
                raise
            except BaseException as error:  # A backend raises what its D-Bus or its Keychain raises.
                raise KeyringError(type(error).__name__) from None

        try:
            return await in_time(run, self._seconds, "keyring")
        except TimeoutError:
            raise KeyringError(f"it did not answer in {self._seconds:g} s") from None


def system_keyring() -> Keyring | None:
    """The machine's keyring; None without the `keyring` package, or with no backend that is safe."""
    try:
        import keyring  # Deferred, and optional: it loads every backend there is.
    except ImportError:
        return None
    backend = keyring.get_keyring()
    try:
        priority = float(backend.priority)
    except Exception:
        return None
    return backend if priority >= LOWEST_PRIORITY else None
