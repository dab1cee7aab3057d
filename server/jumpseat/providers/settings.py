"""Settings schemas: the rows that each kind of provider has by itself, under the user's own.

Ranges are those of each API's reference; where imitators differ, the widest. Nothing is sent that nobody set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.config import ProviderConfig, SettingRow


def _row(type_: str, order: int, description: str, **rules: Any) -> SettingRow:
    return SettingRow.model_validate(
        {"type": type_, "order": order, "description": description, "optional": True, **rules}
    )


_TEMPERATURE = _row(
    "number", 1, "Higher is more random; some reasoning models refuse it.", minimum=0, maximum=2
)
_TOP_P = _row(
    "number", 2, "Sample from the most probable tokens that add up to this share.", minimum=0, maximum=1
)
_TOP_K = _row("integer", 3, "Sample from this many of the most probable tokens.", minimum=0)
_MIN_P = _row(
    "number",
    4,
    "Leave out tokens whose probability is below this share of the best one's.",
    minimum=0,
    maximum=1,
)
_REPEAT_PENALTY = _row("number", 5, "Above 1, repetitions are avoided.", minimum=0)
_SEED = _row("integer", 6, "The same seed gives the same answer, as far as the provider can.")
_MAX_TOKENS = _row(
    "integer", 20, "The longest answer in tokens, for chats that do not say.", minimum=1, mapping="chat"
)
_THINKING = _row(
    "enum",
    21,
    "How much to think, for chats that do not say.",
    choices=["off", "low", "medium", "high"],
    mapping="chat",
)

_SAMPLING = {"temperature": _TEMPERATURE, "top_p": _TOP_P}
_OF_EVERY_CHAT = {"max_tokens": _MAX_TOKENS, "thinking": _THINKING}

_OPENAI = {
    **_SAMPLING,
    "frequency_penalty": _row(
        "number", 3, "Above 0, a token is avoided the more often it was used.", minimum=-2, maximum=2
    ),
    "presence_penalty": _row(
        "number", 4, "Above 0, tokens that were used are avoided.", minimum=-2, maximum=2
    ),
    "seed": _SEED,
    **_OF_EVERY_CHAT,
}

_RESPONSES = {
    **_SAMPLING,
    "verbosity": _row(
        "enum",
        3,
        "How long answers are; newer models only.",
        choices=["low", "medium", "high"],
        mapping="parameters.text",
    ),
    "summary": _row(
        "enum",
        4,
        "How thinking is summed up.",
        choices=["auto", "concise", "detailed"],
        mapping="parameters.reasoning",
    ),
    **_OF_EVERY_CHAT,
}

_ANTHROPIC = {
    "temperature": _TEMPERATURE.model_copy(update={"maximum": 1.0}),
    "top_p": _TOP_P,
    "top_k": _TOP_K.model_copy(update={"minimum": 1.0}),
    **_OF_EVERY_CHAT,
}

_LLAMA = {
    **_SAMPLING,
    "top_k": _TOP_K,
    "min_p": _MIN_P,
    "repeat_penalty": _REPEAT_PENALTY,
    "seed": _SEED,
}

_OLLAMA = {
    **_LLAMA,
    "num_ctx": _row(
        "integer", 7, "Tokens of context; a change makes the server load the model again.", minimum=1
    ),
    "keep_alive": _row("string", 8, "How long the model stays loaded: 10m, 24h, 0s; -1m for ever."),
    **_OF_EVERY_CHAT,
}

_ROWS_BY_KIND: Mapping[str, Mapping[str, SettingRow]] = {
    "anthropic": _ANTHROPIC,
    "copilot": {**_SAMPLING, **_OF_EVERY_CHAT},
    "copilot-language-server": {"thinking": _THINKING},
    "openai": _OPENAI,
    "openai-responses": _RESPONSES,
    "local": {**_LLAMA, "max_tokens": _MAX_TOKENS},
    "ollama": _OLLAMA,
}


def rows_of(table: ProviderConfig, own: Mapping[str, SettingRow] | None = None) -> dict[str, SettingRow]:
    """The schema of one provider, in the order in which a form should show it.

    Args:
        table: the provider's table, whose rows go before all others.
        own: the rows that a plug-in declares.
    """
    rows = {**_ROWS_BY_KIND.get(table.kind, {}), **(own or {}), **table.settings}
    return dict(sorted(rows.items(), key=lambda item: item[1].order))
