"""Messages and the blocks they are made of.

Everything a conversation can hold, in one vocabulary that no provider owns. A block is an immutable
value; the wire form (camelCase keys, `type` discriminators) is made and read by `rpc/` alone.
Shapes: section 2 of the protocol page.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a block: opaque data is replayed only to this provider and model."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Position:
    """A place in a text document, zero-based, as LSP counts."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    """A span of a text document; `end` is exclusive, as in LSP."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockBase:
    """What any block may carry."""

    origin: Origin | None = None
    """The provider and model that made the block, if one did."""

    opaque: str | None = None
    """Provider data that must travel with the block, byte for byte; only the adapter reads it."""


@dataclass(frozen=True, slots=True)
class TextBlock(BlockBase):
    """Plain text (Markdown, by custom)."""

    type: ClassVar[Literal["text"]] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class ImageBlock(BlockBase):
    """An image: base64 bytes, a `data:` URL, or an `https:` URL that is passed on, never fetched."""

    type: ClassVar[Literal["image"]] = "image"
    source: str
    media_type: str | None = None
    """The MIME type, needed where `source` is bare base64."""


@dataclass(frozen=True, slots=True)
class ContextBlock(BlockBase):
    """A piece of a file or a selection that the user attached; the model sees it as fenced text."""

    type: ClassVar[Literal["context"]] = "context"
    text: str
    uri: str | None = None
    language_id: str | None = None
    range: Range | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUseBlock(BlockBase):
    """The model's call of a tool, which the client runs."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    id: str
    name: str
    arguments: Mapping[str, Any] | None
    """The parsed arguments; None where the JSON could not be read (then `error` says why)."""

    raw: str
    """The exact JSON text the model wrote, replayed as it is."""

    error: str | None = None


@dataclass(frozen=True, slots=True)
class ToolResultBlock(BlockBase):
    """What a tool answered, in a user message."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    content: str
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ThinkingBlock(BlockBase):
    """The model's reasoning. `thinking` may be empty while `signature` still has to be replayed."""

    type: ClassVar[Literal["thinking"]] = "thinking"
    thinking: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class RedactedThinkingBlock(BlockBase):
    """Reasoning that the provider encrypted."""

    type: ClassVar[Literal["redacted_thinking"]] = "redacted_thinking"
    data: str


@dataclass(frozen=True, slots=True)
class OtherBlock(BlockBase):
    """Whatever a provider sent that has no type here: its server tools, compaction and the like."""

    type: ClassVar[Literal["other"]] = "other"
    kind: str
    text: str | None = None


ContentBlock: TypeAlias = (
    TextBlock
    | ImageBlock
    | ContextBlock
    | ToolUseBlock
    | ToolResultBlock
    | ThinkingBlock
    | RedactedThinkingBlock
    | OtherBlock
)

BLOCK_CLASSES: tuple[type[ContentBlock], ...] = get_args(ContentBlock)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. A system prompt is never a message."""

    role: Role
    content: Sequence[ContentBlock]

    @classmethod
    def user(cls, text: str) -> Message:
        """A user message of one text block."""
        return cls("user", (TextBlock(text),))

    @classmethod
    def assistant(cls, text: str) -> Message:
        """An assistant message of one text block."""
        return cls("assistant", (TextBlock(text),))
