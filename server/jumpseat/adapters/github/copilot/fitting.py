"""Adapts a request to the listed facts of its model, with a warning for each dropped part.

The engine does the same before a turn, but a daemon's first chat starts before there is a list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from jumpseat.chat import (
    ChatRequest,
    ContentBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    ModelInfo,
    RequestError,
    TextBlock,
    WarningEvent,
)
from jumpseat.chat.media import get_document_type, has_document_type, replace_unreadable_media
from jumpseat.dialects.reasoning_models import thinks_by_default

NOTE = "[An image was here, which is no longer sent.]"
"""The replacement for an image in an earlier message, if a chat has more images than the model accepts."""


def fit_request(request: ChatRequest, info: ModelInfo | None) -> tuple[ChatRequest, list[WarningEvent]]:
    """Return the request adapted to the model, and warnings about the parts that were left out.

    Args:
        request: the request of the turn.
        info: the model's entry; None if no list has it.

    Raises:
        RequestError: the last message alone has more images than the model accepts.
    """
    warnings: list[WarningEvent] = []
    if info is None:
        return request, warnings
    if request.thinking is not None and info.supports_thinking is False:
        if request.thinking != "off":
            message = f"{info.model} does not have thinking levels, so the level was left out."
            warnings.append(WarningEvent("thinking_dropped", message))
        request = replace(request, thinking=None)
    elif thinks_by_default(info.model, info.supports_thinking):
        request = request.add_thinking_room()
    if info.max_output_tokens is not None and request.max_tokens > info.max_output_tokens:
        request = replace(request, max_tokens=info.max_output_tokens)
    if request.stream and not info.supports_streaming:
        request = replace(request, stream=False)
    return _drop_oldest_images(request, info, warnings), warnings


def replace_unreadable_files(
    request: ChatRequest, info: ModelInfo | None, documents: Sequence[str]
) -> tuple[ChatRequest, list[WarningEvent]]:
    """In tool results, put a note in place of each file that the model or its route does not accept.

    Args:
        request: the request of the turn.
        info: the model's entry; None if no list has it.
        documents: the types of documents that the model's route accepts.

    Raises:
        RequestError: a message has a document, outside a tool result, whose type the route does not accept.
    """
    for message in request.messages:
        for block in message.content:
            if isinstance(block, DocumentBlock) and not has_document_type(block, documents):
                raise RequestError(
                    f"{request.model} does not accept documents of the type {get_document_type(block)}.",
                    hint="Attach the document's text, or choose a Claude model.",
                )
    images = info is None or info.supports_vision is not False
    messages, warnings = replace_unreadable_media(
        request.messages, request.model, images=images, documents=documents
    )
    return replace(request, messages=messages), warnings


def _drop_oldest_images(request: ChatRequest, info: ModelInfo, warnings: list[WarningEvent]) -> ChatRequest:
    """If there are more images than the model accepts, put a note in place of the oldest ones."""
    counts = [_image_count(message) for message in request.messages]
    limit = info.max_prompt_images
    if limit is None or sum(counts) <= limit:
        return request
    if counts[-1] > limit:
        raise RequestError(
            f"The message has {counts[-1]} images, but {info.model} accepts at most {limit}.",
            provider=info.provider,
            hint="Send fewer images, or choose a model that accepts more.",
        )
    excess = left = sum(counts) - limit
    messages: list[Message] = []
    for message in request.messages:
        content: list[ContentBlock] = []
        for block in message.content:
            is_excess = left > 0 and message.role == "user" and isinstance(block, ImageBlock)
            left -= is_excess
            content.append(TextBlock(NOTE) if is_excess else block)
        messages.append(Message(message.role, content))
    text = f"{info.model} accepts at most {limit} images, so the oldest ({excess}) were left out."
    warnings.append(WarningEvent("images_dropped", text))
    return replace(request, messages=messages)


def _image_count(message: Message) -> int:
    return sum(message.role == "user" and isinstance(block, ImageBlock) for block in message.content)
