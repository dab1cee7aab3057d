"""The route for Anthropic's Messages API. Source: `tests/dialect_rows/anthropic_messages.py`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared, Route
from jumpseat.adapters.http.routes.messages_refusals import (
    find_refused_name,
    is_about_replayed_thinking,
    limit_in_refusal,
    mark_thinking_as_foreign,
    rules_after_refusal,
)
from jumpseat.chat import ChatError, ChatRequest, RequestError
from jumpseat.dialects import ProviderFault
from jumpseat.dialects.anthropic_messages import (
    AnthropicMessagesDecoder,
    MessagesFacts,
    ModelRules,
    encode,
    encode_with_warnings,
    rules_of,
)
from jumpseat.dialects.anthropic_messages.models import override_rules
from jumpseat.dialects.cache_marks import NAME as CACHE_MARK
from jumpseat.dialects.extras import Extras

# The parameters of `count_tokens`. It refuses the API's other parameters, such as `max_tokens`.
_COUNTED = frozenset({"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"})


class MessagesRoute(Route):
    """Anthropic's Messages API at one endpoint."""

    path = "/v1/messages"

    def __init__(
        self,
        provider: str,
        *,
        parameters: Mapping[str, Any] | None = None,
        marks_cache: bool = True,
        extras: Extras | None = None,
    ) -> None:
        """
        Args:
            provider: the configured provider's id.
            parameters: further parameters of the body.
            marks_cache: whether requests are marked for the prompt cache.
            extras: reads the provider's additions to this dialect.
        """
        super().__init__(provider)
        self._parameters = parameters or {}
        self._marks_cache = marks_cache
        self._extras = extras
        self._rules: dict[str, ModelRules] = {}
        """The rules that were learned from a list of models or from a refusal, by model."""

        self._refused_forms: dict[str, frozenset[str]] = {}
        """The forms of thinking that the endpoint has refused, by model."""

    def prepare(self, request: ChatRequest, *, takes_sampling: bool = True) -> Prepared:
        """Encode a request without the parts that are known to be refused.

        Args:
            request: the request.
            takes_sampling: False if the endpoint refuses sampling parameters for every model.
        """
        model = request.model
        full_body, warnings = encode_with_warnings(request, self._facts(model, takes_sampling))
        body, refused = self._omit_refused(model, full_body)
        decoder = AnthropicMessagesDecoder(self._provider, model, self._extras)
        return Prepared(body, [*warnings, *refused], decoder, self._refine(request, body))

    def body_to_count(self, request: ChatRequest) -> dict[str, Any]:
        """Return the body for `count_tokens`."""
        full_body = encode(request, self._facts(request.model, takes_sampling=True))
        body, _ = self._omit_refused(request.model, full_body)
        counted = {name: value for name, value in body.items() if name in _COUNTED}
        if "budget_tokens" in counted.get("thinking", {}):
            del counted["thinking"]  # A budget requires `max_tokens`, which `count_tokens` refuses.
        return counted

    def learn(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Learn from the rows of a list of models. A row overrides the rules that its model's name implies.

        Args:
            rows: the rows, in the form that `override_rules` reads, each with its `id`.
        """
        for row in rows:
            self._rules[row["id"]] = override_rules(self._rules_of(row["id"]), row)

    def _rules_of(self, model: str) -> ModelRules:
        """Return the current rules of a model."""
        known = self._rules.get(model)
        if known is not None:
            return known
        rules, listed = rules_of(model), self.listed_efforts(model)
        return replace(rules, effort_levels=frozenset(listed)) if listed else rules

    def _facts(self, model: str, takes_sampling: bool) -> MessagesFacts:
        rules = self._rules_of(model)
        if not takes_sampling:
            rules = replace(rules, takes_sampling=False)
        return MessagesFacts(
            provider=self._provider,
            rules=rules,
            parameters=self._parameters,
            marks_cache=self._marks_cache and CACHE_MARK not in self._refused_parameters(model),
        )

    def _learn(
        self, request: ChatRequest, body: Mapping[str, Any], fault: ProviderFault, error: ChatError
    ) -> Replan | None:
        error.provider_code = error.provider_code or fault.type
        if error.status_code not in (400, 422) or type(error) is not RequestError:
            return None
        if is_about_replayed_thinking(fault, body):
            return Replan("foreign_thinking", error, mark_thinking_as_foreign(request, self._provider))
        model = request.model
        rules = self._rules_of(model)
        limit = limit_in_refusal(fault)
        if limit is not None and limit < body["max_tokens"]:
            self._rules[model] = replace(rules, max_output_tokens=limit)
            return Replan("refused_parameter:max_tokens", error)
        if CACHE_MARK in fault.message and self._facts(model, takes_sampling=True).marks_cache:
            return self._remember(model, CACHE_MARK, error)
        name = find_refused_name(fault, error, body)
        if name is None:
            return None
        refused = self._refused_forms.get(model, frozenset())
        other = rules_after_refusal(rules, name, fault, body, refused)
        if other is None or other == rules:
            return self._remember(model, name, error)
        self._rules[model] = other
        form = str(body[name].get("type") or body[name].get("effort", "effort"))
        self._refused_forms[model] = refused | {form}
        return Replan(f"refused_parameter:{name}:{form}", error)
