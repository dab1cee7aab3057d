"""A daemon session for one command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jumpseat_client.client import Client
from jumpseat_client.connection import OnNotification, OnRequest

if TYPE_CHECKING:
    from jumpseat_client.tools import OnApproval

CLIENT_NAME = "jumpseat-cli"


def daemon(
    command: Sequence[str],
    *,
    config: Mapping[str, Any] | None = None,
    on_notification: OnNotification | None = None,
    on_request: OnRequest | None = None,
    on_approval: OnApproval | None = None,
) -> Client:
    """Return a client that reaches the daemon by running `command`; the options are as in `Client.spawn`."""
    return Client.spawn(
        command,
        config=config,
        client_name=CLIENT_NAME,
        workspace_folders=_find_workspace(),
        on_notification=on_notification,
        on_request=on_request,
        on_approval=on_approval,
    )


def _find_workspace() -> Sequence[Path]:
    """Return the working directory, where the workspace's MCP servers run; nothing if it was removed."""
    try:
        return [Path.cwd()]
    except OSError:
        return []
