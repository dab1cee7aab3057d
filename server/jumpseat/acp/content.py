"""Encodes blocks as the protocol's content."""

from __future__ import annotations

from typing import Any

from jumpseat.chat import ContentBlock, ContextBlock, DocumentBlock, ImageBlock, TextBlock


def encode_block(block: ContentBlock) -> dict[str, Any] | None:
    """Return a block as content; None if the protocol has no form for it."""
    match block:
        case TextBlock():
            return {"type": "text", "text": block.text}
        case ImageBlock():
            return encode_image(block)
        case ContextBlock(uri=str(uri)):
            return {"type": "resource", "resource": {"uri": uri, "text": block.text}}
        case ContextBlock():
            return {"type": "text", "text": block.text}
        case DocumentBlock():
            return _encode_document(block)
        case _:
            return None


def _encode_document(document: DocumentBlock) -> dict[str, Any]:
    """Return a document as content, or a link to it."""
    name = document.name or "document"
    if document.source.startswith("https:"):
        return {"type": "resource_link", "uri": document.source, "name": name}
    media_type, data = _split_source(document.source, document.media_type or "application/octet-stream")
    return {"type": "resource", "resource": {"uri": name, "blob": data, "mimeType": media_type}}


def encode_image(image: ImageBlock) -> dict[str, Any]:
    """Return an image as content, or a link to it."""
    if image.source.startswith("https:"):
        return {"type": "resource_link", "uri": image.source, "name": "image"}
    media_type, data = _split_source(image.source, image.media_type or "image/png")
    return {"type": "image", "data": data, "mimeType": media_type}


def _split_source(source: str, media_type: str) -> tuple[str, str]:
    """Return the media type and the base64 data of a source.

    Args:
        source: a `data:` URL, or only base64 data.
        media_type: the media type if the source is only base64 data.
    """
    head, comma, data = source.partition(",")
    return (head.removeprefix("data:").partition(";")[0], data) if comma else (media_type, source)
