"""The stored sign-ins to MCP servers: tokens, and the daemon's registrations with authorization servers.

One registration is stored for each issuer. A new registration for each sign-in would fill the issuer's list
of registered clients.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from jumpseat.system.paths import Places
from jumpseat.system.secrets import register_secret
from jumpseat.system.state_file import StateFile
from jumpseat.system.watch import stamp_of

FILE_NAME = "mcp_sign_ins.json"

_SECRETS = ("access_token", "refresh_token", "client_secret")


@dataclass(frozen=True, slots=True)
class ServerCredential:
    """A sign-in to one server. Each mapping has the form in which it was received."""

    tokens: Mapping[str, Any] | None = field(default=None, repr=False)
    """The response of the token endpoint; None if the access token has been refused since."""

    expires_at: float | None = None
    """The time at which the access token expires, in Unix seconds."""

    issuer: str | None = None
    client: Mapping[str, Any] | None = field(default=None, repr=False)
    """The registration with which the tokens were requested."""

    authorization_server: Mapping[str, Any] | None = None
    """The metadata of the authorization server, which names the endpoint that refreshes tokens."""

    resource: Mapping[str, Any] | None = None
    """The protected-resource metadata of the server."""

    @property
    def access_token(self) -> str | None:
        """The access token; None if it was refused."""
        token = (self.tokens or {}).get("access_token")
        return token if isinstance(token, str) else None


class SignInStore:
    """The file with all sign-ins. The methods block, and raise `StateError` if the file cannot be used."""

    def __init__(self, places: Places) -> None:
        self._file = StateFile(places.state_dir / "auth" / FILE_NAME, private=True)

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self._file.path

    def stamp(self) -> object:
        """Return a value that changes with the file."""
        return stamp_of(self._file.path)

    def read(self, key: str) -> ServerCredential | None:
        """Return the sign-in with this key."""
        entry = _get_table(self._file.read(), "servers").get(key)
        if not isinstance(entry, Mapping):
            return None
        expires_at, issuer = entry.get("expires_at"), entry.get("issuer")
        sign_in = ServerCredential(
            tokens=_get_table(entry, "tokens") or None,
            expires_at=expires_at if isinstance(expires_at, int | float) else None,
            issuer=issuer if isinstance(issuer, str) else None,
            client=_get_table(entry, "client") or None,
            authorization_server=_get_table(entry, "authorization_server") or None,
            resource=_get_table(entry, "resource") or None,
        )
        _register_secrets(sign_in)
        return sign_in

    def write(self, key: str, sign_in: ServerCredential) -> None:
        """Store a sign-in. Servers with the same issuer share its registration."""
        _register_secrets(sign_in)

        def change(content: dict[str, Any]) -> dict[str, Any]:
            clients = _get_table(content, "clients")
            if sign_in.issuer is not None and sign_in.client is not None:
                clients = {**clients, sign_in.issuer: sign_in.client}
            servers = {**_get_table(content, "servers"), key: asdict(sign_in)}
            return {**content, "servers": servers, "clients": clients}

        self._file.update(change)

    def discard_refused(self, key: str, access_token: str) -> None:
        """Remove the tokens of a sign-in, if it still has this access token, which is no longer accepted."""

        def change(content: dict[str, Any]) -> dict[str, Any]:
            servers = _get_table(content, "servers")
            entry = _get_table(servers, key)
            if _get_table(entry, "tokens").get("access_token") != access_token:
                return content
            return {**content, "servers": {**servers, key: {**entry, "tokens": None, "expires_at": None}}}

        self._file.update(change)

    def forget(self, key: str) -> list[Path]:
        """Remove a sign-in and its registration from the file, and remove all copies of the file.

        Returns:
            The copies that could not be removed.
        """

        def change(content: dict[str, Any]) -> dict[str, Any]:
            servers = dict(_get_table(content, "servers"))
            clients = dict(_get_table(content, "clients"))
            clients.pop(str(_get_table(servers, key).get("issuer")), None)
            servers.pop(key, None)
            return {**content, "servers": servers, "clients": clients}

        return self._file.erase(change)

    def find_client(self, issuer: str) -> Mapping[str, Any] | None:
        """Return the registration with an issuer."""
        client = _get_table(self._file.read(), "clients").get(issuer)
        return client if isinstance(client, Mapping) else None

    def forget_client(self, client_id: str) -> None:
        """Remove a registration, which the issuer may no longer know, from all sign-ins and issuers."""

        def is_other(client: object) -> bool:
            return not isinstance(client, Mapping) or client.get("client_id") != client_id

        def change(content: dict[str, Any]) -> dict[str, Any]:
            clients = _get_table(content, "clients")
            servers = {
                key: entry if is_other(entry.get("client")) else {**entry, "client": None}
                for key, entry in _get_table(content, "servers").items()
                if isinstance(entry, Mapping)
            }
            kept = {issuer: client for issuer, client in clients.items() if is_other(client)}
            return {**content, "servers": servers, "clients": kept}

        self._file.update(change)

    def find_redirect_uri(self) -> str | None:
        """Return the redirect URI of any registration, so that later sign-ins use the same port."""
        for client in _get_table(self._file.read(), "clients").values():
            uris = client.get("redirect_uris") if isinstance(client, Mapping) else None
            if isinstance(uris, list) and uris and isinstance(uris[0], str):
                return uris[0]
        return None


def _register_secrets(sign_in: ServerCredential) -> None:
    for table in (sign_in.tokens, sign_in.client):
        for name in _SECRETS:
            if isinstance(value := (table or {}).get(name), str):
                register_secret(value, short_lived=True)


def _get_table(content: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    table = content.get(name)
    return table if isinstance(table, Mapping) else {}
