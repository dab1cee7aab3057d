"""The method table: every method that a client may call, with its params and its handler."""

from __future__ import annotations

from collections.abc import Mapping

from lsprotocol import types as lsp

from jumpseat.connections.method import Method
from jumpseat.rpc import conversation_params, params
from jumpseat.rpc.handlers import (
    auth,
    chat,
    complete,
    configuration,
    context,
    conversations,
    edit,
    keys,
    lifecycle,
    models,
    prompts,
    providers,
    settings,
    tokens,
    tool_run,
    tools,
    transcript,
    transcript_check,
)

_ROWS = (
    Method(lsp.INITIALIZE, lifecycle.initialize, params.InitializeParams, lifecycle=True),
    Method(lsp.INITIALIZED, lifecycle.report_faults, kind="notification", lifecycle=True),
    Method(lsp.SHUTDOWN, lifecycle.shutdown, admit=lifecycle.mark_shutting_down, lifecycle=True),
    Method(lsp.EXIT, lifecycle.exit_, kind="notification", lifecycle=True),
    Method(
        lsp.CANCEL_REQUEST,
        lifecycle.cancel_request,
        params.CancelParams,
        kind="notification",
        lifecycle=True,
    ),
    Method(
        configuration.DID_CHANGE,
        configuration.did_change_configuration,
        params.DidChangeConfigurationParams,
        kind="notification",
        changes=True,
        lifecycle=True,
    ),
    Method("chat/start", chat.chat_start, params.ChatStartParams, admit=chat.reserve_turn),
    Method("chat/cancel", chat.chat_cancel, params.ChatCancelParams),
    Method("edit/start", edit.edit_start, params.EditStartParams, admit=chat.reserve_turn),
    Method("complete/start", complete.complete_start, params.CompleteStartParams),
    Method("chat/countTokens", tokens.chat_count_tokens, params.CountTokensParams),
    Method("tools/list", tools.tools_list, params.ToolsListParams),
    Method("tools/run", tool_run.tools_run, params.ToolsRunParams, admit=chat.reserve_id),
    Method("tools/decide", tools.tools_decide, params.ToolsDecideParams),
    Method("mcp/restart", tools.mcp_restart, params.McpRestartParams),
    Method("mcp/trust", tools.mcp_trust, params.McpTrustParams, changes=True),
    Method("models/list", models.models_list, params.ModelsListParams),
    Method("models/setPolicy", models.models_set_policy, params.SetPolicyParams),
    Method("providers/list", providers.providers_list, params.ProvidersListParams),
    Method("providers/diagnose", providers.providers_diagnose, params.ProvidersDiagnoseParams),
    Method("providers/templates", providers.providers_templates),
    Method("providers/add", providers.providers_add, params.ProvidersAddParams),
    Method("settings/schema", settings.settings_schema, params.SettingsSchemaParams),
    Method("settings/get", settings.settings_get),
    Method("settings/save", settings.settings_save, params.SettingsSaveParams, changes=True),
    Method("keys/set", keys.keys_set, params.KeysSetParams),
    Method("keys/remove", keys.keys_remove, params.KeysRemoveParams),
    Method("prompts/list", prompts.prompts_list),
    Method("prompts/get", prompts.prompts_get, params.PromptsGetParams),
    Method("context/fetch", context.context_fetch, params.ContextFetchParams),
    Method("transcript/parse", transcript.transcript_parse, params.TranscriptParams),
    Method("transcript/check", transcript_check.transcript_check, params.TranscriptParams),
    Method("transcript/render", transcript.transcript_render, params.TranscriptRenderParams),
    Method(
        "conversations/list", conversations.conversations_list, conversation_params.ConversationsListParams
    ),
    Method("conversations/get", conversations.conversations_get, conversation_params.ConversationParams),
    Method(
        "conversations/fork", conversations.conversations_fork, conversation_params.ConversationForkParams
    ),
    Method(
        "conversations/rename",
        conversations.conversations_rename,
        conversation_params.ConversationRenameParams,
    ),
    Method(
        "conversations/delete", conversations.conversations_delete, conversation_params.ConversationParams
    ),
    Method(
        "conversations/suggestTitle",
        conversations.conversations_suggest_title,
        conversation_params.SuggestTitleParams,
    ),
    Method("auth/status", auth.auth_status, params.AuthStatusParams),
    Method("auth/signIn", auth.sign_in, params.SignInParams),
    Method("auth/signOut", auth.sign_out, params.SignOutParams, changes=True),
)

METHODS: Mapping[str, Method] = {method.name: method for method in _ROWS}

NOTIFICATIONS_SENT = (
    "chat/delta",
    "$/progress",
    "models/didChange",
    "providers/didChange",
    settings.DID_CHANGE,
    prompts.DID_CHANGE,
    tools.DID_CHANGE,
    conversations.DID_CHANGE,
    configuration.SHOW_MESSAGE,
    "auth/prompt",
    "auth/didChange",
)
"""The notifications that the daemon sends."""

REQUESTS_SENT = ("window/showDocument", "workspace/unsaved", "workspace/applyEdit")
"""The requests that the daemon sends if the client has enabled them."""
