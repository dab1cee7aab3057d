"""Decodes and validates requests to POST /v1/messages, as Anthropic's API and the service in front of it do.

`message_events.py` writes the answers.
"""

from __future__ import annotations

import json
import secrets
from typing import Any

from jumpseat.testing.upstream import Reply
from tests.emulator.catalogue import Model
from tests.emulator.chat_completions import stop_sequences
from tests.emulator.conversation import Prompt, ToolUse, Turn, count
from tests.emulator.prompt_cache import Segment
from tests.emulator.refusals import Refused, html_safe_json
from tests.emulator.seals import Sealer

SIGNATURE = "thinking signature"
"""The purpose under which thinking is sealed. The seal contains the text."""

BETAS = {
    "interleaved-thinking-2025-05-14",
    "context-management-2025-06-27",
    "advanced-tool-use-2025-11-20",
}
_FIELDS = {
    "model", "max_tokens", "stream", "system", "messages", "tools", "tool_choice", "thinking", "metadata",
    "output_config", "context_management", "temperature", "top_p", "top_k", "stop_sequences",
}  # fmt: skip
_MAX_CACHE_MARKS = 4
_LEAST_BUDGET = 1024


def invalid(message: str) -> Refused:
    """Return an error in Anthropic's form."""
    error = {"type": "invalid_request_error", "message": message}
    body = {"type": "error", "error": error, "request_id": f"req_vrtx_{secrets.token_hex(12)}"}
    return Refused(Reply.raw(html_safe_json(body).encode(), 400, "text/plain; charset=utf-8"))


def check_betas(header: str) -> None:
    """Refuse betas that the service does not support.

    Raises:
        Refused: a beta is not supported; the message contains it.
    """
    for beta in filter(None, (each.strip() for each in header.split(","))):
        if beta not in BETAS:
            raise invalid(f"Unexpected value(s) `{beta}` for the `anthropic-beta` header.")


def read(body: dict[str, Any], model: Model, seals: Sealer) -> Prompt:
    """Return the conversation in a body.

    Raises:
        Refused: the service would refuse the body.
    """
    for name in body:
        if name not in _FIELDS:
            raise invalid(f"{name}: Extra inputs are not permitted")
    if not isinstance(body.get("max_tokens"), int) or body["max_tokens"] < 1:
        raise invalid("max_tokens: Field required")
    if not body.get("messages"):
        raise invalid("messages: at least one message is required")
    thinks = _read_thinking(body)
    turns = [Turn("system", _system(body["system"]))] if body.get("system") else []
    segments = [Segment(body.get("tools"), 0), Segment(body.get("system"), count(turns))]
    for index, message in enumerate(body["messages"]):
        said = _turns(message, f"messages.{index}", model, seals, thinks)
        turns += said
        segments.append(Segment(message, count(said)))
    if body["messages"][-1]["role"] == "assistant":
        raise invalid("This model does not support assistant message prefill.")
    _check_pairs(turns)
    if json.dumps(body).count('"cache_control"') > _MAX_CACHE_MARKS:
        raise invalid("A maximum of 4 blocks with cache_control may be provided.")
    choice = body.get("tool_choice") or {"type": "auto"}
    forced = {"any": "*", "tool": choice.get("name")}.get(choice["type"])
    if thinks and forced:
        raise invalid("Thinking may not be enabled when tool_choice forces tool use.")
    return Prompt(
        turns,
        _tools(body.get("tools") or [], forced),
        forced,
        choice["type"] != "none",
        thinks,
        body["max_tokens"],
        bool(body.get("stream")),
        stop_sequences(body.get("stop_sequences")),
        ((body.get("output_config") or {}).get("format") or {}).get("schema"),
        segments,
    )


def _read_thinking(body: dict[str, Any]) -> bool:
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking["type"] == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < _LEAST_BUDGET:
            raise invalid(f"thinking.enabled.budget_tokens: must be at least {_LEAST_BUDGET}")
        if budget >= body["max_tokens"]:
            raise invalid("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if thinking["type"] != "disabled" and body.get("temperature") not in (None, 1, 1.0):
        raise invalid("`temperature` may only be set to 1 when thinking is enabled.")
    return bool(thinking["type"] != "disabled")


def _system(system: Any) -> str:
    if isinstance(system, str):
        return system
    for index, block in enumerate(system):
        if not block.get("text"):
            raise invalid(f"system.{index}: text content blocks must be non-empty")
    return "\n".join(block["text"] for block in system)


def _turns(message: dict[str, Any], place: str, model: Model, seals: Sealer, thinks: bool) -> list[Turn]:
    role = message.get("role")
    if role not in ("user", "assistant"):
        raise invalid(f'messages: Unexpected role "{role}". Allowed roles are "user" or "assistant".')
    content = message.get("content")
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not blocks:
        raise invalid(f"{place}: all messages must have non-empty content")
    turn = Turn(role)
    results: list[Turn] = []
    for number, block in enumerate(blocks):
        _read_block(block, f"{place}.content.{number}", turn, results, model, seals)
    kinds = [block["type"] for block in blocks]
    if thinks and role == "assistant" and "tool_use" in kinds and "thinking" not in kinds[0]:
        found = kinds[0]
        raise invalid(
            f"{place}.content.0.type: Expected `thinking` or `redacted_thinking`, but found `{found}`."
        )
    alone = results and not (turn.text or turn.images)
    return results if alone else [*results, turn]


def _read_block(
    block: dict[str, Any], place: str, turn: Turn, results: list[Turn], model: Model, seals: Sealer
) -> None:
    match block.get("type"), turn.role:
        case "text", _:
            if not block.get("text"):
                raise invalid(f"{place}: text content blocks must be non-empty")
            turn.text += block["text"]
        case ("image" | "document") as kind, "user":
            if not model.supports.get("vision"):
                raise invalid(f"{place}: {kind} input is not supported by this model")
            turn.images += 1
        case "tool_result", "user":
            results.append(Turn("tool", _result_text(block.get("content")), answers=block["tool_use_id"]))
        case "tool_use", "assistant":
            turn.calls.append(ToolUse(block["name"], json.dumps(block["input"]), block["id"]))
        case "thinking", "assistant":
            if seals.open(SIGNATURE, block.get("signature")) != block.get("thinking"):
                raise invalid(f"{place}: Invalid `signature` in `thinking` block")
        case "redacted_thinking", "assistant":
            if seals.open(SIGNATURE, block.get("data")) is None:
                raise invalid(f"{place}: Invalid `data` in `redacted_thinking` block")
        case kind, role:
            raise invalid(f"{place}: Input tag '{kind}' is not expected in a message of role {role}")


def _result_text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "".join(block.get("text", "") for block in content)


def _check_pairs(turns: list[Turn]) -> None:
    """Check that each message with calls is followed by one result for each call, and by no other result."""
    unanswered: set[str] = set()
    for turn in [*turns, Turn("end")]:
        if turn.role == "tool":
            if turn.answers not in unanswered:
                raise invalid(f"unexpected `tool_use_id` found in `tool_result` blocks: {turn.answers}.")
            unanswered.discard(turn.answers)
            continue
        for missing in sorted(unanswered):
            raise invalid(f"`tool_use` ids were found without `tool_result` blocks after them: {missing}.")
        unanswered = {call.id for call in turn.calls}


def _tools(offered: list[Any], forced: str | None) -> dict[str, Any]:
    tools: dict[str, Any] = {}
    for index, tool in enumerate(offered):
        schema = tool.get("input_schema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise invalid(f"tools.{index}.custom.input_schema.type: Input should be 'object'")
        if "$schema" in schema:
            raise invalid(f"tools.{index}.custom.input_schema.$schema: Extra inputs are not permitted")
        tools[tool["name"]] = schema
    if forced not in (None, "*", *tools):
        raise invalid(f"Tool '{forced}' not found in provided tools")
    return tools
