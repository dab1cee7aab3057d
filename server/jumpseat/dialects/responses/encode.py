"""Encodes requests in the Responses dialect.

Source: POST /responses in OpenAI's API reference, and `tests/dialect_rows/responses.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpseat.chat import ChatRequest, JsonSchemaOutput, NamedTool, Origin, ToolDefinition
from jumpseat.dialects.efforts import COMMON, nearest_effort
from jumpseat.dialects.parameters import join_lists, merge_parameters
from jumpseat.dialects.responses.history import input_items, shorten_id
from jumpseat.dialects.responses.refusals import may_reason

ENCRYPTED_REASONING = "reasoning.encrypted_content"


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsesFacts:
    """The properties of the endpoint that the encoder and its caller depend on."""

    provider: str
    """The configured provider's id; opaque data of another origin is left out."""

    obfuscates: bool = False
    """Whether the endpoint pads streamed deltas by default, as OpenAI's own endpoint does."""

    takes_unfollowed: bool = True
    """Whether the endpoint accepts an earlier answer that ends with reasoning. OpenAI's does not."""

    efforts: Collection[str] = COMMON
    """The efforts that the model accepts."""

    parameters: Mapping[str, Any] = field(default_factory=dict)
    """Further parameters of the body. `tools` and `include` are appended; all others override the request."""


def encode(request: ChatRequest, facts: ResponsesFacts) -> dict[str, Any]:
    """Return the JSON body of the request, with the complete conversation: the provider does not store it.

    Stop sequences (see `find_unsupported`), blocks that the dialect does not support, and opaque data of
    another provider or model are left out.
    """
    origin = Origin(facts.provider, request.model)
    body: dict[str, Any] = {"model": request.model, "input": input_items(request.messages, origin)}
    if request.system:
        body["instructions"] = request.system
    if request.stream:
        body["stream"] = True
        if facts.obfuscates:
            body["stream_options"] = {"include_obfuscation": False}
    body["store"] = False
    if may_reason(request.model):  # The API rejects this value for other models.
        body["include"] = [ENCRYPTED_REASONING]
    extra = merge_parameters(facts.parameters, request.settings)
    tools = join_lists(map(_encode_tool, request.tools), extra.pop("tools", ()))
    if tools:
        body["tools"] = tools
        if isinstance(request.tool_choice, NamedTool):
            body["tool_choice"] = {"type": "function", "name": request.tool_choice.name}
        elif request.tool_choice != "auto":
            body["tool_choice"] = request.tool_choice
    body["max_output_tokens"] = request.max_tokens
    effort = None if request.thinking is None else nearest_effort(request.thinking, facts.efforts)
    if effort is not None:
        summary = {} if request.thinking == "off" else {"summary": "auto"}
        body["reasoning"] = {"effort": effort, **summary}
    if isinstance(request.output_mode, JsonSchemaOutput):
        # If `strict` were true, the API would reject schemas with an optional property.
        schema = {"name": "output", "schema": dict(request.output_mode.schema), "strict": False}
        body["text"] = {"format": {"type": "json_schema", **schema}}
    elif request.output_mode == "json":
        body["text"] = {"format": {"type": "json_object"}}
    if request.conversation_id:
        body["prompt_cache_key"] = shorten_id(request.conversation_id)
    if include := join_lists(body.get("include", ()), extra.pop("include", ())):
        body["include"] = include
    for name, value in extra.items():
        known = body.get(name)
        # The configuration may add members to the request's `text` and `reasoning`.
        both = isinstance(known, dict) and isinstance(value, Mapping)
        body[name] = {**known, **value} if both and known is not None else value
    return body


def _encode_tool(tool: ToolDefinition) -> dict[str, Any]:
    definition: dict[str, Any] = {
        "type": "function",
        "name": tool.name,
        "parameters": dict(tool.parameters) or {"type": "object", "properties": {}},
        # This must be sent: a server whose default is true would reject schemas with an optional property.
        "strict": False,
    }
    if tool.description:
        definition["description"] = tool.description
    return definition
