"""The public names, compared with a list, so that adding or removing one is a deliberate decision."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

import jumpseat.adapters.base
import jumpseat.adapters.http.hooks
import jumpseat.chat
import jumpseat.config
import jumpseat.dialects
import jumpseat.engine
import jumpseat.http
import jumpseat.providers
import jumpseat.testing
import jumpseat.tools.server
import jumpseat.wire
import jumpseat_client
from tests.unit.pages import CLIENT as CLIENT_PAGE
from tests.unit.pages import names_in, table

CHAT = """
BLOCK_CLASSES BLOCK_EVENTS DEFAULT_MAX_TOKENS THINKING_ROOM ApprovalReason AuthenticationError
AuthorizationError Billing BlockDoneEvent ChatCancelled ChatError ChatRequest Check CitationEvent
ConfigError ConnectionError ContentBlock ContentFilterError ContextBlock ContextExceededError Cost
DocumentBlock DoneEvent FileDiff Fold ImageBlock Infill InfillUnsupportedError Initiator InvalidRequestError
JsonSchemaOutput Message ModelInfo NamedTool Origin OtherBlock OutputMode PolicyState Position Problem
ProgressEvent ProtocolError QuotaExceededError Range RateLimitError RedactedThinkingBlock Remember
RequestError Response ResponseEvent ResultPart RetryEvent Role ServerError StartEvent StopReason
StreamEvent TextBlock TextDeltaEvent TextDoneEvent TextStartEvent ThinkingBlock ThinkingDeltaEvent
ThinkingDoneEvent ThinkingLevel ThinkingStartEvent ToolApprovalEvent ToolChoice ToolDefinition ToolKind
ToolResultBlock ToolStatus ToolStatusEvent ToolUseBlock ToolUseDeltaEvent ToolUseDoneEvent
ToolUseStartEvent UnknownModelError Usage UsageEvent WarningEvent add_usage as_tool_definitions
merge_deltas
"""

ADAPTERS_BASE = """
Account Adapter AuthMethod AuthState AuthStatus CachesModels Capabilities CapabilitySource
ChangesCapabilities ChatModel ChatTraits ChecksHosts ChecksSetup ClientInfo EditsInline Environment
IdentifiesClient
OnAuthChange OnDelta OnPrompt ProviderConfig Quota Replan Secret SettingRow SignInPrompt Values
environment_of_process events_of read_options resolve
"""

ADAPTERS_HTTP_HOOKS = "HttpAdapter Outcome"

DIALECTS = """
BlockAssembler Decoder ProviderFault clean_message error_from_fault parse_arguments read_fault render_context
"""

HTTP = """
EventStreamDecoder HttpAnswer HttpCall HttpClient JsonLinesDecoder Refine ServerSentEvent error_from_exception
error_from_response fetch get_json host_of is_loopback stream_events
"""

TESTING = """
AdapterContract Answer AnthropicMessagesScript ChatCompletionsScript FakeUpstream Gate OllamaChatScript
RecordedRequest Recording Reply ResponsesScript Script Stage ThreadedUpstream ToolServerContract assert_laws
assert_response assert_usage load_recordings
"""

TOOL_SERVERS = """
CallContext Preview ServerStatus ServerUnavailableError Tool ToolCall ToolError ToolOutput ToolServer
"""

PUBLIC = {
    jumpseat.chat: CHAT,
    jumpseat.adapters.base: ADAPTERS_BASE,
    jumpseat.adapters.http.hooks: ADAPTERS_HTTP_HOOKS,
    jumpseat.dialects: DIALECTS,
    jumpseat.http: HTTP,
    jumpseat.testing: TESTING,
    jumpseat.tools.server: TOOL_SERVERS,
}
"""The modules that plug-ins may import, with the names that they may import."""

PAGE = Path(__file__).parents[2] / "docs" / "plugins.md"

CLIENT = """
ChatFailed ChatResult ChatStream Client ClientError DaemonDied Delta RequestFailed RequestTimeout StartFailed
SyncChat SyncClient ToolApproval ToolDecision ToolStatus default_command
"""


def test_the_client_library_offers_exactly_these_names() -> None:
    assert list(jumpseat_client.__all__) == CLIENT.split()


def test_the_page_of_the_client_library_lists_the_same_names() -> None:
    rows = table(CLIENT_PAGE, "public name of `jumpseat_client`")

    assert sorted(names_in(rows)) == sorted(CLIENT.split())


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_a_public_module_offers_exactly_these_names(module: ModuleType) -> None:
    assert list(module.__all__) == PUBLIC[module].split()


@pytest.mark.parametrize("module", PUBLIC, ids=lambda module: module.__name__)
def test_the_page_for_authors_of_plug_ins_lists_the_same_names(module: ModuleType) -> None:
    rows = [
        line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(f"| `{module.__name__}` |")
    ]

    assert len(rows) == 1
    assert re.findall(r"`(\w+)`", rows[0].split("|")[2]) == PUBLIC[module].split()


@pytest.mark.parametrize(
    "module",
    [
        jumpseat.chat,
        jumpseat.config,
        jumpseat.wire,
        jumpseat.dialects,
        jumpseat.http,
        jumpseat.providers,
        jumpseat.engine,
        jumpseat.adapters.base,
        jumpseat.testing,
        jumpseat.tools.server,
        jumpseat_client,
    ],
    ids=lambda module: module.__name__,
)
def test_exported_names_exist_once_and_in_order(module: ModuleType) -> None:
    names: list[str] = list(getattr(module, "__all__", []))

    # Constants, then classes, then functions, each in alphabetical order, as isort and ruff sort them.
    assert names == sorted(set(names), key=lambda name: (not name.isupper(), not name[0].isupper(), name))
    assert [name for name in names if not hasattr(module, name)] == []


def test_a_public_class_has_a_docstring() -> None:
    silent = [
        f"{module.__name__}.{name}"
        for module, names in PUBLIC.items()
        for name in names.split()
        if inspect.isclass(cls := getattr(module, name)) and not cls.__doc__
    ]

    assert silent == []
