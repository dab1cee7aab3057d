"""A Python client of the jumpseat daemon.

    async with Client.spawn() as client:
        async for delta in client.chat("Why is the sky blue?"):
            print(delta.text, end="", flush=True)

`SyncClient` is the same for programs without asyncio. Guide: `docs/client.md`.
"""

from jumpseat_client.client import Client, default_command
from jumpseat_client.errors import (
    ChatFailed,
    ClientError,
    DaemonDied,
    RequestFailed,
    RequestTimeout,
    StartFailed,
)
from jumpseat_client.results import ChatResult, Delta
from jumpseat_client.stream import ChatStream
from jumpseat_client.sync import SyncChat, SyncClient

__all__ = [
    "ChatFailed",
    "ChatResult",
    "ChatStream",
    "Client",
    "ClientError",
    "DaemonDied",
    "Delta",
    "RequestFailed",
    "RequestTimeout",
    "StartFailed",
    "SyncChat",
    "SyncClient",
    "default_command",
]
