"""Converts the content of a prompt to blocks, and reads the files that it links to."""

from __future__ import annotations

import asyncio
import base64
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.params import (
    ContentParam,
    ImageContentParam,
    LinkContentParam,
    ResourceContentParam,
    ResourceParam,
    TextContentParam,
)
from jumpseat.acp.workspace import read_text
from jumpseat.chat import ContentBlock, ContextBlock, DocumentBlock, ImageBlock, TextBlock
from jumpseat.connections.uris import path_of_uri
from jumpseat.system.threads import run_blocking

MAX_LINKED_BYTES = 1024 * 1024
"""The maximum size of a linked file that the daemon reads itself."""


async def read_content(
    client: AcpClient, conversation: AcpConversation, content: Sequence[ContentParam]
) -> list[ContentBlock]:
    """Return the blocks of a user message. Linked files are read concurrently."""

    async def read(part: ContentParam) -> ContentBlock:
        match part:
            case TextContentParam():
                return TextBlock(part.text)
            case ImageContentParam():
                return ImageBlock(part.data, part.mime_type)
            case LinkContentParam():
                return await _read_link(client, conversation, part)
            case ResourceContentParam():
                return _read_resource(part.resource)

    return await asyncio.gather(*map(read, content))


def _read_resource(resource: ResourceParam) -> ContentBlock:
    if resource.text is not None:
        return ContextBlock(resource.text, uri=resource.uri)
    blob, media_type = resource.blob or "", resource.mime_type or ""
    if media_type.startswith("image/"):
        return ImageBlock(blob, media_type)
    if not media_type.startswith("text/") and media_type:
        return DocumentBlock(blob, media_type, name=resource.uri.rpartition("/")[2])
    try:
        return ContextBlock(base64.b64decode(blob, validate=True).decode(), uri=resource.uri)
    except ValueError:  # The blob is not base64, or not text.
        return TextBlock(resource.uri)


async def _read_link(
    client: AcpClient, conversation: AcpConversation, link: LinkContentParam
) -> ContentBlock:
    """Return the text of a linked file, or else the link as text.

    The text is returned only if it can be read and the file is in one of the conversation's directories.
    """
    path = path_of_uri(link.uri)
    if path is not None:
        roots = (conversation.directory, *conversation.additional_directories)
        real = await run_blocking(_resolve_below, path, roots)
        if real is not None:
            text = await _read_text(client, conversation, path, real)
            if text is not None:
                return ContextBlock(text, uri=link.uri)
    return TextBlock(f"[{link.name}]({link.uri})")


def _resolve_below(path: Path, roots: Sequence[Path]) -> Path | None:
    """Return the path without symbolic links if it is below one of the directories, else None. Blocks."""
    try:
        real = Path(os.path.realpath(path))
        return real if any(real.is_relative_to(os.path.realpath(root)) for root in roots) else None
    except (OSError, ValueError):
        return None


async def _read_text(client: AcpClient, conversation: AcpConversation, path: Path, real: Path) -> str | None:
    """Return the text of a file; None if it cannot be read.

    If the client can read files, it sends the text, including unsaved changes.

    Args:
        path: the path in the link, for the client.
        real: the same path without symbolic links, for this process.
    """
    if client.abilities.reads_files:
        with suppress(TimeoutError):
            return await read_text(client, conversation, path)
        return None
    return await run_blocking(_read_file, real)


def _read_file(path: Path) -> str | None:
    """Return the text of a regular file; None if it is too large or is not text. Blocks."""
    try:
        if not path.is_file() or path.stat().st_size > MAX_LINKED_BYTES:
            return None
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        return None
