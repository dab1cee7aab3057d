"""The methods of the Agent Client Protocol, and the framing of its messages."""

from __future__ import annotations

from collections.abc import Mapping

from jumpseat.acp import params
from jumpseat.acp.client import AcpClient
from jumpseat.acp.handlers import auth, conversations, lifecycle, prompt
from jumpseat.connections.contract import Contract
from jumpseat.connections.method import Method
from jumpseat.wire import INVALID_REQUEST, LineReader, encode_line

_ROWS = (
    Method(
        "initialize", lifecycle.initialize, params.HandshakeParams, admit=lifecycle.configure, changes=True
    ),
    Method(
        "$/cancel_request",
        lifecycle.cancel_request,
        params.CancelRequestParams,
        kind="notification",
        lifecycle=True,
    ),
    Method("authenticate", auth.authenticate, params.AuthenticateParams),
    Method("logout", auth.logout),
    Method("session/new", conversations.new_session, params.SetupParams),
    Method("session/load", conversations.load_session, params.OpenParams),
    Method("session/resume", conversations.resume_session, params.OpenParams),
    Method("session/list", conversations.list_sessions, params.ListParams),
    Method("session/delete", conversations.delete_session, params.ConversationIdParams),
    Method("session/close", conversations.close_session, params.ConversationIdParams),
    Method(
        "session/set_config_option",
        conversations.set_config_option,
        params.OptionParams,
        changes=True,
    ),
    Method("session/prompt", prompt.prompt, params.PromptParams, admit=prompt.reserve_prompt),
    Method("session/cancel", prompt.cancel, params.ConversationIdParams, kind="notification"),
)

ACP_METHODS: Mapping[str, Method] = {method.name: method for method in _ROWS}

CONTRACT = Contract(
    methods=ACP_METHODS,
    first_method="initialize",
    last_method=None,
    uninitialized_code=INVALID_REQUEST,
    new_reader=LineReader,
    frame=encode_line,
    new_session=AcpClient,
    ends_with_input=True,
)
