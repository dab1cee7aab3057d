"""The objects of `jumpseat.chat` on the wire: keys, absent values, and values without a wire form."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.adapters.base.account import AuthStatus, Quota
from jumpseat.chat import (
    Billing,
    Cost,
    DoneEvent,
    ProgressEvent,
    RateLimitError,
    Response,
    StreamEvent,
    TextBlock,
    ToolUseBlock,
    Usage,
    WarningEvent,
)
from jumpseat.config import SettingRow
from jumpseat.rpc.encode import (
    model_to_wire,
    object_to_wire,
    result_to_wire,
    setting_to_wire,
    to_camel_case,
    to_wire,
)
from jumpseat.rpc.handlers.lifecycle import DELTA_TYPES
from tests.unit.scripted import model_info

USAGE = {"inputTokens": 1, "outputTokens": 2, "cacheReadTokens": 0, "cacheCreationTokens": 0}


@pytest.mark.parametrize(
    ("name", "key"), [("a", "a"), ("max_output_tokens", "maxOutputTokens"), ("is_premium", "isPremium")]
)
def test_keys_are_camel_case(name: str, key: str) -> None:
    assert to_camel_case(name) == key


@pytest.mark.requirement("2:result")
def test_a_result_has_the_contracts_keys() -> None:
    call = ToolUseBlock("c", "grep", {}, "{}")
    response = Response(
        provider="p",
        model="m",
        content=[TextBlock("a"), call, TextBlock("b")],
        stop_reason="tool_use",
        raw_stop_reason="tool_calls",
        response_id="r",
        usage=Usage(1, 2, reasoning_tokens=0, cost=Cost(0.5, "USD")),
    )
    wire_call = {"type": "tool_use", "id": "c", "name": "grep", "arguments": {}, "raw": "{}"}

    assert result_to_wire(response, "t") == {
        "turnId": "t",
        "provider": "p",
        "model": "m",
        "responseId": "r",
        "content": [{"type": "text", "text": "a"}, wire_call, {"type": "text", "text": "b"}],
        "text": "ab",
        "toolCalls": [wire_call],
        "stopReason": "tool_use",
        "rawStopReason": "tool_calls",
        "usage": {**USAGE, "reasoningTokens": 0, "cost": {"amount": 0.5, "currency": "USD"}},
    }


@pytest.mark.requirement("2:result")
def test_an_empty_result_has_empty_arrays_and_no_stop_reason() -> None:
    warning = {"code": "a", "message": "b"}
    warned = Response(provider="p", model="m", usage=Usage(1, 2), warnings=[WarningEvent(**warning)])
    assert result_to_wire(warned, "t") == {
        **result_to_wire(replace(warned, usage=None, warnings=()), "t"),
        "usage": USAGE,
        "warnings": [warning],
    }
    assert result_to_wire(Response(provider="p", model="m"), "t") == {
        "turnId": "t",
        "provider": "p",
        "model": "m",
        "content": [],
        "text": "",
        "toolCalls": [],
    }


@pytest.mark.requirement("3:model-info")
def test_unknown_limits_of_a_model_are_absent() -> None:
    assert model_to_wire(model_info("p", "m"), is_default=True) == {
        "id": "p:m",
        "provider": "p",
        "model": "m",
        "name": "m",
        "family": "m",
        "version": "1",
        "supportsVision": False,
        "supportsToolUse": False,
        "supportsStreaming": True,
        "supportsThinking": False,
        "supportsJson": False,
        "preview": False,
        "deprecated": False,
        "pickerEnabled": True,
        "isDefault": True,
    }


def test_facts_missing_from_a_models_row_are_the_providers_capabilities() -> None:
    capabilities = Capabilities(vision=False)
    wire = model_to_wire(
        model_info("p", "m", supports_json=False), is_default=False, capabilities=capabilities
    )

    supports = {key: wire[f"supports{key}"] for key in ("Vision", "ToolUse", "Thinking", "Json")}
    assert supports == {"Vision": False, "ToolUse": True, "Thinking": True, "Json": False}


def test_known_facts_of_a_model_are_encoded() -> None:
    info = model_info(
        "p",
        "m",
        max_context_tokens=8,
        thinking_levels=("low",),
        policy="unconfigured",
        billing=Billing(is_premium=False, token_prices={"input_price": 1}),
        messages=[],
    )
    wire = model_to_wire(info, is_default=False)

    assert (wire["maxContextTokens"], wire["thinkingLevels"], wire["policy"]) == (8, ["low"], "unconfigured")
    assert wire["billing"] == {"isPremium": False, "tokenPrices": {"input_price": 1}}
    assert (wire["messages"], wire["isDefault"]) == ([], False)


@pytest.mark.requirement("2:thinking-levels")
@pytest.mark.parametrize(
    ("efforts", "levels"),
    [
        (("none", "low", "high", "xhigh"), ["off", "low", "high", "max"]),
        (("minimal", "xhigh", "max"), ["minimal", "max"]),
        (("strange",), []),
    ],
)
def test_the_levels_of_a_model_are_those_that_a_chat_may_request(efforts, levels) -> None:
    wire = model_to_wire(model_info("p", "m", thinking_levels=efforts), is_default=False)

    assert wire["thinkingLevels"] == levels


@pytest.mark.requirement("8:auth-status")
def test_an_auth_status_has_the_known_values_with_times_in_utc() -> None:
    until = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
    quota = Quota(name="chat", unlimited=False, percent_remaining=50.0, reset_at=until)
    status = AuthStatus(provider="p", state="signed_in", expires_at=until, chat_enabled=True, quotas=[quota])

    assert object_to_wire(status) == {
        "provider": "p",
        "state": "signed_in",
        "expiresAt": "2030-01-02T03:04:05Z",
        "chatEnabled": True,
        "quotas": [
            {"name": "chat", "unlimited": False, "percentRemaining": 50.0, "resetAt": "2030-01-02T03:04:05Z"}
        ],
    }


def test_a_row_of_a_schema_has_its_rules_and_no_unknown_key() -> None:
    row = SettingRow.model_validate({"type": "number", "order": 2, "minimum": 0, "unknown": 1})

    assert setting_to_wire("t", row) == {
        "key": "t",
        "type": "number",
        "description": "",
        "order": 2,
        "minimum": 0,
        "optional": False,
        "mapping": "parameters",
    }


def test_every_event_that_is_a_delta_is_announced() -> None:
    assert {each.type for each in get_args(StreamEvent)} - {ProgressEvent.type} == set(DELTA_TYPES)


def test_an_end_in_an_error_has_the_error_and_the_content() -> None:
    event: StreamEvent = DoneEvent("error", Usage(1, 2), "raw", RateLimitError("Slow."), [])

    assert to_wire(event) == {
        "type": "done",
        "stopReason": "error",
        "usage": USAGE,
        "error": {"code": 1002, "message": "Slow.", "data": {"kind": "rate_limit", "retryable": True}},
        "content": [],
    }


@pytest.mark.parametrize("value", [object(), {"a": object()}, [b"bytes"], TextBlock, {1, 2}])
def test_a_value_without_a_wire_form_is_an_error_at_encoding(value: Any) -> None:
    with pytest.raises(TypeError, match="has no wire form"):
        to_wire(value)
