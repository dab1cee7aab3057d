"""The models of a Copilot language server: their list, and the acceptance of their terms.

Source of the shapes: version 1.539's responses to `copilot/models`. This method is not documented.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from jumpseat.adapters.github.default_model import choose_default
from jumpseat.adapters.github.language_server.errors import request_error
from jumpseat.adapters.github.language_server.server import ServerConnection
from jumpseat.chat import (
    AuthorizationError,
    Billing,
    ChatError,
    ModelInfo,
    PolicyState,
    ProtocolError,
    RequestError,
)
from jumpseat.dialects.loose_values import limit_in, mapping_in, number_in, text_in, texts_in
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

logger = logging.getLogger(__name__)

LIST_SECONDS = 60.0
"""The time limit for the list, which the server may have to request from GitHub."""

COMPLETION_MODEL = "copilot"
COMPLETION_NAME = "Code completion"
"""jumpseat's names for the model of completions if the server does not name one."""

CHAT_SCOPE = "chat-panel"
COMPLETION_SCOPE = "completion"

_POLICIES: Mapping[str, PolicyState] = {"enabled": "enabled", "disabled": "disabled"}


class LanguageServerModels:
    """Fetches the models of one server, stores the last list, and accepts terms.

    Use it on the event loop only.
    """

    def __init__(self, provider: str) -> None:
        """
        Args:
            provider: the configured provider's id.
        """
        self._provider = provider
        self.known: Sequence[ModelInfo] = ()
        """The last list; empty before the first one was fetched."""

    def forget(self) -> None:
        """Drop the list, which belongs to one account."""
        self.known = ()

    def row(self, model: str) -> ModelInfo | None:
        """Return a model's entry in the last list."""
        return next((each for each in self.known if each.model == model), None)

    async def fetch(self, connection: ServerConnection, *, completion: bool = False) -> Sequence[ModelInfo]:
        """Request the list.

        Args:
            connection: the running server.
            completion: list only the models of completions; see `read_models`.

        Raises:
            ChatError: the request failed.
        """
        try:
            answer = await connection.request("copilot/models", {}, seconds=LIST_SECONDS)
        except RpcError as error:
            if not completion or error.code != METHOD_NOT_FOUND:
                raise request_error(error, provider=self._provider) from error
            answer = []  # Servers that support only completions have no list.
        models = read_models(answer, self._provider, completion=completion)
        if not any(model.supports_infill for model in models):
            # The server completes documents with a model that most versions do not list.
            unlisted = _make_completion_model(COMPLETION_MODEL, COMPLETION_NAME, self._provider)
            models.append(replace(unlisted, picker_enabled=False))
        self.known = models
        return self.known

    async def explain(self, connection: ServerConnection, model: str, error: RequestError) -> ChatError:
        """Replace the refusal of a chat with a precise error if the model's terms were not accepted."""
        # The server reports such a model as not supported, which becomes a plain `RequestError`.
        if type(error) is not RequestError:
            return error
        try:
            row = self.row(model) or next(
                (each for each in await self.fetch(connection) if each.model == model), None
            )
        except ChatError as failure:
            logger.debug("the models of %s could not be listed: %s", self._provider, failure)
            return error
        if row is None or row.policy in (None, "enabled"):
            return error
        return AuthorizationError(
            f"{model} is not enabled for this account at {self._provider}.",
            provider=self._provider,
            hint=f"Run `jumpseat accept-terms {row.id}`. In an organization, an administrator does that.",
            status_code=error.status_code,
            provider_code=error.provider_code,
            provider_request_id=error.provider_request_id,
        )

    async def accept_terms(
        self, connection: ServerConnection, model: str, *, completion: bool = False
    ) -> ModelInfo:
        """Accept a model's terms for the account, and check that this took effect.

        Args:
            connection: the running server.
            model: a name in the list.
            completion: see `fetch`; models of completions have no terms.

        Raises:
            RequestError: the model does not exist, or has no terms.
            AuthorizationError: the model is still not enabled.
            ChatError: a request failed.
        """
        await self.fetch(connection, completion=completion)
        row = self.row(model)
        if row is None:
            raise RequestError(
                f"The provider {self._provider} has no model {model!r}.",
                provider=self._provider,
                hint=f"Run `jumpseat models --provider {self._provider} --refresh` to see its models.",
            )
        if row.policy is None:
            raise RequestError(f"The model {row.id} has no terms to accept.", provider=self._provider)
        if row.policy == "enabled":
            return row
        refusal: RpcError | None = None
        try:
            await connection.request(
                "copilot/setModelPolicy", {"model": model, "status": "enabled"}, seconds=LIST_SECONDS
            )
        except RpcError as error:
            if error.code == METHOD_NOT_FOUND:
                raise request_error(error, provider=self._provider) from error
            # If the plan does not include the model, the error does not say so. The new list is decisive.
            logger.info("the terms of %s were not accepted: %s", row.id, error.message)
            refusal = error
        await self.fetch(connection)
        row = self.row(model)
        if row is None or row.policy not in (None, "enabled"):
            raise AuthorizationError(
                f"The terms of {model} could not be accepted, and the model is still not enabled.",
                provider=self._provider,
                hint="The plan does not include it, or an administrator has to enable it.",
            ) from refusal
        return row


def read_models(answer: Any, provider: str, *, completion: bool = False) -> list[ModelInfo]:
    """Return the models in a response to `copilot/models`, one per id, in the order of the response.

    An unreadable row is skipped and logged.

    Args:
        answer: the result, `[row, …]`.
        provider: the configured provider's id.
        completion: if True, return only the models of completions or, if the response has none, an entry that
            stands for the server's unnamed model. If False, return the models of chats, followed by the
            models of completions, which are hidden from pickers.

    Raises:
        ProtocolError: the response has no array of rows.
    """
    if not isinstance(answer, list):
        raise ProtocolError(f"{provider} sent a list of models in an unknown shape.", provider=provider)
    models: dict[str, ModelInfo] = {}
    default = fallback = ""
    for row in answer:
        try:
            model = _read_model(row, provider, completion=completion)
        except (KeyError, TypeError, ValueError) as error:
            name = row.get("id") if isinstance(row, Mapping) else None
            logger.warning("a row of the models of %s cannot be read (%.80r): %r", provider, name, error)
            continue
        if model is None or model.model in models:
            continue
        models[model.model] = model
        default = model.model if row.get("isChatDefault") is True else default
        fallback = model.model if row.get("isChatFallback") is True else fallback
    if completion and not models:
        models[COMPLETION_MODEL] = _make_completion_model(COMPLETION_MODEL, COMPLETION_NAME, provider)
    shown = [model for model in models.values() if completion or not model.supports_infill]
    hidden = [replace(model, picker_enabled=False) for model in models.values() if model not in shown]
    chosen = choose_default(shown, (default, fallback))
    return [*(replace(model, is_default=model is chosen) for model in shown), *hidden]


def _read_model(row: Any, provider: str, *, completion: bool) -> ModelInfo | None:
    """Return the model of a row; None if it does not belong to the requested list.

    Raises:
        KeyError, TypeError, ValueError: the row has no id, or is not an object.
    """
    if not isinstance(row, Mapping):
        raise TypeError(f"a row is {type(row).__name__}")
    model = row["id"]
    if not isinstance(model, str) or not model:
        raise ValueError("the id is not a name")
    scopes = texts_in(row.get("scopes"))
    # A row without scopes is from an older server, which lists only models of chats.
    if completion or (scopes and CHAT_SCOPE not in scopes):
        name = text_in(row.get("modelName"))
        return _make_completion_model(model, name, provider) if COMPLETION_SCOPE in scopes else None
    capabilities = mapping_in(row.get("capabilities"))
    limits, supports = mapping_in(capabilities.get("limits")), mapping_in(capabilities.get("supports"))
    levels = texts_in(supports.get("reasoningEfforts"))
    takes_levels = supports.get("supportsReasoningEffortLevel")
    vision = supports.get("vision")
    policy = mapping_in(row.get("modelPolicy"))
    degraded = text_in(row.get("degradationReason"))
    return ModelInfo(
        provider=provider,
        model=model,
        name=text_in(row.get("modelName")) or model,
        family=text_in(row.get("modelFamily")) or model,
        version=model,
        vendor=text_in(row.get("vendor")) or None,
        max_context_tokens=limit_in(limits.get("maxContextWindowTokens")),
        max_prompt_tokens=limit_in(limits.get("maxInputTokens")),
        max_output_tokens=limit_in(limits.get("maxOutputTokens")),
        supports_vision=vision if isinstance(vision, bool) else None,
        # No model has these: the server runs only its own tools, and has no JSON mode.
        supports_tool_use=False,
        supports_json=False,
        supports_infill=False,
        supports_thinking=takes_levels if isinstance(takes_levels, bool) else bool(levels) or None,
        thinking_levels=levels or None,
        preview=row.get("preview") is True,
        policy=_POLICIES.get(text_in(policy.get("state")), "unconfigured") if policy else None,
        policy_terms=text_in(policy.get("terms")) or None,
        billing=_read_billing(mapping_in(row.get("billing"))),
        messages=[degraded] if degraded else None,
    )


def _make_completion_model(model: str, name: str, provider: str) -> ModelInfo:
    return ModelInfo(
        provider=provider,
        model=model,
        name=name or model,
        family=model,
        version=model,
        supports_vision=False,
        supports_tool_use=False,
        supports_streaming=False,
        supports_thinking=False,
        supports_json=False,
        supports_infill=True,
    )


def _read_billing(billing: Mapping[str, Any]) -> Billing | None:
    premium, multiplier = billing.get("isPremium"), number_in(billing.get("multiplier"))
    prices = billing.get("tokenPrices")
    if premium is None and multiplier is None and prices is None:
        return None
    if multiplier == 0 and isinstance(prices, Mapping):
        # GitHub has no multiplier for a model with prices. The server then sets 0, which would mean free.
        premium = multiplier = None
    return Billing(
        is_premium=premium if isinstance(premium, bool) else None,
        multiplier=multiplier,
        token_prices=prices if isinstance(prices, Mapping) else None,
    )
