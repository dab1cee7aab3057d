"""Handles `initialize` to `exit`, and `$/cancelRequest`. See `docs/protocol/lifecycle.md`."""

from __future__ import annotations

from typing import Any

import jumpseat
from jumpseat.adapters.base import ClientInfo
from jumpseat.chat import BLOCK_CLASSES
from jumpseat.connections.configuration import create_watcher, follow_configuration, open_registry
from jumpseat.connections.faults import RpcFault
from jumpseat.connections.method import MethodCall
from jumpseat.connections.param_model import NoParams
from jumpseat.connections.session import Session
from jumpseat.rpc.handlers.configuration import listener_of, show_faults
from jumpseat.rpc.handlers.conversations import follow_conversations
from jumpseat.rpc.handlers.settings import forward_saved_settings
from jumpseat.rpc.notices import forward_changes
from jumpseat.rpc.params import CancelParams, InitializeParams
from jumpseat.rpc.workspace import find_folders
from jumpseat.wire import INVALID_REQUEST

PROTOCOL_VERSION = 1

DELTA_TYPES = (
    "start",
    "retry",
    "response",
    "warning",
    "text_start",
    "text_delta",
    "text_done",
    "thinking_start",
    "thinking_delta",
    "thinking_done",
    "tool_use_start",
    "tool_use_delta",
    "tool_use_done",
    "block_done",
    "tool_approval",
    "tool_status",
    "citation",
    "usage",
    "done",
)

CANCEL_AT_SHUTDOWN_SECONDS = 1.0
"""The maximum time that `shutdown` waits for cancelled turns, which only have to close a socket."""


def initialize(session: Session, call: MethodCall[InitializeParams]) -> dict[str, Any]:
    """Read the configuration and respond with the daemon's capabilities.

    After an error, such as a faulty configuration, the client may send `initialize` again.
    """
    if session.initialized:
        raise RpcFault(INVALID_REQUEST, "The connection is already initialized.")
    params = call.params
    options = params.initialization_options
    versions = options.protocol_versions
    if versions and PROTOCOL_VERSION not in versions:
        raise RpcFault(
            INVALID_REQUEST,
            f"This daemon speaks protocol version {PROTOCOL_VERSION}, not {', '.join(map(str, versions))}.",
        )
    # Create the watcher before the file is read so that no change is missed.
    watcher = create_watcher(session)
    info = params.client_info
    open_registry(session, options.config, None if info is None else ClientInfo(info.name, info.version))
    # Nothing below may fail: a failed `initialize` must not change the session.
    session.folders = find_folders(params)
    session.capabilities = params.capabilities
    session.coalesce_ms = options.coalesce_ms
    if options.commands:
        session.commands = {key: command for key, command in options.commands.items() if command}
    session.initialized = True
    forward_saved_settings(session)
    follow_configuration(session, watcher, listener_of(session))
    follow_conversations(session)
    forward_changes(session)
    if params.process_id is not None:
        session.watch_parent(params.process_id)
    return {
        "serverInfo": {"name": "jumpseat", "version": jumpseat.__version__},
        "capabilities": {
            "experimental": {
                "jumpseat": {
                    "protocolVersion": PROTOCOL_VERSION,
                    "methods": session.method_names,
                    "deltaTypes": DELTA_TYPES,
                    "blockTypes": [block.type for block in BLOCK_CLASSES],
                }
            }
        },
    }


def report_faults(session: Session, call: MethodCall[NoParams]) -> None:
    """Report the faults in the configuration."""
    # `initialize` is too early, because a client may ignore messages before it has sent `initialized`.
    show_faults(session)


def mark_shutting_down(session: Session, call: MethodCall[NoParams]) -> None:
    """Refuse all further requests."""
    session.shutting_down = True


async def shutdown(session: Session, call: MethodCall[NoParams]) -> None:
    """Cancel the requests in flight and respond after their responses."""
    await session.cancel_others(call.request_id, CANCEL_AT_SHUTDOWN_SECONDS)


def exit_(session: Session, call: MethodCall[NoParams]) -> None:
    """End the connection; the exit code is 0 after `shutdown`, else 1."""
    session.stop()


def cancel_request(session: Session, call: MethodCall[CancelParams]) -> None:
    """Cancel a request, unless it is unknown or finished."""
    session.cancel(call.params.id)
