"""Handles `initialize` and `$/cancel_request`."""

from __future__ import annotations

from typing import Any

import jumpseat
from jumpseat.acp.client import AcpClient, ClientAbilities
from jumpseat.acp.commands import announce_commands
from jumpseat.acp.handlers.auth import encode_auth_methods
from jumpseat.acp.models import any_model_accepts_images
from jumpseat.acp.options import announce_options
from jumpseat.acp.params import CancelRequestParams, HandshakeParams
from jumpseat.adapters.base import ClientInfo
from jumpseat.config import Config
from jumpseat.connections.configuration import (
    ConfigurationListener,
    create_watcher,
    follow_configuration,
    list_faults,
    open_registry,
)
from jumpseat.connections.faults import RpcFault
from jumpseat.connections.method import MethodCall
from jumpseat.providers import Change, ModelsChanged
from jumpseat.wire import INVALID_REQUEST

PROTOCOL_VERSION = 1


def configure(client: AcpClient, call: MethodCall[HandshakeParams]) -> None:
    """Read the configuration, and follow its changes.

    This runs before the next message is handled, because clients may send messages without waiting for the
    response.

    Raises:
        RpcFault: the connection is already initialized.
        ConfigError: see `load_config`.
    """
    if client.initialized:
        raise RpcFault(INVALID_REQUEST, "The connection is already initialized.")
    params, info = call.params, call.params.client_info
    # Create the watcher before the file is read so that no change is missed.
    watcher = create_watcher(client)
    open_registry(client, None, None if info is None else ClientInfo(info.name, info.version))
    client.abilities = ClientAbilities.from_wire(params.client_capabilities)
    client.initialized = True
    follow_configuration(client, watcher, _make_listener(client))
    # Changes to the saved settings or to a list of models may change the config options.
    client.registry.saved.on_change(lambda: _announce_all_options(client))
    client.registry.subscribe(lambda change: _announce_models(client, change))


async def initialize(client: AcpClient, call: MethodCall[HandshakeParams]) -> dict[str, Any]:
    """Respond with the abilities of this agent."""
    session: dict[str, Any] = {"resume": {}, "list": {}, "delete": {}} if client.keeps else {}
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "agentInfo": {"name": "jumpseat", "title": "jumpseat", "version": jumpseat.__version__},
        "agentCapabilities": {
            "loadSession": client.keeps,
            "promptCapabilities": {
                "image": await any_model_accepts_images(client.registry),
                "audio": False,
                "embeddedContext": True,
            },
            "mcpCapabilities": {"http": True, "sse": False},
            "sessionCapabilities": {**session, "close": {}, "additionalDirectories": {}},
            "auth": {"logout": {}},
        },
        "authMethods": encode_auth_methods(client),
    }


def cancel_request(client: AcpClient, call: MethodCall[CancelRequestParams]) -> None:
    """Cancel a request, unless it is unknown or finished."""
    for conversation in client.open_conversations.values():
        if conversation.turn is not None and conversation.turn.request_id == call.params.request_id:
            client.cancel_prompt(conversation)
            return
    client.cancel(call.params.request_id)


def _make_listener(client: AcpClient) -> ConfigurationListener:
    def on_change(before: Config) -> None:
        if client.registry.config.offered_prompts != before.offered_prompts:
            for conversation in client.open_conversations.values():
                announce_commands(client, conversation)
        for fault in list_faults(client.registry.config, before):
            on_fault(fault)
        _announce_all_options(client)

    def on_fault(message: str) -> None:
        for conversation in client.open_conversations.values():
            client.notify(conversation.id, "error", message)

    return ConfigurationListener(on_fault, on_change)


def _announce_models(client: AcpClient, change: Change) -> None:
    if isinstance(change, ModelsChanged):
        _announce_all_options(client)


def _announce_all_options(client: AcpClient) -> None:
    async def announce() -> None:
        for conversation in list(client.open_conversations.values()):
            await announce_options(client, conversation)

    if client.open_conversations:
        client.run_in_background("announcing options", announce)
