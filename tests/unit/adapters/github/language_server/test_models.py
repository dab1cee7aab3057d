"""The rows of a language server's list of models, the default model, and terms."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jumpseat.adapters.github.default_model import default_model
from jumpseat.adapters.github.language_server.models import (
    COMPLETION_MODEL,
    LanguageServerModels,
    read_models,
)
from jumpseat.chat import AuthenticationError, AuthorizationError, Billing, ProtocolError, RequestError
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

PRICES = {"batchSize": 1_000_000, "default": {"inputPrice": 330, "outputPrice": 1650}}


def row(name: str, /, **more: Any) -> dict[str, Any]:
    base = {
        "id": name,
        "modelName": name.title(),
        "modelFamily": name,
        "vendor": "OpenAI",
        "scopes": ["chat-panel", "agent-panel"],
        "preview": False,
        "isChatDefault": False,
        "isChatFallback": False,
        "capabilities": {"supports": {"vision": True, "supportsReasoningEffortLevel": False}},
    }
    return {**base, **more}


COMPLETION_ROW = {"id": "gpt-41-copilot", "modelName": "GPT-4.1 Copilot", "scopes": ["completion"]}


class Server:
    """A connection with scripted responses. The last response of a method repeats."""

    def __init__(self, **answers: list[Any]) -> None:
        self.answers = {
            "copilot/models": answers["models"],
            "copilot/setModelPolicy": answers.get("policy", []),
        }
        self.asked: list[tuple[str, Any]] = []

    async def request(self, method: str, params: Any = None, *, seconds: float | None) -> Any:
        assert seconds is not None, "an unattended request needs a timeout"
        self.asked.append((method, params))
        answers = self.answers[method]
        answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer


def connection(**answers: list[Any]) -> Any:
    return Server(**answers)


@pytest.mark.requirement("language-server:models")
def test_a_row_has_limits_capabilities_policy_and_price() -> None:
    (model,) = read_models(
        [
            row(
                "claude-sonnet-4.6",
                modelName="Claude Sonnet 4.6",
                vendor="Anthropic",
                preview=True,
                capabilities={
                    "supports": {
                        "vision": True,
                        "reasoningEfforts": ["low", "medium", "high"],
                        "supportsReasoningEffortLevel": True,
                    },
                    "limits": {
                        "maxContextWindowTokens": 200_000,
                        "maxInputTokens": 168_000,
                        "maxOutputTokens": 32_000,
                    },
                },
                modelPolicy={"state": "unconfigured", "terms": "Enable access."},
                billing={"isPremium": True, "multiplier": 1.5, "tokenPrices": PRICES},
                degradationReason="This model is slow today.",
            )
        ],
        "cls",
    )

    assert (model.id, model.name, model.family) == (
        "cls:claude-sonnet-4.6",
        "Claude Sonnet 4.6",
        "claude-sonnet-4.6",
    )
    assert (model.max_context_tokens, model.max_prompt_tokens, model.max_output_tokens) == (
        200_000,
        168_000,
        32_000,
    )
    assert (model.supports_vision, model.supports_thinking) == (True, True)
    assert model.thinking_levels == ["low", "medium", "high"]
    assert (model.policy, model.policy_terms) == ("unconfigured", "Enable access.")
    assert model.billing == Billing(True, 1.5, PRICES)
    assert (model.vendor, model.preview, model.messages) == (
        "Anthropic",
        True,
        ["This model is slow today."],
    )


@pytest.mark.requirement("language-server:models", "language-server:capabilities")
def test_rows_do_not_have_tools_or_a_json_mode() -> None:
    (model,) = read_models([row("gpt-4.1", capabilities={"supports": {"toolCalls": True}})], "cls")

    assert (model.supports_tool_use, model.supports_json) == (False, False)


@pytest.mark.requirement("language-server:models-bad-rows")
def test_missing_facts_of_a_row_are_unknown() -> None:
    (model,) = read_models([{"id": "gpt-4.1"}], "cls")

    assert (model.name, model.family, model.vendor) == ("gpt-4.1", "gpt-4.1", None)
    assert (model.max_context_tokens, model.max_prompt_tokens, model.max_output_tokens) == (None, None, None)
    assert (model.supports_vision, model.supports_thinking, model.thinking_levels) == (None, None, None)
    assert (model.policy, model.billing, model.messages) == (None, None, None)


@pytest.mark.requirement("language-server:models-bad-rows")
@pytest.mark.parametrize(
    "bad",
    [
        None,
        7,
        "gpt-4.1",
        {},
        {"id": None},
        {"id": ""},
        {"id": 4},
    ],
)
def test_only_a_bad_row_is_dropped_with_a_line_in_the_log(caplog: pytest.LogCaptureFixture, bad: Any) -> None:
    with caplog.at_level(logging.WARNING):
        models = read_models([bad, row("gpt-4.1")], "cls")

    assert [model.model for model in models] == ["gpt-4.1"]
    assert "cannot be read" in caplog.text


@pytest.mark.requirement("language-server:models-bad-rows")
@pytest.mark.parametrize(
    "odd",
    [
        {"capabilities": 5},
        {"capabilities": {"supports": [], "limits": "many"}},
        {
            "capabilities": {
                "limits": {"maxOutputTokens": 0, "maxInputTokens": "1", "maxContextWindowTokens": True}
            }
        },
        {"modelPolicy": "enabled"},
        {"billing": [1]},
        {"billing": {"multiplier": True}},
        {"scopes": "chat-panel"},
        {"modelName": 5, "modelFamily": None, "vendor": {}},
        {"degradationReason": 5},
    ],
)
def test_a_key_of_another_type_is_an_unknown_fact(odd: dict[str, Any]) -> None:
    (model,) = read_models([row("gpt-4.1", **odd)], "cls")

    assert model.model == "gpt-4.1"
    assert all(limit is None for limit in (model.max_context_tokens, model.max_output_tokens))
    assert model.billing is None or model.billing.multiplier is None
    assert model.name


@pytest.mark.requirement("language-server:models-bad-rows")
@pytest.mark.parametrize("answer", [None, {}, {"models": []}, "no"])
def test_an_answer_without_a_list_is_an_error(answer: Any) -> None:
    with pytest.raises(ProtocolError, match="unknown shape"):
        read_models(answer, "cls")


@pytest.mark.requirement("language-server:models")
def test_chat_models_are_listed_once_and_those_of_completions_are_hidden() -> None:
    models = read_models(
        [row("a"), COMPLETION_ROW, row("a", modelName="Again"), row("b", scopes=["inline"])], "cls"
    )

    chat, completes = models
    assert (chat.model, chat.name, chat.picker_enabled, chat.supports_infill) == ("a", "A", True, False)
    assert (completes.name, completes.picker_enabled) == ("GPT-4.1 Copilot", False)
    assert completes.supports_infill
    assert not completes.is_default


@pytest.mark.requirement("language-server:models", "language-server:completion-models")
def test_completions_list_only_completion_models_without_capabilities() -> None:
    (model,) = read_models([row("gpt-4.1", isChatDefault=True), COMPLETION_ROW], "cls", completion=True)

    assert (model.model, model.name, model.is_default) == ("gpt-41-copilot", "GPT-4.1 Copilot", True)
    assert not model.supports_streaming
    assert [model.supports_vision, model.supports_tool_use, model.supports_thinking, model.supports_json] == [
        False
    ] * 4


@pytest.mark.requirement("language-server:completion-models")
def test_a_server_without_a_listed_completion_model_gets_a_built_in_row() -> None:
    models = read_models([row("gpt-4.1")], "cls", completion=True)

    assert [(model.model, model.is_default) for model in models] == [(COMPLETION_MODEL, True)]


PRICED = {"isPremium": True, "multiplier": 0, "tokenPrices": {"default": {"inputPrice": 5, "outputPrice": 9}}}
FREE = {"isPremium": True, "multiplier": 0, "tokenPrices": {"default": {"inputPrice": 0, "outputPrice": 0}}}


@pytest.mark.requirement("language-server:models")
def test_a_made_up_multiplier_of_a_model_with_prices_is_dropped() -> None:
    (model,) = read_models([row("a", billing=PRICED)], "cls")

    assert model.billing == Billing(None, None, PRICED["tokenPrices"])


DISABLED = {"modelPolicy": {"state": "disabled"}}


@pytest.mark.requirement("language-server:models-default")
@pytest.mark.parametrize(
    ("rows", "default"),
    [
        ([row("a"), row("b", isChatDefault=True), row("c", isChatFallback=True)], "b"),
        ([row("a"), row("b", isChatDefault=True, **DISABLED), row("c", isChatFallback=True)], "c"),
        ([row("a", billing={"multiplier": 3}), row("b", billing={"multiplier": 0})], "b"),
        ([row("a", preview=True, billing={"multiplier": 0}), row("b")], "b"),
        ([row("a", billing=PRICED), row("b", billing=FREE)], "b"),
        ([row("a", **DISABLED)], None),
        ([], None),
    ],
)
def test_the_default_is_the_servers_if_usable_else_the_cheapest_model(
    rows: list[dict[str, Any]], default: str | None
) -> None:
    models = read_models(rows, "cls")

    assert default_model(models) == default
    assert sum(model.is_default for model in models) == (default is not None)


@pytest.mark.requirement("language-server:models-bad-rows", "language-server:errors")
async def test_a_refused_list_is_an_error_of_its_kind() -> None:
    models = LanguageServerModels("cls")

    with pytest.raises(AuthenticationError):
        await models.fetch(connection(models=[RpcError(1000, "Not signed in")]))
    with pytest.raises(ProtocolError):
        await models.fetch(connection(models=[RpcError(METHOD_NOT_FOUND, "Method not found")]))


@pytest.mark.requirement("language-server:completion-models")
async def test_an_older_server_without_a_model_list_has_the_completion_model() -> None:
    models = LanguageServerModels("cls")
    server = connection(models=[RpcError(METHOD_NOT_FOUND, "Method not found")])

    listed = await models.fetch(server, completion=True)

    assert [model.model for model in listed] == [COMPLETION_MODEL]


@pytest.mark.requirement("language-server:models-change")
async def test_the_list_is_kept_until_it_is_dropped() -> None:
    models = LanguageServerModels("cls")
    await models.fetch(connection(models=[[row("a")]]))
    known = models.known

    assert [model.model for model in known] == ["a", COMPLETION_MODEL]
    assert models.row("a") is known[0]
    assert models.row("b") is None
    models.forget()
    assert models.known == ()


UNACCEPTED = row("a", modelPolicy={"state": "unconfigured", "terms": "Terms."})
ACCEPTED = row("a", modelPolicy={"state": "enabled", "terms": "Terms."})


@pytest.mark.requirement("language-server:terms")
async def test_terms_are_accepted_and_checked_in_the_list() -> None:
    server = connection(models=[[UNACCEPTED], [ACCEPTED]], policy=["OK"])

    accepted = await LanguageServerModels("cls").accept_terms(server, "a")

    assert accepted.policy == "enabled"
    assert server.asked == [
        ("copilot/models", {}),
        ("copilot/setModelPolicy", {"model": "a", "status": "enabled"}),
        ("copilot/models", {}),
    ]


@pytest.mark.requirement("language-server:terms")
@pytest.mark.parametrize("answer", ["OK", RpcError(-32603, "Failed to accept model policy")])
async def test_an_acceptance_without_effect_is_an_error_whatever_the_answer(answer: Any) -> None:
    server = connection(models=[[UNACCEPTED]], policy=[answer])

    with pytest.raises(AuthorizationError, match="still not enabled") as caught:
        await LanguageServerModels("cls").accept_terms(server, "a")
    assert "plan" in (caught.value.hint or "")


@pytest.mark.requirement("language-server:terms")
async def test_accepted_terms_are_not_accepted_again() -> None:
    server = connection(models=[[ACCEPTED]])

    assert (await LanguageServerModels("cls").accept_terms(server, "a")).policy == "enabled"
    assert [method for method, _ in server.asked] == ["copilot/models"]


@pytest.mark.requirement("language-server:terms")
@pytest.mark.parametrize(
    ("model", "words"), [("nothing", "has no model 'nothing'"), ("free", "cls:free has no terms to accept")]
)
async def test_an_unlisted_model_or_one_without_terms_is_refused_without_an_acceptance(
    model: str, words: str
) -> None:
    server = connection(models=[[UNACCEPTED, row("free")]])

    with pytest.raises(RequestError, match=words):
        await LanguageServerModels("cls").accept_terms(server, model)
    assert [method for method, _ in server.asked] == ["copilot/models"]


@pytest.mark.requirement("language-server:terms")
async def test_a_server_that_cannot_accept_terms_gets_an_error_that_proposes_an_update() -> None:
    server = connection(models=[[UNACCEPTED]], policy=[RpcError(METHOD_NOT_FOUND, "Method not found")])

    with pytest.raises(ProtocolError) as caught:
        await LanguageServerModels("cls").accept_terms(server, "a")
    assert "Update" in (caught.value.hint or "")
