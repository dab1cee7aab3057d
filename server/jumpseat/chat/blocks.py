"""Messages and their blocks, as `docs/protocol/blocks.md` defines them. `rpc/` handles the wire form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias, get_args

Role: TypeAlias = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Origin:
    """The provider and model that created a block. The block's opaque data is replayed only to this model.

    For the result of a tool that the daemon ran, the provider is `daemon` and the model is `server/tool`.
    """

    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a text document, zero-based as in LSP."""

    line: int
    character: int


@dataclass(frozen=True, slots=True)
class Range:
    """A range in a text document. `end` is exclusive as in LSP."""

    start: Position
    end: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockBase:
    """The fields of every block."""

    origin: Origin | None = None
    """The model or daemon tool that created the block; None if the client created it."""

    opaque: str | None = None
    """Provider data that is replayed byte for byte. Only the adapter interprets it."""


@dataclass(frozen=True, slots=True)
class TextBlock(BlockBase):
    """Plain text, usually Markdown."""

    type: ClassVar[Literal["text"]] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class ImageBlock(BlockBase):
    """An image: base64 bytes, a `data:` URL, or an `https:` URL. The daemon never fetches the URL."""

    type: ClassVar[Literal["image"]] = "image"
    source: str
    media_type: str | None = None
    """The MIME type; required if `source` is base64 without a `data:` prefix."""


@dataclass(frozen=True, slots=True)
class DocumentBlock(BlockBase):
    """A document, such as a PDF: base64 bytes, a `data:` URL, or an `https:` URL, which is never fetched."""

    type: ClassVar[Literal["document"]] = "document"
    source: str
    media_type: str | None = None
    """The MIME type; required if `source` is base64 without a `data:` prefix."""

    name: str | None = None
    """The name of the file, which the model sees."""


@dataclass(frozen=True, slots=True)
class ContextBlock(BlockBase):
    """A part of a file, or a selection, that the user attached. The model sees it as fenced text."""

    type: ClassVar[Literal["context"]] = "context"
    text: str
    uri: str | None = None
    language_id: str | None = None
    range: Range | None = None
    label: str | None = None


@dataclass(frozen=True, slots=True)
class ToolUseBlock(BlockBase):
    """The model's call of a tool, which the client or the daemon runs."""

    type: ClassVar[Literal["tool_use"]] = "tool_use"
    id: str
    name: str
    arguments: Mapping[str, Any] | None
    """The parsed arguments; None if the JSON is invalid, with the reason in `error`."""

    raw: str
    """The model's JSON text, which is replayed unchanged."""

    error: str | None = None


ResultPart: TypeAlias = TextBlock | ImageBlock | DocumentBlock


@dataclass(frozen=True, slots=True)
class ToolResultBlock(BlockBase):
    """The result of a tool call: in the answer if the daemon ran the tool, else in a user message."""

    type: ClassVar[Literal["tool_result"]] = "tool_result"
    tool_use_id: str
    content: str | tuple[ResultPart, ...]
    """The text of the result, or its parts if at least one is not text."""

    is_error: bool | None = None
    """Whether the tool failed. None if the client did not set it, which means false."""

    @property
    def text(self) -> str:
        """The text of the result, without its images and documents."""
        if isinstance(self.content, str):
            return self.content
        return "".join(part.text for part in self.content if isinstance(part, TextBlock))

    @property
    def media(self) -> tuple[ImageBlock | DocumentBlock, ...]:
        """The images and documents of the result."""
        if isinstance(self.content, str):
            return ()
        return tuple(part for part in self.content if not isinstance(part, TextBlock))


@dataclass(frozen=True, slots=True)
class ThinkingBlock(BlockBase):
    """The model's thinking. `signature` must be replayed even if `thinking` is empty."""

    type: ClassVar[Literal["thinking"]] = "thinking"
    thinking: str
    signature: str | None = None


@dataclass(frozen=True, slots=True)
class RedactedThinkingBlock(BlockBase):
    """Thinking that the provider sends only in encrypted form."""

    type: ClassVar[Literal["redacted_thinking"]] = "redacted_thinking"
    data: str


@dataclass(frozen=True, slots=True)
class OtherBlock(BlockBase):
    """Output without a block type of its own, such as a compaction or a call of the provider's own tools."""

    type: ClassVar[Literal["other"]] = "other"
    kind: str
    text: str | None = None


ContentBlock: TypeAlias = (
    TextBlock
    | ImageBlock
    | DocumentBlock
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
    """One message of a conversation. The system prompt is not a message."""

    role: Role
    content: Sequence[ContentBlock]

    @classmethod
    def user(cls, text: str) -> Message:
        """Return a user message with one text block."""
        return cls("user", (TextBlock(text),))

    @classmethod
    def assistant(cls, text: str) -> Message:
        """Return an assistant message with one text block."""
        return cls("assistant", (TextBlock(text),))
