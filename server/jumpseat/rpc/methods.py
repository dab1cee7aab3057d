"""The method table: every method that a client may call, with its params and its handler.

`docs/protocol.md` is checked against it, and `initialize` answers from it.
"""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types as lsp

from jumpseat.rpc import params
from jumpseat.rpc.handlers import chat, lifecycle, models, providers
from jumpseat.rpc.method import Method

_ROWS = (
    Method(lsp.INITIALIZE, lifecycle.initialize, params.InitializeParams, lifecycle=True),
    Method(lsp.INITIALIZED, lifecycle.initialized, kind="notification", lifecycle=True),
    Method(lsp.SHUTDOWN, lifecycle.shutdown, admit=lifecycle.mark_shutting_down, lifecycle=True),
    Method(lsp.EXIT, lifecycle.exit_, kind="notification", lifecycle=True),
    Method(
        lsp.CANCEL_REQUEST,
        lifecycle.cancel_request,
        params.CancelParams,
        kind="notification",
        lifecycle=True,
    ),
    Method("chat/start", chat.chat_start, params.ChatStartParams, admit=chat.reserve_turn),
    Method("chat/cancel", chat.chat_cancel, params.ChatCancelParams),
    Method("models/list", models.models_list, params.ModelsListParams),
    Method("providers/list", providers.providers_list, params.ProvidersListParams),
    Method("auth/status", providers.auth_status, params.AuthStatusParams),
)

METHODS: Mapping[str, Method] = {method.name: method for method in _ROWS}

NOTIFICATIONS_SENT = ("chat/delta", "$/progress")
"""What the daemon sends of itself."""
