"""The results of calls, as the model gets them."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.chat import DocumentBlock, ImageBlock, TextBlock
from jumpseat.tools.mcp.results import MAX_PARTS, read_result

pytestmark = pytest.mark.requirement("12:mcp-results")


def text(value: str) -> dict[str, str]:
    return {"type": "text", "text": value}


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"content": [text("a"), text("b\n"), text("c")]}, "a\nb\n\nc"),
        ({"content": []}, "The tool returned nothing."),
        ({}, "The tool returned nothing."),
        ({"content": [], "isError": True}, "The tool failed without a message."),
        ({"content": [], "structuredContent": {"a": [1, "ä"]}}, '{"a":[1,"ä"]}'),
        ({"content": [text("a")], "structuredContent": {"a": 1}}, "a"),
        ({"content": [{"type": "audio", "data": "x" * 4096, "mimeType": "audio/wav"}]}, "audio of 4 KiB"),
        ({"content": [{"type": "resource_link", "uri": "file:///a", "name": "A"}]}, "A: file:///a"),
        ({"content": [{"type": "resource", "resource": {"uri": "x:1", "text": "T"}}]}, "x:1:\nT"),
        (
            {
                "content": [
                    {"type": "resource", "resource": {"uri": "x:1", "blob": "AA", "mimeType": "a/zip"}}
                ]
            },
            "x:1 of the type a/zip, 0 KiB, which was left out",
        ),
        ({"content": [{"type": "hologram"}]}, "unknown type"),
        ({"content": [3]}, "unknown type"),
        ({"content": "text"}, "The tool returned nothing."),
    ],
)
def test_parts_that_are_not_media_become_text(result: dict[str, Any], content: str) -> None:
    output = read_result(result)

    assert isinstance(output.content, str)
    assert output.content == content or content in output.content
    assert output.is_error == ("isError" in result)


def test_images_and_documents_stay_between_the_texts() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    pdf = {"type": "resource", "resource": {"uri": "x:1", "blob": "BBBB", "mimeType": "application/pdf"}}
    output = read_result({"content": [text("a"), text("b"), image, pdf, text("c")]})

    assert output.content == (
        TextBlock("a\nb"),
        ImageBlock("AAAA", "image/png"),
        DocumentBlock("BBBB", "application/pdf", "x:1"),
        TextBlock("c"),
    )


def test_structured_content_follows_an_image() -> None:
    image = {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    output = read_result({"content": [image], "structuredContent": {"a": 1}})

    assert output.content == (ImageBlock("AAAA", "image/png"), TextBlock('{"a":1}'))


def test_the_number_of_parts_is_bounded() -> None:
    output = read_result({"content": [text("x")] * (MAX_PARTS + 7)})

    assert isinstance(output.content, str)
    assert output.content.count("x") == MAX_PARTS
    assert "7 more parts were left out" in output.content
