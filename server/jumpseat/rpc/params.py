"""The params of each method as pydantic models. The pages in `docs/protocol/` describe the shapes.

Unknown keys are ignored; unknown discriminator values are errors.
"""

# Do not add `from __future__ import annotations`: pydantic would have to compile the text of each annotation.
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from jumpseat.chat import ThinkingLevel
from jumpseat.chat.transcript import Format
from jumpseat.connections.param_model import JsonObject, Params
from jumpseat.rpc.message_params import ContextParam, Conversation, ReferenceParam


class ToolParam(Params):
    """A tool's definition."""

    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)


class NamedToolParam(Params):
    """A tool choice that forces one tool."""

    name: Annotated[str, Field(min_length=1)]


class SchemaOutputParam(Params):
    """An output mode with a schema."""

    schema_: Annotated[JsonObject, Field(alias="schema")]


class StreamParams(Params):
    """The params shared by the methods that send deltas to the client."""

    stream: bool = True
    turn_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    conversation_id: str | None = None
    workspace_folders: list[str] | None = None
    work_done_token: str | int | None = None
    """LSP's token for `$/progress`, which reports the waits before the model can answer."""


class TurnParams(StreamParams):
    """The params that all turns share."""

    # pydantic collects unknown keys so that `unknown_keys` can warn about them.
    model_config = ConfigDict(extra="allow")

    system: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    tools: list[ToolParam] = Field(default_factory=list)
    tool_choice: Literal["auto", "none", "required"] | NamedToolParam = "auto"
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    max_tokens_default: Literal["model"] | None = None
    stop_sequences: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    output_mode: Literal["text", "json"] | SchemaOutputParam = "text"
    thinking: ThinkingLevel | None = None
    settings: JsonObject = Field(default_factory=dict)
    keep: bool = False
    initiator: Literal["user", "agent"] | None = None
    workspace_rules: bool = False
    daemon_tools: list[str] = Field(default_factory=list)
    max_rounds: Annotated[int, Field(ge=1)] | None = None


class ChatStartParams(TurnParams):
    """`chat/start`."""

    messages: Annotated[Conversation, Field(min_length=1)]
    transcript: bool | Format = False
    """Whether deltas also have text to append to a transcript, and in which format; `True` means Markdown."""


class EditStartParams(TurnParams):
    """`edit/start`."""

    instruction: Annotated[str, Field(min_length=1)]
    target: ContextParam
    context: list[ReferenceParam] = Field(default_factory=list)


class CompleteStartParams(Params):
    """`complete/start`."""

    prefix: str
    suffix: str = ""
    model: Annotated[str, Field(min_length=1)] | None = None
    extent: Literal["line", "block"] = "block"
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    stop_sequences: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    language_id: str | None = None
    uri: str | None = None


class TranscriptParams(Params):
    """`transcript/parse` and `transcript/check`."""

    text: str = ""
    format: Format = "markdown"
    line: Annotated[int, Field(ge=0)] | None = None


class TranscriptRenderParams(Params):
    """`transcript/render`."""

    messages: Conversation = Field(default_factory=list)
    system: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    daemon_tools: list[str] = Field(default_factory=list)
    settings: JsonObject = Field(default_factory=dict)
    conversation_id: Annotated[str, Field(min_length=1)] | None = None
    trim_answers: bool = False
    format: Format = "markdown"
    level: Annotated[int, Field(ge=1, le=10_000)] = 1


class PromptsGetParams(Params):
    """`prompts/get`."""

    name: str
    input: str = ""
    context: list[ContextParam] = Field(default_factory=list)
    model: Annotated[str, Field(min_length=1)] | None = None
    default_model: Annotated[str, Field(min_length=1)] | None = None


class ContextFetchParams(Params):
    """`context/fetch`."""

    url: Annotated[str, Field(min_length=1)]


class ProvidersAddParams(Params):
    """`providers/add`."""

    id: Annotated[str, Field(min_length=1)]
    kind: Annotated[str, Field(min_length=1)]
    values: dict[str, str] = Field(default_factory=dict)


class KeysSetParams(Params):
    """`keys/set`. The key is left out of the `repr`, which a log or a traceback could contain."""

    provider: Annotated[str, Field(min_length=1)]
    key: Annotated[str, Field(min_length=1, repr=False)]
    test: bool = True


class KeysRemoveParams(Params):
    """`keys/remove`."""

    provider: Annotated[str, Field(min_length=1)]


class ChatCancelParams(Params):
    """`chat/cancel`."""

    turn_id: str


class ToolsDecideParams(Params):
    """`tools/decide`."""

    turn_id: str
    tool_use_id: str
    decision: Literal["allow", "deny"]
    remember: Literal["turn", "conversation", "always"] | None = None
    scope: Literal["tool", "server"] = "tool"
    message: str | None = None


class ToolsRunParams(StreamParams):
    """`tools/run`."""

    server: Annotated[str, Field(min_length=1)]
    tool: Annotated[str, Field(pattern="^[^*]+$")]
    arguments: JsonObject = Field(default_factory=dict)


class ToolsListParams(Params):
    """`tools/list`."""

    refresh: bool = False


class McpRestartParams(Params):
    """`mcp/restart`."""

    server: str


class McpTrustParams(Params):
    """`mcp/trust`."""

    server: str
    fingerprint: str
    trusted: bool


class CountTokensParams(ChatStartParams):
    """`chat/countTokens`, with the params of the chat whose tokens to count."""

    allow_estimate: bool = True


class ModelsListParams(Params):
    """`models/list`."""

    provider: str | None = None
    refresh: bool = False


class SetPolicyParams(Params):
    """`models/setPolicy`."""

    model: Annotated[str, Field(min_length=1)]
    state: Literal["enabled"]


class ProvidersListParams(Params):
    """`providers/list`."""

    probe: bool = False


class ProvidersDiagnoseParams(Params):
    """`providers/diagnose`."""

    provider: str


class AuthStatusParams(Params):
    """`auth/status`."""

    provider: str | None = None
    refresh: bool = False


class SignInParams(Params):
    """`auth/signIn`."""

    provider: str | None = None
    token: str | int | None = None
    """The client's correlation id, not a credential."""

    open_browser: bool = False


class SignOutParams(Params):
    """`auth/signOut`."""

    provider: str | None = None


class SettingsSchemaParams(Params):
    """`settings/schema`."""

    model: Annotated[str, Field(min_length=1)] | None = None


class SettingsSaveParams(Params):
    """`settings/save`. Within `settings`, null deletes a value."""

    settings: JsonObject = Field(default_factory=dict)


class ClientInfoParam(Params):
    """The `clientInfo` of LSP."""

    name: str
    version: str | None = None


class InitializationOptions(Params):
    """The keys of `initializationOptions` that jumpseat reads."""

    config: JsonObject = Field(default_factory=dict)
    protocol_versions: list[int] = Field(default_factory=list)
    coalesce_ms: Annotated[int, Field(ge=0, le=10_000)] = 0
    commands: dict[str, str | None] = Field(default_factory=dict)
    """Maps tasks, such as `signIn`, to the client's commands, as the user would type them."""


class InitializeParams(Params):
    """The keys of LSP's `InitializeParams` that jumpseat reads."""

    process_id: Annotated[int, Field(ge=0, lt=1 << 32)] | None = None
    client_info: ClientInfoParam | None = None
    initialization_options: InitializationOptions = Field(default_factory=InitializationOptions)
    capabilities: JsonObject = Field(default_factory=dict)
    # Any shape is accepted, and folders that cannot be read are left out.
    workspace_folders: Any = None
    root_uri: Any = None


class DidChangeConfigurationParams(Params):
    """`workspace/didChangeConfiguration`. Of the client's `settings`, only the key `jumpseat` is read."""

    settings: JsonObject = Field(default_factory=dict)


class CancelParams(Params):
    """`$/cancelRequest`."""

    id: int | str
