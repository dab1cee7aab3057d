"""A daemon session for one command."""

from __future__ import annotations

from collections.abc import Sequence

from jumpseat_client.client import Client
from jumpseat_client.connection import OnNotification, OnRequest

CLIENT_NAME = "jumpseat-cli"


def daemon(
    command: Sequence[str],
    *,
    on_notification: OnNotification | None = None,
    on_request: OnRequest | None = None,
) -> Client:
    """Return a client of this daemon for one command."""
    return Client.spawn(
        command, client_name=CLIENT_NAME, on_notification=on_notification, on_request=on_request
    )
