"""Decodes Copilot's list of models and finds the default model.

Source: `GET /models` of the Copilot API. An unreadable row is skipped and logged.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jumpseat.adapters.base.rows import first_rows
from jumpseat.adapters.github.default_model import can_be_used, choose_default, cost
from jumpseat.chat import Billing, ModelInfo, PolicyState, ProtocolError
from jumpseat.dialects.loose_values import limit_in, mapping_in, number_in, text_in, texts_in

logger = logging.getLogger(__name__)

CHAT_COMPLETIONS = "/chat/completions"
RESPONSES = "/responses"
MESSAGES = "/v1/messages"

_THINKING = ("reasoning_effort", "adaptive_thinking", "thinking", "max_thinking_budget")
_DEPRECATED = ("model_pending_deprecation", "model_deprecated")
_POLICIES: Mapping[str, PolicyState] = {"enabled": "enabled", "disabled": "disabled"}


def read_models(answer: Any, provider: str) -> list[ModelInfo]:
    """Return the chat models of a response, in its order; for each id, only the latest version.

    Args:
        answer: the parsed JSON, `{"data": [row, …]}`.
        provider: the configured provider's id.

    Raises:
        ProtocolError: the response has no array of rows.
    """
    rows = answer.get("data") if isinstance(answer, Mapping) else answer
    if not isinstance(rows, list):
        raise ProtocolError(f"{provider} sent a list of models in an unknown shape.", provider=provider)
    found: dict[str, ModelInfo] = {}
    default = fallback = ""
    for row in first_rows(rows, provider):
        try:
            model = _read_model(row, provider)
        except (KeyError, TypeError, ValueError) as error:
            name = row.get("id") if isinstance(row, Mapping) else None
            logger.warning("a row of the models of %s cannot be read (%.80r): %r", provider, name, error)
            continue
        if model is None:
            continue
        known = found.get(model.model)
        if known is None or model.version > known.version:
            found[model.model] = model
        default = model.model if row.get("is_chat_default") is True else default
        fallback = model.model if row.get("is_chat_fallback") is True else fallback
    chosen = choose_default(found.values(), (default, fallback))
    return [replace(model, is_default=model is chosen) for model in found.values()]


def find_included_model(models: Sequence[ModelInfo]) -> str | None:
    """Return the first usable model that pickers show and that costs nothing beyond the plan."""
    offered = [model for model in models if model.picker_enabled and can_be_used(model)]
    return next((model.model for model in offered if model.billing and cost(model) == 0), None)


def plans_hint(model: ModelInfo | None) -> str:
    """Return a space and a sentence with the plans that include the model; empty if the list names none."""
    plans = model.billing.restricted_to if model is not None and model.billing is not None else None
    return f" Plans that include it: {', '.join(plans)}." if plans else ""


def _read_model(row: Any, provider: str) -> ModelInfo | None:
    """Decode one row; return None if it is not a chat model.

    Raises:
        KeyError, TypeError, ValueError: the row has no valid id, or is not an object.
    """
    if not isinstance(row, Mapping):
        raise TypeError(f"a row is {type(row).__name__}")
    model = row["id"]
    if not isinstance(model, str) or not model:
        raise ValueError("the id is not a name")
    capabilities = mapping_in(row.get("capabilities"))
    if capabilities.get("type", "chat") != "chat":
        return None
    limits, supports = mapping_in(capabilities.get("limits")), mapping_in(capabilities.get("supports"))
    # The service lists only abilities that are true. Without the list they are unknown.
    is_listed = bool(supports)
    levels = texts_in(supports.get("reasoning_effort"))
    policy = mapping_in(row.get("policy"))
    endpoints = texts_in(row.get("supported_endpoints"))
    notes = [*_read_notes(row.get("warning_messages")), *_read_notes(row.get("info_messages"))]
    return ModelInfo(
        provider=provider,
        model=model,
        name=text_in(row.get("name")) or model,
        family=text_in(capabilities.get("family")) or model,
        version=text_in(row.get("version")) or model,
        vendor=text_in(row.get("vendor")) or None,
        max_context_tokens=limit_in(limits.get("max_context_window_tokens")),
        max_prompt_tokens=limit_in(limits.get("max_prompt_tokens")),
        max_output_tokens=limit_in(limits.get("max_output_tokens")),
        max_prompt_images=limit_in(mapping_in(limits.get("vision")).get("max_prompt_images")),
        supports_vision=supports.get("vision") is True if is_listed else None,
        supports_tool_use=supports.get("tool_calls") is True if is_listed else None,
        supports_parallel_tool_calls=supports.get("parallel_tool_calls") is True if is_listed else None,
        supports_streaming=supports.get("streaming") is True if is_listed else True,
        supports_thinking=any(supports.get(key) for key in _THINKING) if is_listed else None,
        # The list mentions only schemas, not whether plain JSON mode works.
        supports_json=True if supports.get("structured_outputs") is True else None,
        thinking_levels=levels or None,
        preview=row.get("preview") is True,
        deprecated=any(code in _DEPRECATED for code, _ in notes),
        picker_enabled=row.get("model_picker_enabled") is not False,
        policy=_POLICIES.get(text_in(policy.get("state")), "unconfigured") if policy else None,
        policy_terms=text_in(policy.get("terms")) or None,
        billing=_read_billing(mapping_in(row.get("billing"))),
        # A model without this list predates the other routes, so it supports only chat completions.
        endpoints=endpoints or [CHAT_COMPLETIONS],
        messages=[text for _, text in notes] or None,
    )


def _read_billing(billing: Mapping[str, Any]) -> Billing | None:
    """Decode either shape, by API version: a multiplier of premium requests, or token prices."""
    premium, multiplier = billing.get("is_premium"), billing.get("multiplier")
    prices = billing.get("token_prices")
    plans = texts_in(billing.get("restricted_to")) or None
    if premium is None and multiplier is None and prices is None and plans is None:
        return None
    return Billing(
        is_premium=premium if isinstance(premium, bool) else None,
        multiplier=number_in(multiplier),
        token_prices=prices if isinstance(prices, Mapping) else None,
        restricted_to=plans,
    )


def _read_notes(messages: Any) -> list[tuple[str, str]]:
    """Return `[{"code", "message"}]` as pairs, without empty messages."""
    rows = [mapping_in(message) for message in messages] if isinstance(messages, list) else []
    return [(text_in(row.get("code")), text) for row in rows if (text := text_in(row.get("message")))]
