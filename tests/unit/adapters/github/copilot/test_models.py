"""The rows of Copilot's list of models in old and new formats, and the default model."""

from __future__ import annotations

import logging

import pytest

from jumpseat.adapters.github.copilot.models import read_models
from jumpseat.adapters.github.default_model import default_model
from jumpseat.chat import Billing, ProtocolError

PRICES = {"batch_size": 1_000_000, "default": {"input_price": 330, "output_price": 1650}}


def row(name, /, **more):
    base = {
        "id": name,
        "name": name.title(),
        "version": name,
        "vendor": "OpenAI",
        "model_picker_enabled": True,
        "capabilities": {"type": "chat", "family": name, "supports": {"streaming": True}},
    }
    return {**base, **more}


def models(*rows):
    return read_models({"data": list(rows), "object": "list"}, "copilot")


@pytest.mark.requirement("copilot:models")
def test_a_row_has_limits_capabilities_policy_and_warnings():
    (model,) = models(
        row(
            "claude-sonnet-4.6",
            capabilities={
                "type": "chat",
                "family": "claude-sonnet-4.6",
                "limits": {
                    "max_context_window_tokens": 1_000_000,
                    "max_prompt_tokens": 936_000,
                    "max_output_tokens": 64_000,
                    "vision": {"max_prompt_images": 5},
                },
                "supports": {
                    "streaming": True,
                    "tool_calls": True,
                    "parallel_tool_calls": True,
                    "vision": True,
                    "structured_outputs": True,
                    "reasoning_effort": ["low", "medium", "high", "max"],
                },
            },
            policy={"state": "disabled", "terms": "Enable access."},
            preview=True,
            supported_endpoints=["/chat/completions", "/v1/messages"],
            warning_messages=[{"code": "model_pending_deprecation", "message": "It goes in May."}],
            info_messages=[{"code": "x", "message": "Be nice."}, {"code": "y"}, 7],
        )
    )

    assert (model.max_context_tokens, model.max_prompt_tokens, model.max_output_tokens) == (
        1_000_000,
        936_000,
        64_000,
    )
    assert model.supports_vision
    assert model.supports_tool_use
    assert model.supports_parallel_tool_calls
    assert model.max_prompt_images == 5
    assert model.supports_thinking
    assert model.supports_json
    assert model.thinking_levels == ["low", "medium", "high", "max"]
    assert (model.policy, model.policy_terms) == ("disabled", "Enable access.")
    assert model.preview
    assert model.deprecated
    assert model.endpoints == ["/chat/completions", "/v1/messages"]
    assert model.messages == ["It goes in May.", "Be nice."]


@pytest.mark.requirement("copilot:models")
def test_unlisted_capabilities_are_false_and_without_a_list_all_are_unknown():
    bare, silent = models(row("a"), row("b", capabilities={"type": "chat"}))

    assert (bare.supports_vision, bare.supports_tool_use, bare.supports_thinking) == (False, False, False)
    assert (silent.supports_vision, silent.supports_tool_use, silent.supports_thinking) == (None, None, None)
    assert silent.max_context_tokens is None
    assert silent.endpoints == ["/chat/completions"]


@pytest.mark.requirement("copilot:models")
@pytest.mark.parametrize(
    ("billing", "expected"),
    [
        ({"is_premium": True, "multiplier": 0.33}, Billing(True, 0.33, None)),
        ({"token_prices": PRICES, "restricted_to": ["pro"]}, Billing(None, None, PRICES, ["pro"])),
        ({"restricted_to": ["pro", "max"]}, Billing(restricted_to=["pro", "max"])),
        ({}, None),
        ({"multiplier": "1"}, Billing(None, None, None)),
    ],
)
def test_both_formats_of_billing_are_read(billing, expected):
    (model,) = models(row("a", billing=billing))

    assert model.billing == expected


@pytest.mark.requirement("copilot:models")
@pytest.mark.parametrize("broken", [None, 7, "row", {}, {"id": ""}, {"id": 5}, []])
def test_only_a_malformed_row_is_dropped_and_logged(broken, caplog):
    with caplog.at_level(logging.WARNING):
        found = models(row("a"), broken, row("b"))

    assert [model.model for model in found] == ["a", "b"]
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "garbled", [{"policy": 3}, {"billing": []}, {"supported_endpoints": "x"}, {"name": 1}]
)
def test_a_field_of_a_wrong_type_is_ignored(garbled):
    (model,) = models(row("a", **garbled))

    assert model.model == "a"


def test_only_chat_models_are_listed():
    embeddings = row("ada", capabilities={"type": "embeddings"})

    assert [model.model for model in models(embeddings, row("a"))] == ["a"]


def test_the_latest_version_of_rows_with_one_id_is_used():
    found = models(row("a", version="2024-01"), row("a", version="2025-01"), row("a", version="2023-01"))

    assert [model.version for model in found] == ["2025-01"]


@pytest.mark.parametrize("answer", [None, {}, {"data": None}, "x"])
def test_an_answer_without_rows_is_a_protocol_error(answer):
    with pytest.raises(ProtocolError, match="unknown shape"):
        read_models(answer, "copilot")


OFF = {"policy": {"state": "disabled"}}


@pytest.mark.requirement("copilot:default-model")
@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("a"), row("b", is_chat_default=True)], "b"),
        ([row("a", is_chat_fallback=True), row("b", is_chat_default=True, **OFF)], "a"),
        ([row("a", **OFF), row("b", billing={"multiplier": 1}), row("c", billing={"multiplier": 0})], "c"),
        ([row("hidden", model_picker_enabled=False), row("b", billing={"multiplier": 3})], "b"),
        ([row("new", preview=True), row("b", billing={"multiplier": 1})], "b"),
        ([row("a", **OFF), row("b", policy={"state": "pending"})], None),
        ([], None),
    ],
)
def test_the_default_is_a_model_that_the_account_can_use(rows, expected):
    found = models(*rows)

    assert default_model(found) == expected
    assert sum(model.is_default for model in found) == (expected is not None)
