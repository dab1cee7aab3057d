"""What an endpoint's refusal of a request is really about: one parameter, or the model.

Pure functions on what the provider said. Above them are the adapters, which decide what to try next;
below them only the error tree and the dialects' reading of a refusal.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from jumpseat.chat import ChatError, RequestError, UnknownModelError
from jumpseat.dialects import ProviderFault

_REFUSALS = (
    "unsupported parameter",
    "unsupported value",
    "not supported with this model",
    "unrecognized request argument",
    "unknown parameter",
)
_REFUSAL_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})


def refused_parameter(
    fault: ProviderFault, error: ChatError, body: Mapping[str, Any], essential: Collection[str]
) -> str | None:
    """The name of the one top-level parameter that the endpoint will not take, if that is the trouble.

    Args:
        fault: what the provider said.
        error: the error that would be raised.
        body: the request as it was sent.
        essential: parameters without which the request would be another one; refusing one of them is an
            answer and no obstacle.
    """
    if error.status_code not in (400, 422):
        return None
    words = fault.message.lower()
    if fault.code not in _REFUSAL_CODES and not any(phrase in words for phrase in _REFUSALS):
        return None
    # Old servers name it in the text only; the longest name wins, as one may be a part of another.
    names = sorted(body, key=len, reverse=True)
    name = fault.param or next((name for name in names if f"'{name}'" in words or f" {name}" in words), "")
    name = name.partition(".")[0].partition("[")[0]
    return name if name in body and name not in essential else None


def unknown_model(
    fault: ProviderFault, error: ChatError, provider: str, model: str
) -> UnknownModelError | None:
    """An error that names model and provider, if the refusal means that there is no such model."""
    if not _is_unknown_model(fault, error, model):
        return None
    unknown = UnknownModelError(
        f"The provider {provider} has no model {model!r}.",
        provider=provider,
        status_code=error.status_code,
        provider_code=error.provider_code,
        provider_request_id=error.provider_request_id,
        hint=f"Choose one of its models, or check providers.{provider}.base_url.",
    )
    unknown.__cause__ = error
    return unknown


def _is_unknown_model(fault: ProviderFault, error: ChatError, model: str) -> bool:
    if type(error) is not RequestError:
        return False
    if fault.code == "model_not_found":
        return True
    if error.status_code not in (400, 404):
        return False
    words = fault.message.lower()
    missing = any(
        phrase in words for phrase in ("not found", "does not exist", "not a valid model", "no such model")
    )
    return missing and ("model" in words or model.lower() in words)
