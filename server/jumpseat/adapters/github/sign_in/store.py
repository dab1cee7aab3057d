"""jumpseat's own GitHub sign-ins: one token per provider id and host, in the keyring or in a file.

`sign_ins.json` lists every sign-in, without the token if that is in the keyring. Every sign-in and sign-out
replaces the file, even if only the keyring changes, so that other daemons notice the change with one `stat`.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from jumpseat.adapters.github.hosts import GitHubHosts
from jumpseat.chat import AuthenticationError, ConfigError
from jumpseat.config.state_files import use_state_file
from jumpseat.system.environment import Environment
from jumpseat.system.keyring_storage import BoundedKeyring, KeyringError, system_keyring
from jumpseat.system.paths import Places
from jumpseat.system.secrets import Secret, register_secret
from jumpseat.system.state_file import StateFile

logger = logging.getLogger(__name__)

Storage: TypeAlias = Literal["keyring", "file"]

FILE_NAME = "sign_ins.json"


@dataclass(frozen=True, slots=True)
class StoredSignIn:
    """A provider's stored sign-in. If nothing is stored, `token` is None."""

    token: Secret | None = None
    storage: Storage | None = None
    login: str | None = None
    signed_out: bool = False
    """Whether the user signed out and has not signed in again."""


def auth_directory(places: Places) -> Path:
    """Return the directory for files with secrets."""
    return places.state_dir / "auth"


def token_store_of(environment: Environment) -> TokenStore:
    """Return the store for a client's environment."""
    # JUMPSEAT_HOME is for portable use: all data stay in that directory, so the keyring is not used.
    is_portable = bool(environment.get("JUMPSEAT_HOME"))
    keyring = BoundedKeyring(lambda: None if is_portable else system_keyring())
    return TokenStore(auth_directory(environment.places), keyring=keyring)


class TokenStore:
    """The store of sign-ins. Readers do not lock the file; writers do."""

    def __init__(self, directory: Path, *, keyring: BoundedKeyring) -> None:
        """
        Args:
            directory: the file's directory.
            keyring: the keyring for tokens. A token that it cannot store is written to the file.
        """
        self.path = directory / FILE_NAME
        """The file that every sign-in and sign-out replaces, so that its stamp changes."""

        self._file = StateFile(self.path, private=True)
        self._keyring = keyring

    async def read(self, hosts: GitHubHosts) -> StoredSignIn:
        """Return the stored sign-in of a provider.

        Raises:
            ConfigError: other users can open the file, or it cannot be read.
            AuthenticationError: the token is in a keyring that cannot be used now.
        """
        entry = _entries(await use_state_file(self._file.read)).get(_name(hosts), {})
        if entry.get("signed_out") is True:
            return StoredSignIn(signed_out=True)
        login = entry.get("login") if isinstance(entry.get("login"), str) else None
        if entry.get("storage") == "keyring":
            try:
                secret = await self._keyring.get(_name(hosts))
            except KeyringError as error:
                raise AuthenticationError(
                    f"The sign-in is in the system's keyring, which cannot be used: {error}.",
                    provider=hosts.provider,
                    hint=f"Unlock the keyring, or run `{hosts.login_command}` again.",
                ) from None
            return StoredSignIn(register_secret(secret), "keyring", login) if secret else StoredSignIn()
        token = entry.get("token")
        return (
            StoredSignIn(register_secret(token), "file", login)
            if isinstance(token, str) and token
            else StoredSignIn()
        )

    async def write(self, hosts: GitHubHosts, token: Secret, *, login: str | None = None) -> Storage:
        """Store a sign-in, in the keyring if possible.

        Returns:
            The token's location; `file` means clear text.

        Raises:
            ConfigError: the file cannot be written.
        """
        storage: Storage = "keyring"
        try:
            await self._keyring.set(_name(hosts), token.reveal())
        except KeyringError as error:
            logger.info("the keyring is not used for %s: %s", hosts.provider, error)
            storage = "file"
        entry: dict[str, Any] = {"storage": storage, "login": login}
        if storage == "file":
            entry["token"] = token.reveal()
        await use_state_file(self._file.update, lambda content: _with_entries(content, {_name(hosts): entry}))
        return storage

    async def delete(self, hosts: GitHubHosts) -> None:
        """Delete the provider's tokens and record that the user signed out.

        Tokens for the provider's former hosts, and copies of the file, are deleted too.

        Raises:
            ConfigError: a file may still contain a token; the message names the file.
            AuthenticationError: the token is in a keyring that does not delete it; the file is not changed.
        """
        try:
            entries = _entries(await use_state_file(self._file.read))
            names = {name for name in entries if name.rpartition("@")[0] == hosts.provider} | {_name(hosts)}
            for name in names:
                if entries.get(name, {}).get("storage") == "keyring":
                    await self._delete_from_keyring(name, hosts)

            def mark_signed_out(content: dict[str, Any]) -> Mapping[str, Any]:
                return _with_entries(content, {name: {"signed_out": True} for name in names})

            left = await use_state_file(self._file.erase, mark_signed_out)
        except ConfigError as error:
            raise ConfigError(
                f"{self.path} may still contain the token: {error.message}",
                provider=hosts.provider,
                hint=error.hint,
            ) from None
        if left:
            raise not_removed_error(left, hosts)

    async def _delete_from_keyring(self, name: str, hosts: GitHubHosts) -> None:
        try:
            await self._keyring.delete(name)
        except KeyringError as error:
            raise AuthenticationError(
                f"The sign-in is in the system's keyring, which does not delete it: {error}.",
                provider=hosts.provider,
                hint="Unlock the keyring, and sign out again.",
            ) from None


def not_removed_error(paths: Iterable[Path], hosts: GitHubHosts) -> ConfigError:
    """Return the error for files that still contain tokens because a sign-out could not remove the files."""
    named = ", ".join(sorted(map(str, paths)))
    return ConfigError(
        f"These files still contain tokens and cannot be removed: {named}.",
        provider=hosts.provider,
        hint="Make their directory writable and sign out again, or remove them yourself.",
    )


def _entries(content: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found = content.get("sign_ins")
    entries = found.items() if isinstance(found, dict) else ()
    return {name: entry for name, entry in entries if isinstance(entry, dict)}


def _with_entries(content: Mapping[str, Any], entries: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**content, "sign_ins": {**_entries(content), **entries}}


def _name(hosts: GitHubHosts) -> str:
    return f"{hosts.provider}@{hosts.key}"
