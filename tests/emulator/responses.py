"""Decodes requests to POST /responses and checks the items that clients send back.

`response_events.py` writes the answers.
"""

from __future__ import annotations

import json
from typing import Any

from tests.emulator.catalogue import Model
from tests.emulator.chat_completions import check_refused_fields, check_tool_names
from tests.emulator.conversation import Prompt, ToolUse, Turn
from tests.emulator.refusals import Refused, invalid_body, make_coded_error
from tests.emulator.seals import Sealer

ITEM_ID = "response item id"
ENCRYPTED = "encrypted reasoning"


def read(body: dict[str, Any], model: Model, seals: Sealer) -> Prompt:
    """Return the conversation in a body.

    Raises:
        Refused: the service would refuse the body.
    """
    check_refused_fields(body, model)
    if body.get("previous_response_id") is not None:
        message = f"Previous response with id '{body['previous_response_id']}' not found."
        raise Refused(make_coded_error(400, message, "previous_response_not_found"))
    if "service_tier" in body:
        raise Refused(invalid_body("service_tier is not supported"))
    turns = [Turn("system", body["instructions"])] if body.get("instructions") else []
    given = body.get("input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    if not items or not isinstance(items, list):
        raise Refused(invalid_body("input: at least one item is required"))
    for item in items:
        _read_item(item, turns, model, seals)
    _check_pairs(turns)
    tools = {each["name"]: each.get("parameters") for each in body.get("tools") or ()}
    check_tool_names(tools)
    choice = body.get("tool_choice")
    named = choice.get("name") if isinstance(choice, dict) else None
    if named is not None and named not in tools:
        raise Refused(invalid_body(f"Tool choice '{named}' not found in 'tools' parameter."))
    effort = (body.get("reasoning") or {}).get("effort")
    if effort is not None and effort not in ("none", *model.supports.get("reasoning_effort", ())):
        raise Refused(invalid_body(f"Unsupported value: '{effort}' is not supported with this model."))
    return Prompt(
        turns,
        tools,
        named or ("*" if choice == "required" else None),
        choice != "none",
        thinks=effort not in (None, "none"),
        max_tokens=body.get("max_output_tokens"),
        stream=bool(body.get("stream")),
        json_schema=_schema((body.get("text") or {}).get("format")),
    )


def _schema(wanted: Any) -> Any:
    kind = (wanted or {}).get("type", "text")
    return None if kind == "text" else wanted.get("schema", {})


def _read_item(item: dict[str, Any], turns: list[Turn], model: Model, seals: Sealer) -> None:
    match item.get("type", "message"):
        case "message":
            turns.append(_message(item, model))
        case "reasoning":
            _check_reasoning(item, seals)
        case "function_call":
            call = ToolUse(item["name"], item["arguments"], item["call_id"])
            if turns and turns[-1].role == "assistant":
                turns[-1].calls.append(call)
            else:
                turns.append(Turn("assistant", calls=[call]))
        case "function_call_output":
            turns.append(Turn("tool", _output(item.get("output")), answers=item.get("call_id")))
        case "compaction":
            pass
        case other:
            raise Refused(invalid_body(f"input item type {other!r} is not supported"))


def _message(item: dict[str, Any], model: Model) -> Turn:
    role = {"developer": "system"}.get(item["role"], item["role"])
    turn = Turn(role)
    content = item.get("content")
    text_type = "output_text" if role == "assistant" else "input_text"
    for part in [{"type": text_type, "text": content}] if isinstance(content, str) else content or ():
        match part.get("type"):
            case kind if kind == text_type:
                turn.text += part["text"]
            case "input_image" if role != "assistant":
                if not model.supports.get("vision"):
                    raise Refused(invalid_body(f"model {model.id} does not support image input"))
                turn.images += 1
            case "refusal" if role == "assistant":
                turn.text += part["refusal"]
            case other:
                raise Refused(invalid_body(f"Invalid value: '{other}' in a message of role {role!r}."))
    return turn


def _check_reasoning(item: dict[str, Any], seals: Sealer) -> None:
    """Check that the encrypted content was sealed here and has its original id."""
    encrypted = item.get("encrypted_content")
    inner = seals.open(ENCRYPTED, encrypted)
    under = seals.open(ITEM_ID, item.get("id"))
    if inner is not None and (item.get("id") is None or under == inner):
        return
    shown = str(encrypted)[:4]
    reason = "Encrypted content could not be decrypted." if inner is None else "The item ID does not match."
    message = f"The encrypted content {shown}... could not be verified. Reason: {reason}"
    raise Refused(make_coded_error(400, message, "invalid_encrypted_content"))


def _output(output: Any) -> str:
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "".join(part.get("text", "") for part in output)
    return json.dumps(output)


def _check_pairs(turns: list[Turn]) -> None:
    calls = {call.id for turn in turns for call in turn.calls}
    outputs = {turn.answers for turn in turns if turn.role == "tool"}
    for call_id in sorted(calls - outputs):
        raise Refused(invalid_body(f"No tool output found for function call {call_id}."))
    for call_id in sorted(str(each) for each in outputs - calls):
        raise Refused(invalid_body(f"No tool call found for function call output with call_id {call_id}."))
