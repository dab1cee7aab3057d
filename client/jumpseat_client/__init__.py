"""An async Python client of the jumpseat daemon.

    async with Client.spawn() as client:
        async for delta in client.chat("Why is the sky blue?"):
            print(delta.text, end="", flush=True)

Of the server it uses only the frames and the JSON-RPC peer (`jumpseat.wire`).
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
    "default_command",
]
