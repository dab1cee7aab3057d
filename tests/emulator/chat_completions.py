"""Decodes and validates requests to POST /chat/completions. `chat_flavours.py` writes the answers."""

from __future__ import annotations

import re
from typing import Any

from tests.emulator.catalogue import Model
from tests.emulator.conversation import Prompt, ToolUse, Turn, count
from tests.emulator.prompt_cache import Segment
from tests.emulator.refusals import Refused, invalid_body, make_coded_error
from tests.emulator.seals import Sealer

OPAQUE = "reasoning_opaque"
"""The purpose under which reasoning is sealed in this dialect."""

_ROLES = {"system", "developer", "user", "assistant", "tool", "function"}
_TOOL_NAME = re.compile(r"^[a-zA-Z0-9_-]{1,64}$")
_MAX_TOOLS = 128
_MAX_CACHE_MARKS = 4


def read(body: dict[str, Any], model: Model, seals: Sealer) -> Prompt:
    """Return the conversation in a body.

    Raises:
        Refused: the service would refuse the body.
    """
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused(invalid_body("messages: at least one message is required"))
    check_refused_fields(body, model)
    if body.get("prediction") is not None and not body["prediction"].get("content"):
        raise Refused(invalid_body("prediction content is empty"))
    if sum("copilot_cache_control" in each for each in messages) > _MAX_CACHE_MARKS:
        raise Refused(invalid_body(f"at most {_MAX_CACHE_MARKS} messages may have copilot_cache_control"))
    turns = [_turn(each, model, seals) for each in messages]
    _check_pairs(turns)
    tools = _tools(body.get("tools") or [])
    forced, allowed = _choice(body.get("tool_choice"), tools)
    asked = body.get("reasoning_effort") not in (None, "none") or bool(body.get("thinking_budget"))
    if body.get("reasoning_effort") and "reasoning_effort" not in model.supports:
        raise Refused(invalid_body(f"reasoning_effort is not supported by model {model.id}"))
    return Prompt(
        turns,
        tools,
        forced,
        allowed,
        thinks=asked or model.flavour == "gemini",
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens"),
        stream=bool(body.get("stream")),
        stops=stop_sequences(body.get("stop")),
        json_schema=_schema(body.get("response_format")),
        segments=_segments(messages, body.get("tools"), turns),
    )


def stop_sequences(stop: Any) -> tuple[str, ...]:
    """Convert a string or a list; the dialects allow both."""
    return (stop,) if isinstance(stop, str) else tuple(stop or ())


def _segments(messages: list[Any], tools: Any, turns: list[Turn]) -> list[Segment]:
    said = [Segment(sent, count([turn])) for sent, turn in zip(messages, turns, strict=True)]
    return [Segment(tools, 0), *said]


def _schema(wanted: Any) -> Any:
    kind = (wanted or {}).get("type", "text")
    if kind == "text":
        return None
    return wanted["json_schema"].get("schema", {}) if kind == "json_schema" else {}


def check_refused_fields(body: dict[str, Any], model: Model) -> None:
    """Refuse fields that the model does not support.

    Raises:
        Refused: the body has such a field; the message is in the vendor's words.
    """
    for name in sorted(model.refuses):
        if body.get(name) is not None:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            raise Refused(
                make_coded_error(
                    400, message, "unsupported_parameter", param=name, type="invalid_request_error"
                )
            )


def _turn(message: dict[str, Any], model: Model, seals: Sealer) -> Turn:
    role = message.get("role")
    if role not in _ROLES:
        raise Refused(invalid_body(f"unknown message role {role!r}"))
    turn = Turn("system" if role == "developer" else role)
    content = message.get("content")
    for part in content if isinstance(content, list) else [{"type": "text", "text": content or ""}]:
        match part.get("type"):
            case "text":
                turn.text += part["text"]
            case "image_url":
                _check_image(part, model)
                turn.images += 1
            case other:
                raise Refused(invalid_body(f"content part type {other!r} is not supported"))
    for call in message.get("tool_calls") or ():
        function = call["function"]
        turn.calls.append(ToolUse(function["name"], function["arguments"], call["id"]))
    if role == "tool":
        turn.answers = message.get("tool_call_id")
    if role == "assistant":
        _check_opaque(message, turn, model, seals)
    return turn


def _check_image(part: dict[str, Any], model: Model) -> None:
    if not model.supports.get("vision"):
        raise Refused(invalid_body(f"model {model.id} does not support image input"))
    url = (part.get("image_url") or {}).get("url", "")
    if not url.startswith(("data:image/", "https://")):
        raise Refused(invalid_body("image_url must be a data URL of an image, or an https URL"))


def _check_opaque(message: dict[str, Any], turn: Turn, model: Model, seals: Sealer) -> None:
    opaque = message.get("reasoning_opaque")
    # Check only the seal, and not the text and reasoning_text beside it.
    if opaque is not None and seals.open(OPAQUE, opaque) is None:
        raise Refused(invalid_body("reasoning_opaque could not be verified"))
    if turn.calls and model.needs_opaque and opaque is None:
        name = turn.calls[0].name
        raise Refused(
            invalid_body(f"Function call `{name}` in the history is missing its thought signature.")
        )


def _check_pairs(turns: list[Turn]) -> None:
    """Check that tool messages directly follow their calls, and that each has a call."""
    open_calls: set[str] = set()
    for turn in turns:
        if turn.role == "tool":
            if turn.answers not in open_calls:
                message = (
                    "messages with role 'tool' must be a response to a preceding message with 'tool_calls'"
                )
                raise Refused(invalid_body(message))
            open_calls.discard(turn.answers)
            continue
        _check_all_answered(open_calls)
        open_calls = {call.id for call in turn.calls}
    _check_all_answered(open_calls)


def _check_all_answered(open_calls: set[str]) -> None:
    if open_calls:
        message = "An assistant message with 'tool_calls' must be followed by tool messages for each"
        raise Refused(invalid_body(f"{message} 'tool_call_id'. Missing: {', '.join(sorted(open_calls))}"))


def _tools(offered: list[Any]) -> dict[str, Any]:
    if len(offered) > _MAX_TOOLS:
        raise Refused(invalid_body(f"at most {_MAX_TOOLS} tools may be sent"))
    tools = {each["function"]["name"]: each["function"].get("parameters") for each in offered}
    check_tool_names(tools)
    return tools


def check_tool_names(tools: dict[str, Any]) -> None:
    """Refuse tool names that the vendors of the models do not accept.

    Raises:
        Refused: a name is not acceptable; the message contains it.
    """
    for name in tools:
        if not _TOOL_NAME.match(name):
            raise Refused(invalid_body(f"tool name {name!r} does not match ^[a-zA-Z0-9_-]{{1,64}}$"))


def _choice(choice: Any, tools: dict[str, Any]) -> tuple[str | None, bool]:
    if isinstance(choice, dict):
        return _check_name(choice.get("function", {}).get("name"), tools), True
    return ("*" if choice == "required" else None), choice != "none"


def _check_name(name: Any, tools: dict[str, Any]) -> str:
    if name not in tools:
        raise Refused(invalid_body(f"tool_choice names {name!r}, which is not among the tools"))
    return str(name)
