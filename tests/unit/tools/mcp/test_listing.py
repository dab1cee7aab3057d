"""Lists of tools, in which a server may send anything."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.tools.mcp.listing import MAX_DESCRIPTION, read_tools, select_annotated
from jumpseat.tools.server import Tool

pytestmark = pytest.mark.requirement("12:mcp-tools")

SCHEMA = {"type": "object", "properties": {"a": {}}}


def test_a_tool_has_the_parts_that_a_model_needs() -> None:
    listed = {
        "name": "echo",
        "description": "Echoes.",
        "inputSchema": {"properties": {}},
        "title": "Echo\u202e it",
        "annotations": {"readOnlyHint": True, "destructiveHint": False, "title": "Other"},
        "outputSchema": SCHEMA,
        "icons": [{"src": "https://x.example"}],
    }

    assert read_tools([listed]) == [
        Tool(
            name="echo",
            description="Echoes.",
            parameters={"type": "object", "properties": {}},
            title="Echo\\u202e it",
        )
    ]


def test_the_title_may_be_among_the_annotations() -> None:
    (tool,) = read_tools([{"name": "a", "inputSchema": SCHEMA, "annotations": {"title": "A tool"}}])

    assert tool.title == "A tool"


@pytest.mark.parametrize(
    "tool",
    [
        None,
        "echo",
        {},
        {"name": "", "inputSchema": SCHEMA},
        {"name": 1, "inputSchema": SCHEMA},
        {"name": "x" * 129, "inputSchema": SCHEMA},
        {"name": "a\nb", "inputSchema": SCHEMA},
        {"name": "a"},
        {"name": "a", "inputSchema": []},
    ],
)
def test_a_tool_that_cannot_be_used_is_left_out(tool: Any) -> None:
    assert [each.name for each in read_tools([tool, {"name": "b", "inputSchema": SCHEMA}])] == ["b"]


def test_names_are_unique_and_descriptions_bounded() -> None:
    tools = read_tools(
        [
            {"name": "a", "inputSchema": SCHEMA, "description": "first"},
            {"name": "a", "inputSchema": SCHEMA, "description": "x" * 100_000},
            {"name": "b", "inputSchema": SCHEMA, "description": 3, "title": 4, "annotations": []},
        ]
    )

    assert [tool.name for tool in tools] == ["a", "b"]
    assert tools[0].description == "x" * MAX_DESCRIPTION + " … (100000 characters)"
    assert (tools[1].description, tools[1].title) == ("", None)


def test_tools_whose_arguments_are_headers_are_selected_for_the_sdk() -> None:
    annotated = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    listed = [
        {"name": "a", "inputSchema": SCHEMA, "outputSchema": SCHEMA},
        {"name": "b", "inputSchema": annotated, "outputSchema": SCHEMA},
        3,
    ]

    assert select_annotated(listed) == [{"name": "b", "inputSchema": annotated}]
