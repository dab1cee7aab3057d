"""Checks that an answer is the requested JSON: providers also send prose and truncated text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NoReturn

from jumpseat_cli.terminal.text import clean_line

MAX_REASON_CHARACTERS = 300
"""Maximum number of characters to print of a validator's message, which may quote the whole answer."""


def fault_of_schema(schema: Mapping[str, Any]) -> str | None:
    """Return why an object is not a JSON schema, or None if it is one."""
    # Importing this at the top would slow down chats without a schema.
    from jsonschema import SchemaError
    from jsonschema.validators import Draft202012Validator, validator_for

    try:
        validator_for(schema, Draft202012Validator).check_schema(schema)
    except SchemaError as error:
        return _sentence(error)
    return None


def fault_of_answer(output_mode: Any, result: Mapping[str, Any]) -> str | None:
    """Return a sentence that says why an answer is not the requested JSON; None if it is.

    An answer with tool calls is not checked.

    Args:
        output_mode: the option of `Client.chat`: `json`, a schema, or None to accept any text.
        result: the result of the chat.
    """
    if output_mode is None or result.get("toolCalls"):
        return None
    reason = result.get("stopReason")
    if reason not in ("end_turn", "stop_sequence"):
        return f"The answer is incomplete ({reason})."
    try:
        value = json.loads(result["text"], parse_constant=_refuse_constant)
        schema = output_mode.get("schema") if isinstance(output_mode, Mapping) else None
        return None if schema is None else _find_schema_fault(value, schema)
    except ValueError as error:
        return f"The answer is not JSON: {clean_line(str(error))}."
    except RecursionError:
        return "The answer cannot be checked: its JSON is nested too deeply."


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _find_schema_fault(value: Any, schema: Mapping[str, Any]) -> str | None:
    from jsonschema.exceptions import best_match
    from jsonschema.validators import Draft202012Validator, validator_for
    from referencing import Registry
    from referencing.exceptions import Unresolvable

    # Pass an empty registry, because the validator would otherwise fetch the URLs to which the schema refers.
    validator = validator_for(schema, Draft202012Validator)(schema, registry=Registry())
    try:
        error = best_match(validator.iter_errors(value))
    except Unresolvable as unresolvable:
        return f"The answer cannot be checked: the schema has no {clean_line(unresolvable.ref)}."
    return None if error is None else f"The answer does not match the schema: {_sentence(error)}"


def _sentence(error: Any) -> str:
    message = clean_line(str(error.message))
    short = message if len(message) <= MAX_REASON_CHARACTERS else f"{message[:MAX_REASON_CHARACTERS]}…"
    return f"{error.json_path}: {short}."
