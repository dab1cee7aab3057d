"""The adapter's request is planned from the client's request: checks, defaults, degradation with warnings."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.adapters.base import Adapter, Capabilities, ChatTraits
from jumpseat.chat import (
    DocumentBlock,
    ImageBlock,
    InvalidRequestError,
    JsonSchemaOutput,
    Message,
    NamedTool,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    RequestError,
    TextBlock,
    ThinkingBlock,
    ThinkingLevel,
    ToolDefinition,
    ToolResultBlock,
)
from jumpseat.config import SettingRow
from jumpseat.engine import TurnRequest
from jumpseat.engine.plan import Plan, plan_turn
from jumpseat.providers import ResolvedModel
from tests.unit.engine.blocks import TEXT, assistant, call, result, user
from tests.unit.scripted import ScriptedAdapter, ask, model_info

HERE = Origin("fake", "m")
ELSEWHERE = (Origin("fake", "other"), Origin("other", "m"))
ROWS = {
    "temperature": SettingRow(type="number", maximum=2, default=1),
    "seed": SettingRow(type="integer"),
    "mode": SettingRow(type="string", default="plain"),
}
TOOL = ToolDefinition("grep")


def plan_chat(
    asked: TurnRequest,
    *,
    capabilities: Capabilities | None = None,
    facts: dict[str, Any] | None = None,
    saved: dict[str, Any] | None = None,
    saved_max_tokens: int | None = None,
    adapter: Adapter | None = None,
) -> Plan:
    info = None if facts is None else model_info("fake", "m", **facts)
    target = ResolvedModel("fake", adapter or ScriptedAdapter(), "m", info)
    return plan_turn(asked, target, capabilities or Capabilities(), ROWS, saved or {}, saved_max_tokens)


def codes(result: Plan) -> list[str]:
    return [warning.code for warning in result.warnings]


def test_the_request_of_the_client_is_sent_unchanged() -> None:
    asked = ask(
        system="Be brief.",
        tools=(TOOL,),
        tool_choice=NamedTool("grep"),
        stop_sequences=("END",),
        stream=False,
        output_mode=JsonSchemaOutput({"type": "object"}),
        thinking="high",
        conversation_id="c",
        initiator="agent",
    )
    plan = plan_chat(asked)
    request = plan.request

    assert request.model == "m"
    assert list(request.messages) == list(asked.messages)
    for name in (
        "system",
        "tools",
        "tool_choice",
        "stop_sequences",
        "stream",
        "output_mode",
        "thinking",
        "conversation_id",
        "initiator",
    ):
        assert getattr(request, name) == getattr(asked, name), name
    assert plan.warnings == []


@pytest.mark.parametrize(
    ("last", "initiator"),
    [
        (user(TEXT), "user"),
        (user(result("1"), TEXT), "agent"),
        (assistant(call("2")), "agent"),
    ],
)
def test_the_initiator_follows_from_the_messages(last: Message, initiator: str) -> None:
    assert plan_chat(ask(user(TEXT), assistant(call("1")), last)).request.initiator == initiator


@pytest.mark.requirement("2:foreign-opaque")
@pytest.mark.parametrize("origin", ELSEWHERE)
def test_reasoning_and_opaque_data_of_another_model_are_dropped_with_a_warning(origin: Origin) -> None:
    blocks = (
        ThinkingBlock("hm", "sig", origin=origin, opaque="o"),
        RedactedThinkingBlock("xyz", origin=origin),
        TextBlock("hi", origin=origin, opaque="o"),
        call("1", origin=origin, opaque="o"),
        OtherBlock("search", "found", origin=origin, opaque="o"),
        TextBlock("plain", origin=origin),
    )
    plan = plan_chat(ask(user(TEXT), assistant(*blocks), user(result("1"))))

    assert list(plan.request.messages[1].content) == [
        TextBlock("hi", origin=origin),
        call("1", origin=origin),
        OtherBlock("search", "found", origin=origin),
        TextBlock("plain", origin=origin),
    ]
    assert codes(plan) == ["foreign_data_dropped"]
    assert "(5 blocks)" in plan.warnings[0].message


@pytest.mark.parametrize("origin", [HERE, None])
def test_blocks_of_this_model_go_back_unchanged(origin: Origin | None) -> None:
    blocks = (ThinkingBlock("", "sig", origin=origin, opaque="o"), TextBlock("hi", origin=origin, opaque="o"))
    plan = plan_chat(ask(user(TEXT), assistant(*blocks), user(TEXT)))

    assert tuple(plan.request.messages[1].content) == blocks
    assert plan.warnings == []


@pytest.mark.requirement("2:degradation")
@pytest.mark.parametrize(
    ("capabilities", "facts", "refused"),
    [
        (Capabilities(), None, False),
        (Capabilities(tool_calls=False, vision=False), None, True),
        (Capabilities(), {"supports_tool_use": True, "supports_vision": True}, False),
        (Capabilities(), {"supports_tool_use": False, "supports_vision": False}, True),
        (
            Capabilities(tool_calls=False, vision=False),
            {"supports_tool_use": True, "supports_vision": True},
            True,
        ),
    ],
)
@pytest.mark.parametrize(
    ("asked", "what"),
    [(ask(tools=(TOOL,)), "tools"), (ask(user(ImageBlock("https://example/x.png"))), "images")],
    ids=["tools", "images"],
)
def test_tools_and_images_are_refused_for_a_model_that_does_not_take_them(
    asked: TurnRequest, what: str, capabilities: Capabilities, facts: dict[str, Any] | None, refused: bool
) -> None:
    if not refused:
        assert plan_chat(asked, capabilities=capabilities, facts=facts).warnings == []
        return
    with pytest.raises(RequestError, match=f"m of fake does not accept {what}") as caught:
        plan_chat(asked, capabilities=capabilities, facts=facts)
    assert caught.value.provider == "fake"
    assert caught.value.hint


def test_tools_that_must_not_be_called_are_not_refused() -> None:
    assert plan_chat(
        ask(tools=(TOOL,), tool_choice="none"), capabilities=Capabilities(tool_calls=False)
    ).request


@pytest.mark.requirement("2:degradation")
@pytest.mark.parametrize(
    ("asked", "capabilities", "code", "sent"),
    [
        (
            {"output_mode": "json"},
            Capabilities(json_mode=False),
            "json_mode_dropped",
            {"output_mode": "text"},
        ),
        (
            {"output_mode": JsonSchemaOutput({})},
            Capabilities(json_mode=False),
            "json_mode_dropped",
            {"output_mode": "text"},
        ),
        ({"output_mode": "text"}, Capabilities(json_mode=False), None, {"output_mode": "text"}),
        ({"thinking": "low"}, Capabilities(thinking=False), "thinking_dropped", {"thinking": None}),
        ({"thinking": "off"}, Capabilities(thinking=False), None, {"thinking": "off"}),
        ({"thinking": None}, Capabilities(thinking=False), None, {"thinking": None}),
    ],
)
def test_options_that_a_provider_does_not_take_are_dropped_with_a_warning(
    asked: dict[str, Any], capabilities: Capabilities, code: str | None, sent: dict[str, Any]
) -> None:
    plan = plan_chat(ask(**asked), capabilities=capabilities)

    assert codes(plan) == ([code] if code else [])
    assert {key: getattr(plan.request, key) for key in sent} == sent


@pytest.mark.requirement("2:degradation")
@pytest.mark.parametrize("supports", [True, False, None])
def test_json_mode_and_thinking_are_dropped_if_the_model_lacks_them(supports: bool | None) -> None:
    plan = plan_chat(
        ask(output_mode="json", thinking="low"),
        facts={"supports_json": supports, "supports_thinking": supports},
    )

    assert codes(plan) == (["json_mode_dropped", "thinking_dropped"] if supports is False else [])
    assert all(
        warning.message.startswith("The model m of fake does not support ") for warning in plan.warnings
    )


class Reader(ScriptedAdapter):
    """Accepts PDFs."""

    traits = ChatTraits(document_types=("application/pdf",))


@pytest.mark.requirement("2:documents")
def test_a_document_is_refused_if_the_dialect_does_not_accept_its_type() -> None:
    pdf, sheet = DocumentBlock("AAAA", "application/pdf"), DocumentBlock("AAAA", "application/vnd.ms-excel")

    assert plan_chat(ask(user(pdf)), adapter=Reader()).warnings == []
    for document, adapter in ((pdf, ScriptedAdapter()), (sheet, Reader())):
        with pytest.raises(RequestError, match="does not accept documents of the type application/"):
            plan_chat(ask(user(document)), adapter=adapter)


@pytest.mark.requirement("2:result-media")
def test_an_image_in_a_result_becomes_a_note_for_a_model_without_vision() -> None:
    image = ImageBlock("AAAA", "image/png")
    asked = ask(user(TEXT), assistant(call("1")), user(ToolResultBlock("1", (TextBlock("a"), image))))
    seen = plan_chat(asked)
    noted = plan_chat(asked, facts={"supports_vision": False})

    assert (seen.request.messages[2].content[0].media, seen.warnings) == ((image,), [])
    assert noted.request.messages[2].content[0].content.startswith("a[The tool returned the image")
    assert codes(noted) == ["images_dropped"]


@pytest.mark.requirement("2:degradation")
def test_a_missing_fact_of_a_listed_model_does_not_refuse_the_chat() -> None:
    asked = ask(user(ImageBlock("https://example/x.png")), tools=(TOOL,))

    assert plan_chat(asked, facts={}).warnings == []


@pytest.mark.requirement("2:max-tokens")
@pytest.mark.parametrize(
    ("asked", "saved", "limit", "sent"),
    [
        (None, None, None, 8192),
        (None, 500, None, 500),
        (100, 500, None, 100),
        (100_000, None, None, 100_000),
        (100_000, None, 4096, 4096),
        (None, None, 4096, 4096),
        (100, None, 4096, 100),
    ],
)
def test_max_tokens_is_the_requested_or_saved_value_or_8192_up_to_the_models_limit(
    asked: int | None, saved: int | None, limit: int | None, sent: int
) -> None:
    plan = plan_chat(ask(max_tokens=asked), facts={"max_output_tokens": limit}, saved_max_tokens=saved)

    assert plan.request.max_tokens == sent


@pytest.mark.requirement("2:max-tokens")
@pytest.mark.parametrize(
    ("model", "level", "facts", "sent"),
    [
        ("m", "off", {}, 8192),
        ("m", "minimal", {}, 9216),
        ("m", "low", {}, 12_288),
        ("m", "medium", {}, 16_384),
        ("m", "high", {}, 24_576),
        ("m", "max", {}, 40_960),
        ("m", "max", {"max_output_tokens": 16_000}, 16_000),
        ("m", "high", {"supports_thinking": False}, 8192),
        ("m", None, {}, 8192),
        ("m", None, {"supports_thinking": True}, 16_384),
        ("gpt-5", None, {}, 16_384),
        ("openai/o3", None, {}, 16_384),
        ("gpt-5.1", None, {"supports_thinking": True}, 8192),
        ("gpt-5", "off", {}, 8192),
        ("claude-sonnet-4-5", None, {"supports_thinking": True}, 8192),
        ("claude-opus-5-5", None, {}, 16_384),
    ],
)
def test_a_default_limit_has_room_for_thinking_by_request_or_by_default(
    model: str, level: ThinkingLevel | None, facts: dict[str, Any], sent: int
) -> None:
    target = ResolvedModel("fake", ScriptedAdapter(), model, model_info("fake", model, **facts))
    request = plan_turn(ask(thinking=level), target, Capabilities(), ROWS, {}, None).request

    assert (request.max_tokens, request.answer_tokens) == (sent, 8192)


@pytest.mark.requirement("2:max-tokens")
@pytest.mark.parametrize("limits", [{"max_tokens": 1000}, {"saved": 1000}])
def test_a_limit_set_by_client_or_user_is_not_raised_for_thinking(limits: dict[str, int]) -> None:
    asked = ask(thinking="high", max_tokens=limits.get("max_tokens"))
    request = plan_chat(asked, saved_max_tokens=limits.get("saved")).request

    assert (request.max_tokens, request.answer_tokens) == (1000, None)


@pytest.mark.parametrize(
    ("asked", "saved", "sent"),
    [
        ({}, {}, {"temperature": 1, "mode": "plain"}),
        ({}, {"seed": 4}, {"temperature": 1, "mode": "plain", "seed": 4}),
        ({"temperature": 0}, {"temperature": 2}, {"temperature": 0, "mode": "plain"}),
        ({}, {"temperature": 0.5}, {"temperature": 0.5, "mode": "plain"}),
        ({}, {"temperature": 99, "unknown": 1, "seed": "x"}, {"temperature": 1, "mode": "plain"}),
    ],
)
def test_requested_settings_override_saved_ones_which_override_the_schemas_defaults(
    asked: dict[str, Any], saved: dict[str, Any], sent: dict[str, Any]
) -> None:
    assert plan_chat(ask(settings=asked), saved=saved).request.settings == sent


@pytest.mark.requirement("2:settings")
def test_all_settings_that_break_their_rows_are_reported_together() -> None:
    with pytest.raises(InvalidRequestError, match=r"settings\.temperature must be at most 2\.") as caught:
        plan_chat(ask(settings={"temperature": 3, "colour": "red"}))

    assert [problem.path for problem in caught.value.problems] == ["settings.temperature", "settings.colour"]


class Brief(ScriptedAdapter):
    """Has a small default of `max_tokens`."""

    traits = ChatTraits(default_max_tokens=1024)


@pytest.mark.requirement("2:max-tokens")
def test_max_tokens_of_client_and_user_override_the_providers_default() -> None:
    assert plan_chat(ask(), adapter=Brief()).request.max_tokens == 1024
    assert plan_chat(ask(), adapter=Brief(), saved_max_tokens=4000).request.max_tokens == 4000
    assert plan_chat(ask(max_tokens=2000), adapter=Brief()).request.max_tokens == 2000


class Tolerant(ScriptedAdapter):
    """Accepts a conversation that starts with the assistant."""

    traits = ChatTraits(user_begins=False)


@pytest.mark.requirement("2:opening")
def test_the_adapters_traits_say_whether_the_user_must_begin() -> None:
    asked = ask(assistant(TEXT), user(TEXT))

    assert codes(plan_chat(asked)) == ["opening_added"]
    tolerant = plan_chat(asked, adapter=Tolerant())
    assert (list(tolerant.request.messages), codes(tolerant)) == (list(asked.messages), [])
