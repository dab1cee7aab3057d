"""Reads lists of models in Anthropic's shape, with limits and capabilities.

Source: `GET /v1/models` in Anthropic's API reference. The fields of OpenAI's shape are read too, because
compatible servers may send them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jumpseat.adapters.base import Capabilities
from jumpseat.adapters.http.models import read_models
from jumpseat.chat import THINKING_ROOM, ModelInfo
from jumpseat.dialects.anthropic_messages.models import EFFORTS, family_and_version, read_supported
from jumpseat.dialects.loose_values import limit_in, text_in


def models_in(rows: Sequence[Any], provider: str, capabilities: Capabilities) -> list[ModelInfo]:
    """Return the models in the rows of all pages, in order.

    Args:
        rows: `{"id", "display_name"?, "max_input_tokens"?, "max_tokens"?, "lifecycle"?, "capabilities"?, …}`.
        provider: the configured provider's id.
        capabilities: only the provider's `streaming` is used; abilities that a row omits are None.
    """
    by_name = {row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}
    return [
        _with_row(model, by_name[model.model])
        for model in read_models({"data": list(rows)}, provider, capabilities)
    ]


def _with_row(model: ModelInfo, row: Mapping[str, Any]) -> ModelInfo:
    known = family_and_version(model.model)
    context = limit_in(row.get("max_input_tokens")) or model.max_context_tokens
    lifecycle = row.get("lifecycle")
    retires = row.get("retires_at")
    return replace(
        model,
        name=text_in(row.get("display_name")) or model.name,
        family=(known[0] if known else "") or model.family,
        max_context_tokens=context,
        max_prompt_tokens=limit_in(row.get("max_input_tokens")) or model.max_prompt_tokens,
        max_output_tokens=limit_in(row.get("max_tokens")) or model.max_output_tokens,
        supports_vision=_prefer_stated(read_supported(row, "image_input"), model.supports_vision),
        supports_thinking=_prefer_stated(read_supported(row, "thinking"), model.supports_thinking),
        supports_json=_prefer_stated(read_supported(row, "structured_outputs"), model.supports_json),
        thinking_levels=_read_levels(row) or model.thinking_levels,
        deprecated=model.deprecated or lifecycle in ("deprecated", "retired"),
        picker_enabled=model.picker_enabled and lifecycle != "retired",
        messages=[f"It will be retired on {retires}."] if isinstance(retires, str) else model.messages,
    )


def _read_levels(row: Mapping[str, Any]) -> list[str] | None:
    if not read_supported(row, "thinking"):
        return None
    if read_supported(row, "thinking", "types", "adaptive"):
        levels = [level for level in EFFORTS if read_supported(row, "effort", level)]
    else:  # The model takes a thinking budget, which can express every level.
        levels = [level for level in THINKING_ROOM if level != "off"]
    off = read_supported(row, "thinking", "types", "disabled") is not False
    return ["off", *levels] if off else levels


def _prefer_stated(stated: bool | None, otherwise: bool | None) -> bool | None:
    return otherwise if stated is None else stated
