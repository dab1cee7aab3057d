"""Reads lists of models in OpenAI's shape, with the fields that servers add.

Source: `GET /models` in OpenAI's API reference. The other fields are additions of OpenRouter, vLLM,
llama.cpp, LM Studio, Groq and Mistral.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.adapters.base import Capabilities
from jumpseat.adapters.base.rows import first_rows
from jumpseat.chat import ModelInfo, ProtocolError

# Use the first path that a row has. The context length that the server is configured for precedes the length
# that the model was trained for.
_CONTEXT_PATHS = (
    "meta.n_ctx",
    "loaded_context_length",
    "max_model_len",
    "top_provider.context_length",
    "context_length",
    "context_window",
    "max_context_length",
    "meta.n_ctx_train",
)
_OUTPUT_PATHS = ("top_provider.max_completion_tokens", "max_completion_tokens", "max_output_tokens")


def read_models(answer: Any, provider: str, capabilities: Capabilities) -> list[ModelInfo]:
    """Return the models of a response, in its order, skipping rows without an id.

    Args:
        answer: the parsed JSON: `{"data": [...]}`, `{"models": [...]}` or the bare array.
        provider: the configured provider's id.
        capabilities: the provider's capabilities, of which only `streaming` is used. Other abilities
            come from the row; those that the row does not mention are None.

    Raises:
        ProtocolError: the response has no array.
    """
    rows = (answer.get("data") or answer.get("models")) if isinstance(answer, dict) else answer
    if rows is None and isinstance(answer, dict) and "data" in answer:
        rows = []
    if not isinstance(rows, list):
        raise ProtocolError(f"{provider} sent a list of models in an unknown shape.", provider=provider)
    models: dict[str, ModelInfo] = {}
    for row in first_rows(rows, provider):
        name = row.get("id") if isinstance(row, dict) else None
        if isinstance(name, str) and name and name not in models:
            models[name] = _read_model(name, row, provider, capabilities)
    return list(models.values())


def static_model(name: str, provider: str, capabilities: Capabilities) -> ModelInfo:
    """Return a model of which only the name is known."""
    return _read_model(name, {}, provider, capabilities)


def _read_model(name: str, row: Mapping[str, Any], provider: str, capabilities: Capabilities) -> ModelInfo:
    title = row.get("name")
    vendor = row.get("owned_by")
    return ModelInfo(
        provider=provider,
        model=name,
        name=title if isinstance(title, str) and title else name,
        family=name,
        version=name,
        vendor=vendor if isinstance(vendor, str) and vendor else None,
        max_context_tokens=_number(row, _CONTEXT_PATHS),
        max_output_tokens=_number(row, _OUTPUT_PATHS),
        supports_vision=_read_ability(row, "architecture.input_modalities", "image", "vision"),
        supports_tool_use=_read_ability(row, "supported_parameters", "tools", "function_calling"),
        supports_thinking=_read_ability(row, "supported_parameters", "reasoning", "reasoning"),
        supports_json=_read_ability(row, "supported_parameters", "response_format", ""),
        supports_infill=_read_ability(row, "", "", "completion_fim"),
        supports_streaming=capabilities.streaming,
        deprecated=bool(row.get("deprecation")),
    )


def _read_ability(row: Mapping[str, Any], path: str, member: str, flag: str) -> bool | None:
    """Return whether a model has an ability; None if its row does not say.

    OpenRouter lists the abilities of a model: `path` leads to the list, and `member` is the ability's name
    there. Mistral has a flag for each ability, in `capabilities`. An empty `path` or `flag` matches nothing.
    """
    listed = _value_at(row, path)
    if isinstance(listed, list):
        return member in listed
    flagged = _value_at(row, f"capabilities.{flag}")
    return flagged if isinstance(flagged, bool) else None


def _number(row: Mapping[str, Any], paths: tuple[str, ...]) -> int | None:
    values = (_value_at(row, path) for path in paths)
    return next((value for value in values if type(value) is int and value > 0), None)


def _value_at(row: Mapping[str, Any], path: str) -> Any:
    value: Any = row
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
