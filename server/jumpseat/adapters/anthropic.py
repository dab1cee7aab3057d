"""Anthropic, and any endpoint that speaks its Messages API.

Owns the request, and what an endpoint has shown to refuse or its list has told of a model. Above it is the
provider registry; below it the dialect and HTTP. `anthropic_models` reads the list of models,
`anthropic_refusals` understands refusals.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

from jumpseat.adapters.anthropic_models import models_in
from jumpseat.adapters.anthropic_refusals import (
    is_about_thinking_sent_back,
    refused_parameter,
    rules_after_refusal,
    told_limit,
    without_thinking,
)
from jumpseat.adapters.base import Replan
from jumpseat.adapters.endpoint import EndpointAdapter
from jumpseat.adapters.endpoint_refusals import unknown_model
from jumpseat.chat import ChatError, ChatRequest, ModelInfo, ProtocolError, RequestError, StreamEvent
from jumpseat.config import ProviderConfig
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.anthropic_messages import (
    AnthropicMessagesDecoder,
    MessagesFacts,
    ModelRules,
    encode,
    encode_with_warnings,
    rules_of,
)
from jumpseat.dialects.anthropic_messages.models import told_rules
from jumpseat.http import HttpCall, HttpClient, Refine, get_json, stream_events

VERSION = "2023-06-01"
"""The version that every imitator knows; a configured header `anthropic-version` goes before it."""

VERSION_WITHOUT_SAMPLING = "2026-10-21"
"""From this version on `temperature`, `top_p` and `top_k` are refused for every model."""

PAGE = 1000
MAX_PAGES = 20

_COUNTED = frozenset({"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"})


class AnthropicAdapter(EndpointAdapter):
    """One endpoint. What it refused is remembered for each model, so that it is refused once only."""

    default_base_url = "https://api.anthropic.com"

    def __init__(self, provider: str, config: ProviderConfig, http: HttpClient) -> None:
        super().__init__(provider, config, http)
        # Somebody who copies the address out of an OpenAI set-up means the same host.
        self._base_url = self._base_url.removesuffix("/v1")
        self._rules: dict[str, ModelRules] = {}
        self._dropped: dict[str, frozenset[str]] = {}
        self._refused_forms: dict[str, frozenset[str]] = {}

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        """Make one attempt.

        Raises:
            ChatError: as `stream_events` raises it; `RequestError` names an unknown model.
            Replan: the endpoint refuses a parameter, or the thinking of earlier turns; the next attempt will
                leave it out or say it in another form.
            ConfigError: the credential cannot be had.
        """
        headers = self._headers()
        body, warnings = encode_with_warnings(request, self._facts(request.model, headers))
        for warning in warnings:
            yield warning
        call = HttpCall("POST", f"{self._base_url}/v1/messages", headers, body, self._config.timeout)
        decoder = AnthropicMessagesDecoder(self._provider, request.model)
        refine = self._refine(request, body)
        answer = stream_events(self._http, call, decoder, provider=self._provider, refine=refine)
        async with aclosing(answer) as events:
            async for event in events:
                yield event

    async def count_tokens(self, request: ChatRequest) -> int:
        """The prompt's tokens as the API counts them; -1 where an endpoint has no such count.

        Raises:
            ChatError: the endpoint was asked and failed.
        """
        headers = self._headers()
        body = encode(request, self._facts(request.model, headers))
        counted = {name: value for name, value in body.items() if name in _COUNTED}
        if "budget_tokens" in counted.get("thinking", {}):
            del counted["thinking"]  # A budget is only valid beside `max_tokens`, which is refused here.
        url = f"{self._base_url}/v1/messages/count_tokens"
        call = HttpCall("POST", url, headers, counted, self._config.timeout)
        try:
            answer = await get_json(self._http, call, provider=self._provider)
        except ProtocolError:
            return -1
        except ChatError as error:
            if error.status_code in (404, 405, 501):
                return -1
            raise
        tokens = answer.get("input_tokens") if isinstance(answer, dict) else None
        return tokens if type(tokens) is int and tokens >= 0 else -1

    async def _listed_models(self) -> list[ModelInfo]:
        """Every page of the list; what it says of a model goes before what its name lets expect."""
        rows: list[Any] = []
        after = ""
        for _ in range(MAX_PAGES):
            url = f"{self._base_url}/v1/models?limit={PAGE}{after}"
            call = HttpCall("GET", url, self._headers(), timeout=self._config.timeout)
            answer = await get_json(self._http, call, provider=self._provider)
            page = answer.get("data") if isinstance(answer, dict) else None
            if not isinstance(page, list):
                raise ProtocolError(
                    f"{self._provider} sent a list of models in an unknown shape.", provider=self._provider
                )
            rows += page
            last = answer.get("last_id")
            if not (answer.get("has_more") and page and isinstance(last, str)):
                break
            after = f"&after_id={quote(last, safe='')}"
        told = {row["id"]: row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)}
        with self._lock:
            for name, row in told.items():
                self._rules[name] = told_rules(self._rules_of(name), row)
        return models_in(rows, self._provider, self.capabilities)

    def _credential(self, key: str) -> Mapping[str, str]:
        """Anthropic's own header; a gateway that wants `authorization` gets it from configured headers."""
        return {"x-api-key": key}

    def _headers(self) -> dict[str, str]:
        return {"anthropic-version": VERSION, **super()._headers()}

    def _rules_of(self, model: str) -> ModelRules:
        """What is known of a model; the caller holds the lock."""
        return self._rules.get(model) or rules_of(model)

    def _facts(self, model: str, headers: Mapping[str, str]) -> MessagesFacts:
        with self._lock:
            rules, dropped = self._rules_of(model), self._dropped.get(model, frozenset())
        if headers["anthropic-version"] >= VERSION_WITHOUT_SAMPLING:
            rules = replace(rules, takes_sampling=False)
        return MessagesFacts(
            provider=self._provider, rules=rules, parameters=self._config.parameters, dropped=dropped
        )

    def _refine(self, request: ChatRequest, body: Mapping[str, Any]) -> Refine:
        """What is better to raise than the general error of a refused request."""

        def refine(fault: ProviderFault, error: ChatError) -> Exception:
            error.provider_code = error.provider_code or fault.type
            if error.status_code in (400, 422) and type(error) is RequestError:
                if is_about_thinking_sent_back(fault, body):
                    return Replan("foreign_thinking", error, without_thinking(request, self._provider))
                if reason := self._remember_refusal(request.model, fault, body):
                    return Replan(reason, error)
            if error.status_code == 404 and fault.message.startswith("model:"):
                fault = replace(fault, code="model_not_found")
            return unknown_model(fault, error, self._provider, request.model) or error

        return refine

    def _remember_refusal(self, model: str, fault: ProviderFault, body: Mapping[str, Any]) -> str | None:
        """Learn from a refusal what to do without; the reason for a replan, None where nothing is learnt."""
        with self._lock:
            rules = self._rules_of(model)
            limit = told_limit(fault)
            if limit is not None and limit < body["max_tokens"]:
                self._rules[model] = replace(rules, max_output_tokens=limit)
                return "refused_parameter:max_tokens"
            name = refused_parameter(fault, body)
            if name is None:
                return None
            refused = self._refused_forms.get(model, frozenset())
            other = rules_after_refusal(rules, name, fault, body, refused)
            if other is None or other == rules:
                self._dropped[model] = self._dropped.get(model, frozenset()) | {name}
                return f"refused_parameter:{name}"
            self._rules[model] = other
            form = str(body[name].get("type", "effort"))
            self._refused_forms[model] = refused | {form}
            return f"refused_parameter:{name}:{form}"
