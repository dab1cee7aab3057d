"""The params of each method as pydantic models. Shapes: the protocol page.

Unknown keys are ignored; unknown discriminator values are errors.
"""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
import re
from functools import cache
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from jumpseat.chat.json_form import camel

JsonObject = dict[str, Any]


class Params(BaseModel):
    """The base of all params."""

    model_config = ConfigDict(alias_generator=camel, strict=True, extra="ignore", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _absent_null_and_empty_are_one(cls, data: Any) -> Any:
        # Lua and Emacs Lisp cannot distinguish absent, null and an empty object, and Lua encodes an empty
        # object as `[]`.
        if data is None or data == []:
            return {}
        # The usual case for the messages and blocks of a long history.
        if not isinstance(data, dict) or all(data.values()):
            return data
        objects = _object_keys(cls)
        return {
            key: value
            for key, value in data.items()
            if value is not None and value != {} and not (value == [] and key in objects)
        }


@cache
def _object_keys(cls: type[Params]) -> frozenset[str]:
    """The keys whose value is an object."""
    return frozenset(
        field.alias or name for name, field in cls.model_fields.items() if _is_object(field.annotation)
    )


def _is_object(annotation: Any) -> bool:
    kinds = [get_origin(part) or part for part in (annotation, *get_args(annotation))]
    return list not in kinds and any(
        kind is dict or (isinstance(kind, type) and issubclass(kind, BaseModel)) for kind in kinds
    )


class OriginParam(Params):
    """The provider and the model that produced a block."""

    provider: str
    model: str


class BlockParam(Params):
    """Keys that every block may have."""

    origin: OriginParam | None = None
    opaque: str | None = None


class TextParam(BlockParam):
    """A text block."""

    type: Literal["text"]
    text: str


_IMAGE_DATA_URL = re.compile(r"data:image/[\w.+-]+(;[\w=.+-]+)*;base64,[A-Za-z0-9+/=\s]+\Z")
_BASE64 = re.compile(r"[A-Za-z0-9+/\s]+={0,2}\s*")


class ImageParam(BlockParam):
    """An image block."""

    type: Literal["image"]
    source: Annotated[str, Field(min_length=1)]
    media_type: str | None = None

    @model_validator(mode="after")
    def _the_source_is_an_image(self) -> Self:
        if self.source.startswith("https://") or _IMAGE_DATA_URL.match(self.source):
            return self
        if not _BASE64.fullmatch(self.source):
            raise ValueError("source must be base64, a data: URL of an image, or an https: URL")
        if self.media_type is None or not self.media_type.startswith("image/"):
            raise ValueError("mediaType must name an image type where source is bare base64")
        return self


class PositionParam(Params):
    """An LSP position."""

    line: Annotated[int, Field(ge=0)]
    character: Annotated[int, Field(ge=0)]


class RangeParam(Params):
    """An LSP range."""

    start: PositionParam
    end: PositionParam


class ContextParam(BlockParam):
    """A piece of a file or a selection."""

    type: Literal["context"]
    text: str
    uri: str | None = None
    language_id: str | None = None
    range: RangeParam | None = None
    label: str | None = None


class ToolUseParam(BlockParam):
    """A tool call as the daemon sent it."""

    type: Literal["tool_use"]
    id: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)]
    arguments: JsonObject | None = None
    raw: str | None = None
    error: str | None = None


class ToolResultParam(BlockParam):
    """The result of a tool."""

    type: Literal["tool_result"]
    tool_use_id: Annotated[str, Field(min_length=1)]
    content: str | list[TextParam] = ""
    is_error: bool = False


class ThinkingParam(BlockParam):
    """A thinking block."""

    type: Literal["thinking"]
    thinking: str = ""
    signature: str | None = None


class RedactedThinkingParam(BlockParam):
    """Encrypted reasoning."""

    type: Literal["redacted_thinking"]
    data: str


class OtherParam(BlockParam):
    """A block whose type jumpseat does not know."""

    type: Literal["other"]
    kind: str
    text: str | None = None


BlockOfAMessage = Annotated[
    TextParam
    | ImageParam
    | ContextParam
    | ToolUseParam
    | ToolResultParam
    | ThinkingParam
    | RedactedThinkingParam
    | OtherParam,
    Field(discriminator="type"),
]


class MessageParam(Params):
    """One message; a string stands for one text block."""

    role: Literal["user", "assistant"]
    content: Annotated[
        list[BlockOfAMessage],
        BeforeValidator(lambda value: [{"type": "text", "text": value}] if isinstance(value, str) else value),
    ]


class ToolParam(Params):
    """A tool's definition."""

    name: Annotated[str, Field(min_length=1)]
    description: str = ""
    parameters: JsonObject = Field(default_factory=dict)


class NamedToolParam(Params):
    """The one tool that must be called."""

    name: Annotated[str, Field(min_length=1)]


class SchemaOutputParam(Params):
    """An output mode with a schema."""

    schema_: Annotated[JsonObject, Field(alias="schema")]


class TurnParams(Params):
    """Params of every turn."""

    # Unknown keys are kept apart, for the warnings of `unknown_keys`.
    model_config = ConfigDict(extra="allow")

    system: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    tools: list[ToolParam] = Field(default_factory=list)
    tool_choice: Literal["auto", "none", "required"] | NamedToolParam = "auto"
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    stop_sequences: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    stream: bool = True
    output_mode: Literal["text", "json"] | SchemaOutputParam = "text"
    thinking: Literal["off", "low", "medium", "high"] | None = None
    settings: JsonObject = Field(default_factory=dict)
    turn_id: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    conversation_id: str | None = None
    keep: bool = False
    initiator: Literal["user", "agent"] | None = None
    work_done_token: str | int | None = None
    """LSP's token for `$/progress`, which reports waits other than for the model."""


class ChatStartParams(TurnParams):
    """`chat/start`."""

    messages: Annotated[list[MessageParam], Field(min_length=1)]


class EditStartParams(TurnParams):
    """`edit/start`."""

    instruction: Annotated[str, Field(min_length=1)]
    target: ContextParam


class TranscriptParseParams(Params):
    """`transcript/parse`."""

    text: str = ""


class TranscriptRenderParams(Params):
    """`transcript/render`."""

    messages: list[MessageParam] = Field(default_factory=list)
    system: str | None = None
    model: Annotated[str, Field(min_length=1)] | None = None
    settings: JsonObject = Field(default_factory=dict)


class ChatCancelParams(Params):
    """`chat/cancel`."""

    turn_id: str


class CountTokensParams(ChatStartParams):
    """`chat/countTokens`: a chat that is not started."""

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


class AuthStatusParams(Params):
    """`auth/status`."""

    provider: str | None = None
    refresh: bool = False


class SignInParams(Params):
    """`auth/signIn`."""

    provider: str | None = None
    token: str | int | None = None
    """The client's own correlation id: not a credential."""

    open_browser: bool = False


class SignOutParams(Params):
    """`auth/signOut`."""

    provider: str | None = None


class SettingsSaveParams(Params):
    """`settings/save`. Within `settings`, null deletes a value."""

    settings: JsonObject = Field(default_factory=dict)


class ClientInfoParam(Params):
    """LSP's `clientInfo`."""

    name: str
    version: str | None = None


class InitializationOptions(Params):
    """The keys of `initializationOptions` that jumpseat reads."""

    config: JsonObject = Field(default_factory=dict)
    protocol_versions: list[int] = Field(default_factory=list)
    coalesce_ms: Annotated[int, Field(ge=0, le=10_000)] = 0


class InitializeParams(Params):
    """The keys of LSP's `InitializeParams` that jumpseat reads."""

    process_id: Annotated[int, Field(ge=0, lt=1 << 32)] | None = None
    client_info: ClientInfoParam | None = None
    initialization_options: InitializationOptions = Field(default_factory=InitializationOptions)
    capabilities: JsonObject = Field(default_factory=dict)
    # Only for the working directory of kept conversations: a wrong shape refuses no client.
    workspace_folders: Any = None
    root_uri: Any = None


class DidChangeConfigurationParams(Params):
    """LSP's: `settings` belongs to the client; jumpseat reads its key `jumpseat`."""

    settings: JsonObject = Field(default_factory=dict)


class CancelParams(Params):
    """`$/cancelRequest`."""

    id: int | str


class NoParams(Params):
    """Methods without params; any are ignored."""
