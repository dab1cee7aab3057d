"""Finds the cause of a refusal: one parameter, or an unknown model."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jumpseat.chat import ChatError, RequestError, UnknownModelError
from jumpseat.dialects import ProviderFault, clean_message

_REFUSED = re.compile(
    r"unsupported|not support|n't support|only supports|unrecognized|unknown (field|parameter)"
    r"|extra inputs are not permitted|is not permitted|deprecated for this model|cannot both be specified",
    re.IGNORECASE,
)
_REFUSAL_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})

THINKING_ELSEWHERE = ("reasoning_effort", "reasoning.effort")
"""OpenAI's names for the thinking level. In Anthropic's Messages API, `thinking` sets it."""

_ELSEWHERE: Mapping[str, Sequence[str]] = {
    "reasoning": ("reasoning_effort", "thinking"),
    "reasoning_effort": ("reasoning.effort", "thinking"),
    "thinking": THINKING_ELSEWHERE,
    "stop": ("stop_sequences",),
    "stop_sequences": ("stop",),
}
"""Other names of a parameter. Errors use them if a gateway translates the request into another dialect."""

_PROSE = frozenset({"model", "messages", "input", "stream"})
"""Names that are also common words, and count as names only in quotes."""


def is_refusal(fault: ProviderFault) -> bool:
    """Whether the error means that something is not supported, not merely that a value is wrong."""
    return fault.code in _REFUSAL_CODES or _REFUSED.search(fault.message) is not None


def find_refused_parameter(
    fault: ProviderFault, error: ChatError, body: Mapping[str, Any], essential: Collection[str]
) -> str | None:
    """Return the parameter that the endpoint refuses (`name` or `object.member`); None for other causes.

    Args:
        fault: the parsed error body.
        error: the exception made from the same error response.
        body: the body as it was sent.
        essential: parameters (or members: `text.format`) whose refusal is an error, because dropping them
            would change the meaning of the request.
    """
    if error.status_code not in (400, 422) or type(error) is not RequestError:
        return None
    if not is_refusal(fault):
        return None
    # Old servers and gateways name the parameter only in the text. If `param` is a path into a list, such as
    # `messages[0].content`, only the part before the index counts.
    name = _find_first_name((fault.param or "").partition("[")[0] or fault.message, body)
    return None if name is None or _is_essential(name, body, essential) else name


def _find_first_name(text: str, body: Mapping[str, Any]) -> str | None:
    """Return the parameter that a text names first; later names are explanations or alternatives."""
    mentions: list[tuple[int, str]] = []
    for name, value in body.items():
        for spelling in (name, *_ELSEWHERE.get(name, ())):
            quote = "[`'\"]" if spelling in _PROSE and text != spelling else ""
            mention = re.search(
                rf"(?<![\w.-]){quote}{re.escape(spelling)}(?![\w-])(?:\.(\w+))?", text, re.IGNORECASE
            )
            if mention is not None:
                member = mention[1]
                has_member = spelling == name and isinstance(value, Mapping) and member in value
                mentions.append((mention.start(), f"{name}.{member}" if has_member else name))
    return min(mentions, default=(0, None), key=lambda each: each[0])[1]


def _is_essential(name: str, body: Mapping[str, Any], essential: Collection[str]) -> bool:
    for each in essential:
        outer, _, inner = each.partition(".")
        if name == each or name.startswith(f"{each}.") or (name == outer and inner in body[outer]):
            return True
    return False


def unknown_model_error(
    fault: ProviderFault, error: ChatError, provider: str, model: str
) -> UnknownModelError | None:
    """Return the error for an unknown model, if that is the cause of the refusal."""
    if not _is_unknown_model(fault, error, model):
        return None
    message = f"The provider {provider} has no model {model!r}."
    words = clean_message(fault.message)
    if _is_model_not_found(fault, error) and words not in ("", f"model: {model}"):
        # OpenAI sends the code `model_not_found` for some models that do exist. Only the error's message
        # explains why, and what to do.
        message = f"{message[:-1]}: {words}{'' if words.endswith(('.', '!', '?', '…')) else '.'}"
    unknown = UnknownModelError(
        message,
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
    if _is_model_not_found(fault, error):
        return True
    if error.status_code not in (400, 404):
        return False
    words = fault.message.lower()
    missing = any(
        phrase in words for phrase in ("not found", "does not exist", "not a valid model", "no such model")
    )
    return missing and ("model" in words or model.lower() in words)


def _is_model_not_found(fault: ProviderFault, error: ChatError) -> bool:
    # Anthropic has no code for this; the text of its 404 is "model: NAME".
    by_name = error.status_code == 404 and fault.message.startswith("model:")
    return by_name or fault.code == "model_not_found"
