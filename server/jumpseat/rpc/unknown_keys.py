"""Keys of a turn's params that mean nothing, but nearly are a parameter: said in a warning, else ignored.

Many programs know another API's names by heart; a limit that is silently not applied costs them money.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import islice

from jumpseat.chat import WarningEvent

MAX_WARNINGS = 20
MAX_KEYS = 100
"""More keys than that are not looked at."""

MAX_KEY = 64
"""Longer keys are no spelling of a parameter."""

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
"""What other APIs call a parameter."""


def warnings_of_unknown(keys: Iterable[str], parameters: Collection[str]) -> list[WarningEvent]:
    """A warning for each key that nearly is a parameter.

    Args:
        keys: those that are no parameters.
        parameters: the names of all parameters, as the wire has them.
    """
    meant = {_folded(name): name for name in parameters}
    meant |= {_folded(name): right for name, right in _OTHER_NAMES.items() if name not in parameters}
    from difflib import get_close_matches  # Deferred: hardly any client sends such keys.

    warnings = []
    for key in islice(keys, MAX_KEYS):
        if len(key) > MAX_KEY:
            continue
        for found in get_close_matches(_folded(key), meant, n=1, cutoff=0.8):
            message = f"{key!r} is not a parameter and was ignored; the parameter is {meant[found]!r}."
            warnings.append(WarningEvent("unknown_parameter", message))
    return warnings[:MAX_WARNINGS]


def _folded(name: str) -> str:
    """A name without what spellings differ in: `max_tokens`, `max-tokens` and `MaxTokens` are one."""
    return name.replace("_", "").replace("-", "").lower()
