"""Warns about unknown keys in a turn's params if they resemble a parameter. Ignores all other unknown keys.

Clients often use names from other APIs. If a limit such as `maxCompletionTokens` were ignored without a
warning, their users would pay for longer answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

from jumpseat.chat import WarningEvent

MAX_WARNINGS = 20
MAX_KEYS = 100
"""The maximum number of keys to check."""

MAX_KEY_LENGTH = 64
"""The maximum length of a key to check."""

_OTHER_NAMES = {
    "maxCompletionTokens": "maxTokens",
    "maxOutputTokens": "maxTokens",
    "numPredict": "maxTokens",
    "stop": "stopSequences",
    "functions": "tools",
    "functionCall": "toolChoice",
    "responseFormat": "outputMode",
    "jsonSchema": "outputMode",
    "reasoning": "thinking",
    "reasoningEffort": "thinking",
    "effort": "thinking",
    "systemPrompt": "system",
    "instructions": "system",
    "streaming": "stream",
    "parameters": "settings",
    "options": "settings",
    "temperature": "settings.temperature",
    "topP": "settings.top_p",
    "topK": "settings.top_k",
    "minP": "settings.min_p",
    "frequencyPenalty": "settings.frequency_penalty",
    "presencePenalty": "settings.presence_penalty",
    "repeatPenalty": "settings.repeat_penalty",
    "seed": "settings.seed",
    "verbosity": "settings.verbosity",
    "numCtx": "settings.num_ctx",
    "keepAlive": "settings.keep_alive",
}
"""Names of parameters in other APIs, and our names for them."""


def warn_about_unknown_keys(keys: Iterable[str], parameters: Collection[str]) -> list[WarningEvent]:
    """Return a warning for each key that resembles a parameter.

    Args:
        keys: the unknown keys.
        parameters: the wire names of all parameters.
    """
    known = {_normalize(name): name for name in parameters}
    known |= {_normalize(name): right for name, right in _OTHER_NAMES.items() if name not in parameters}
    from difflib import get_close_matches  # Deferred: few clients send such keys.

    warnings = []
    for key in islice(keys, MAX_KEYS):
        if len(key) > MAX_KEY_LENGTH:
            continue
        for match in get_close_matches(_normalize(key), known, n=1, cutoff=0.8):
            message = f"{key!r} is not a parameter and was ignored. The parameter is named {known[match]!r}."
            warnings.append(WarningEvent("unknown_parameter", message))
    return warnings[:MAX_WARNINGS]


def _normalize(name: str) -> str:
    """Return one spelling for `max_tokens`, `max-tokens` and `MaxTokens`."""
    return name.replace("_", "").replace("-", "").lower()
