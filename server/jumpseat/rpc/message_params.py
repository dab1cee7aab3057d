"""Validates the messages in params and converts them to the types of `chat/`.

`docs/protocol/blocks.md` describes the shapes.
"""

# Do not add `from __future__ import annotations`: pydantic would have to compile the text of each annotation.
import re
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, assert_never

from pydantic import (
    BeforeValidator,
    Field,
    ValidationError,
    ValidatorFunctionWrapHandler,
    WrapValidator,
    model_validator,
)

from jumpseat.chat import (
    ContentBlock,
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    OtherBlock,
    Position,
    Range,
    RedactedThinkingBlock,
    ResultPart,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.media import join_parts
from jumpseat.connections.param_model import JsonObject, Params
from jumpseat.wire import read_json, write_json


class OriginParam(Params):
    """The provider and the model that produced a block."""

    provider: str
    model: str


class BlockParam(Params):
    """The keys that every block may have."""

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
    def _check_image_source(self) -> Self:
        if self.source.startswith("https://") or _IMAGE_DATA_URL.match(self.source):
            return self
        if not _BASE64.fullmatch(self.source):
            raise ValueError("source must be base64, a data: URL of an image, or an https: URL")
        if self.media_type is None or not self.media_type.startswith("image/"):
            raise ValueError("mediaType must name an image type if source is bare base64")
        return self


_DATA_URL = re.compile(r"data:[\w.+-]+/[\w.+-]+(;[\w=.+-]+)*;base64,[A-Za-z0-9+/=\s]+\Z")


class DocumentParam(BlockParam):
    """A document block."""

    type: Literal["document"]
    source: Annotated[str, Field(min_length=1)]
    media_type: str | None = None
    name: str | None = None

    @model_validator(mode="after")
    def _check_document_source(self) -> Self:
        if self.source.startswith("https://") or _DATA_URL.match(self.source):
            return self
        if not _BASE64.fullmatch(self.source):
            raise ValueError("source must be base64, a data: URL, or an https: URL")
        if self.media_type is None or "/" not in self.media_type:
            raise ValueError("mediaType must name a type such as application/pdf if source is bare base64")
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
    """A piece of a file, or a selection."""

    type: Literal["context"]
    text: str
    uri: str | None = None
    language_id: str | None = None
    range: RangeParam | None = None
    label: str | None = None


class ToolUseParam(BlockParam):
    """A tool call, as the daemon sent it."""

    type: Literal["tool_use"]
    id: Annotated[str, Field(min_length=1)]
    name: Annotated[str, Field(min_length=1)]
    arguments: JsonObject | None = None
    raw: str | None = None
    error: str | None = None


ResultPartParam = Annotated[TextParam | ImageParam | DocumentParam, Field(discriminator="type")]


class ToolResultParam(BlockParam):
    """The result of a tool."""

    type: Literal["tool_result"]
    tool_use_id: Annotated[str, Field(min_length=1)]
    content: str | list[ResultPartParam] = ""
    is_error: bool | None = None


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
    """A block of a type that jumpseat does not support."""

    type: Literal["other"]
    kind: str
    text: str | None = None


ContentBlockParam = Annotated[
    TextParam
    | ImageParam
    | DocumentParam
    | ContextParam
    | ToolUseParam
    | ToolResultParam
    | ThinkingParam
    | RedactedThinkingParam
    | OtherParam,
    Field(discriminator="type"),
]


ReferenceParam = Annotated[ContextParam | ImageParam | DocumentParam, Field(discriminator="type")]
"""A block that an edit can refer to."""


class MessageParam(Params):
    """One message. Its content may be a string, which stands for one text block."""

    role: Literal["user", "assistant"]
    content: Annotated[
        list[ContentBlockParam],
        BeforeValidator(lambda value: [{"type": "text", "text": value}] if isinstance(value, str) else value),
    ]


VALIDATION_BATCH = 100
"""The number of messages to validate together; messages of plain text do not count."""


def _validate_messages(value: Any, validate: ValidatorFunctionWrapHandler) -> list[Message]:
    """Validate and convert messages.

    Args:
        value: the messages as received.
        validate: validates a list with `MessageParam`, for messages with more than plain text.
    """
    if not isinstance(value, list):
        return [_to_message(param) for param in validate(value)]
    messages = list(map(_to_plain_message, value))
    others = [index for index, message in enumerate(messages) if message is None]
    # Validate the others in batches: all `MessageParam`s of a long history together would need much memory.
    for start in range(0, len(others), VALIDATION_BATCH):
        indices = others[start : start + VALIDATION_BATCH]
        try:
            params = validate([value[index] for index in indices])
        except ValidationError:
            # Validate all messages again, so that the error has the indices of the client's list.
            return list(map(_to_message, validate(value)))
        for index, param in zip(indices, params, strict=True):
            messages[index] = _to_message(param)
    return [message for message in messages if message is not None]


def _to_plain_message(value: Any) -> Message | None:
    """Return the message if it has only a role and text; None if `MessageParam` must validate it."""
    # Most messages of a long history are plain, and pydantic would take five times as long for them.
    if type(value) is not dict or len(value) != 2:
        return None
    role, content = value.get("role"), value.get("content")
    if role not in ("user", "assistant"):
        return None
    if type(content) is str:
        return Message(role, (TextBlock(content),))
    if type(content) is not list:
        return None
    blocks = []
    for block in content:
        if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
            return None
        text = block.get("text")
        if type(text) is not str:
            return None
        blocks.append(TextBlock(text))
    return Message(role, tuple(blocks))


def _to_message(param: MessageParam) -> Message:
    return Message(param.role, tuple(map(to_block, param.content)))


def to_block(param: ContentBlockParam) -> ContentBlock:
    """Return the block that the params describe."""
    origin = Origin(param.origin.provider, param.origin.model) if param.origin else None
    opaque = param.opaque
    match param:
        case TextParam():
            return TextBlock(param.text, origin=origin, opaque=opaque)
        case ImageParam():
            return ImageBlock(param.source, param.media_type, origin=origin, opaque=opaque)
        case DocumentParam():
            return DocumentBlock(param.source, param.media_type, param.name, origin=origin, opaque=opaque)
        case ContextParam():
            return to_context_block(param)
        case ToolUseParam():
            return _to_tool_use(param, origin)
        case ToolResultParam():
            parts = param.content
            content = (
                parts if isinstance(parts, str) else join_parts([_to_result_part(each) for each in parts])
            )
            return ToolResultBlock(param.tool_use_id, content, param.is_error, origin=origin, opaque=opaque)
        case ThinkingParam():
            return ThinkingBlock(param.thinking, param.signature, origin=origin, opaque=opaque)
        case RedactedThinkingParam():
            return RedactedThinkingBlock(param.data, origin=origin, opaque=opaque)
        case OtherParam():
            return OtherBlock(param.kind, param.text, origin=origin, opaque=opaque)
        case _:
            assert_never(param)


def _to_result_part(param: ResultPartParam) -> ResultPart:
    match param:
        case TextParam():
            return TextBlock(param.text)
        case ImageParam():
            return ImageBlock(param.source, param.media_type)
        case DocumentParam():
            return DocumentBlock(param.source, param.media_type, param.name)
        case _:
            assert_never(param)


def to_context_block(param: ContextParam) -> ContextBlock:
    """Return the block that the params describe."""
    return ContextBlock(
        param.text,
        param.uri,
        param.language_id,
        _to_range(param.range) if param.range else None,
        param.label,
        origin=Origin(param.origin.provider, param.origin.model) if param.origin else None,
        opaque=param.opaque,
    )


def _to_tool_use(param: ToolUseParam, origin: Origin | None) -> ToolUseBlock:
    """Return a tool call. If the client sent only one of `raw` and `arguments`, derive the other from it."""
    arguments, raw = param.arguments, param.raw
    written_by_lua = raw is not None and raw.strip() == "[]" and param.error is None
    if raw is None or written_by_lua:  # Lua encodes an empty object as an empty array.
        raw = write_json(arguments or {}).decode()
        arguments = arguments or {}
    elif arguments is None and param.error is None:
        try:
            parsed = read_json(raw or "{}")
        except ValueError:
            parsed = None
        arguments = parsed if isinstance(parsed, dict) else None
    return ToolUseBlock(param.id, param.name, arguments, raw, param.error, origin=origin, opaque=param.opaque)


def _to_range(param: RangeParam) -> Range:
    return Range(
        Position(param.start.line, param.start.character), Position(param.end.line, param.end.character)
    )


if TYPE_CHECKING:
    Conversation = list[Message]
else:
    Conversation = Annotated[list[MessageParam], WrapValidator(_validate_messages)]
