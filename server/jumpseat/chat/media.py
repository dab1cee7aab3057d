"""Finds images and documents in a conversation, and replaces unreadable ones in tool results with notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from jumpseat.chat.blocks import DocumentBlock, ImageBlock, Message, ResultPart, TextBlock, ToolResultBlock
from jumpseat.chat.warning import WarningEvent


def list_media(messages: Sequence[Message]) -> Iterator[ImageBlock | DocumentBlock]:
    """Yield every image and document, including those in tool results."""
    for message in messages:
        for block in message.content:
            if isinstance(block, ImageBlock | DocumentBlock):
                yield block
            elif isinstance(block, ToolResultBlock):
                yield from block.media


def has_document_type(block: DocumentBlock, types: Sequence[str]) -> bool:
    """Whether a document has one of these MIME types. `text/` matches all types of text."""
    return get_document_type(block).startswith(tuple(types))


def get_document_type(block: DocumentBlock) -> str:
    """Return the MIME type of a document: the type in a `data:` URL, else `media_type`, else PDF."""
    if block.source.startswith("data:"):
        return block.source.removeprefix("data:").partition(",")[0].partition(";")[0]
    return block.media_type or "application/pdf"


def replace_unreadable_media(
    messages: Sequence[Message], model: str, *, images: bool, documents: Sequence[str]
) -> tuple[Sequence[Message], list[WarningEvent]]:
    """Replace images and documents in tool results with notes if the model cannot read them.

    Args:
        messages: the conversation.
        model: the model's name, for the warnings.
        images: whether the model accepts images.
        documents: the MIME types of documents that the model accepts.
    """
    blocks = (block for message in messages for block in message.content)
    if all(isinstance(block.content, str) for block in blocks if isinstance(block, ToolResultBlock)):
        return messages, []
    dropped = {"image": 0, "document": 0}

    def replace_if_unreadable(part: ResultPart) -> ResultPart:
        if isinstance(part, TextBlock) or (isinstance(part, ImageBlock) and images):
            return part
        if isinstance(part, DocumentBlock) and has_document_type(part, documents):
            return part
        dropped[part.type] += 1
        name = f" {part.name!r}" if isinstance(part, DocumentBlock) and part.name else ""
        return TextBlock(f"[The tool returned the {part.type}{name}, which this model cannot read.]")

    changed = [
        Message(
            message.role,
            tuple(
                replace(block, content=join_parts([replace_if_unreadable(part) for part in block.content]))
                if isinstance(block, ToolResultBlock) and not isinstance(block.content, str)
                else block
                for block in message.content
            ),
        )
        for message in messages
    ]
    if not any(dropped.values()):
        return messages, []
    warnings: list[WarningEvent] = []
    if dropped["image"]:
        count = dropped["image"]
        message = f"{model} cannot read images, so a note replaces each one in tool results ({count} in all)."
        warnings.append(WarningEvent("images_dropped", message))
    if dropped["document"]:
        count = dropped["document"]
        message = (
            f"{model} cannot read some documents in tool results, so a note replaces each ({count} in all)."
        )
        warnings.append(WarningEvent("documents_dropped", message))
    return changed, warnings


def join_parts(parts: Sequence[ResultPart]) -> str | tuple[ResultPart, ...]:
    """Return the content for a tool result: one string if all parts are text."""
    if all(isinstance(part, TextBlock) for part in parts):
        return "".join(part.text for part in parts if isinstance(part, TextBlock))
    return tuple(parts)
