"""A Python client for the jumpseat daemon.

    async with Client.spawn() as client:
        async for delta in client.chat("Why is the sky blue?"):
            print(delta.text, end="", flush=True)

`SyncClient` is the same for programs without asyncio. Guide: `docs/client.md`.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    from jumpseat_client.tools import ToolApproval, ToolDecision, ToolStatus

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
    "ToolApproval",
    "ToolDecision",
    "ToolStatus",
    "default_command",
]

_MODULES = {
    "client": ("Client", "default_command"),
    "results": ("ChatResult", "Delta"),
    "stream": ("ChatStream",),
    "sync": ("SyncChat", "SyncClient"),
    "tools": ("ToolApproval", "ToolDecision", "ToolStatus"),
}
"""The names that each module defines; all other names are in `errors`.

A module is imported only when one of its names is first used, because importing all of them is slow.
"""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = next((module for module, names in _MODULES.items() if name in names), "errors")
    value = globals()[name] = getattr(import_module(f"{__name__}.{module}"), name)
    return value
