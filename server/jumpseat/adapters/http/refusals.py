"""What an endpoint's refusal of a request is really about: one parameter, or the model.

Pure functions on what the provider said. Above them are the adapters, which decide what to try next;
below them only the error tree and the dialects' reading of a refusal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from jumpseat.chat import ChatError, RequestError, UnknownModelError
from jumpseat.dialects import ProviderFault, plain_words

_REFUSED = re.compile(
    r"unsupported|not support|n't support|only supports|unrecognized|unknown (field|parameter)"
    r"|extra inputs are not permitted|is not permitted|deprecated for this model|cannot both be specified",
    re.IGNORECASE,
)
_REFUSAL_CODES = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})

THINKING_ELSEWHERE = ("reasoning_effort", "reasoning.effort")
"""How other dialects name the level of thinking."""

_ELSEWHERE: Mapping[str, Sequence[str]] = {
    "reasoning": ("reasoning_effort", "thinking"),
    "reasoning_effort": ("reasoning.effort", "thinking"),
    "thinking": THINKING_ELSEWHERE,
    "stop": ("stop_sequences",),
    "stop_sequences": ("stop",),
}
"""What a gateway that speaks another dialect to the model calls a parameter."""

_PROSE = frozenset({"model", "messages", "input", "stream"})
"""Names that sentences about other parameters hold as words; as names they come in quotes."""


def is_refusal(fault: ProviderFault) -> bool:
    """Whether the provider says that it does not take something, and not that a value is wrong."""
    return fault.code in _REFUSAL_CODES or _REFUSED.search(fault.message) is not None


def refused_parameter(
    fault: ProviderFault, error: ChatError, body: Mapping[str, Any], essential: Collection[str]
) -> str | None:
    """The one parameter that the endpoint will not take, if that is the trouble; dotted for a member of one.

    Args:
        fault: what the provider said.
        error: the error that would be raised.
        body: the request as it was sent.
        essential: parameters without which the request would be another one; refusing one of them is an
            answer and no obstacle. `text.format` names a member.
    """
    if error.status_code not in (400, 422) or type(error) is not RequestError:
        return None
    if not is_refusal(fault):
        return None
    # Old servers and gateways name it in the text only. What is inside of a list is no parameter.
    name = _first_named((fault.param or "").partition("[")[0] or fault.message, body)
    return None if name is None or _is_essential(name, body, essential) else name


def _first_named(text: str, body: Mapping[str, Any]) -> str | None:
    """The parameter that a text names first: what comes behind it explains, or is there in its place."""
    found: list[tuple[int, str]] = []
    for name, value in body.items():
        for spelling in (name, *_ELSEWHERE.get(name, ())):
            mark = "[`'\"]" if spelling in _PROSE and text != spelling else ""
            mention = re.search(
                rf"(?<![\w.-]){mark}{re.escape(spelling)}(?![\w-])(?:\.(\w+))?", text, re.IGNORECASE
            )
            if mention is not None:
                member = mention[1]
                whole = spelling == name and isinstance(value, Mapping) and member in value
                found.append((mention.start(), f"{name}.{member}" if whole else name))
    return min(found, default=(0, None), key=lambda each: each[0])[1]


def _is_essential(name: str, body: Mapping[str, Any], essential: Collection[str]) -> bool:
    for each in essential:
        outer, _, inner = each.partition(".")
        if name == each or name.startswith(f"{each}.") or (name == outer and inner in body[outer]):
            return True
    return False


def unknown_model(
    fault: ProviderFault, error: ChatError, provider: str, model: str
) -> UnknownModelError | None:
    """An error that names model and provider, if the refusal means that there is no such model."""
    if not _is_unknown_model(fault, error, model):
        return None
    message = f"The provider {provider} has no model {model!r}."
    words = plain_words(fault.message)
    if fault.code == "model_not_found" and words not in ("", f"model: {model}"):
        # OpenAI uses this code for models that exist too; only its words say what to do.
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
    if fault.code == "model_not_found":
        return True
    if error.status_code not in (400, 404):
        return False
    words = fault.message.lower()
    missing = any(
        phrase in words for phrase in ("not found", "does not exist", "not a valid model", "no such model")
    )
    return missing and ("model" in words or model.lower() in words)
