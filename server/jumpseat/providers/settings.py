"""Settings schemas: the rows that each kind of provider has by itself, under the user's own."""

from __future__ import annotations

from collections.abc import Mapping

from jumpseat.config import ProviderConfig, SettingRow

_SAMPLING = {
    "temperature": SettingRow(
        type="number",
        order=1,
        minimum=0,
        maximum=2,
        optional=True,
        description="Higher is more random; some reasoning models refuse it.",
    ),
    "top_p": SettingRow(
        type="number",
        order=2,
        minimum=0,
        maximum=1,
        optional=True,
        description="Sample from the most probable tokens that add up to this share.",
    ),
}

_OLLAMA = {
    **_SAMPLING,
    "top_k": SettingRow(
        type="integer",
        order=3,
        minimum=0,
        optional=True,
        description="Sample from this many of the most probable tokens.",
    ),
    "min_p": SettingRow(
        type="number",
        order=4,
        minimum=0,
        maximum=1,
        optional=True,
        description="Leave out tokens whose probability is below this share of the best one's.",
    ),
    "repeat_penalty": SettingRow(
        type="number", order=5, minimum=0, optional=True, description="Above 1, repetitions are avoided."
    ),
    "seed": SettingRow(
        type="integer", order=6, optional=True, description="The same seed gives the same answer."
    ),
    "num_ctx": SettingRow(
        type="integer",
        order=7,
        minimum=1,
        optional=True,
        description="Tokens of context; a change makes the server load the model again.",
    ),
}

_ANTHROPIC = {
    "temperature": _SAMPLING["temperature"].model_copy(update={"maximum": 1}),
    "top_p": _SAMPLING["top_p"],
    "top_k": SettingRow(
        type="integer",
        order=3,
        minimum=1,
        optional=True,
        description="Sample from this many of the most probable tokens.",
    ),
}

_ROWS_BY_KIND = {
    "anthropic": _ANTHROPIC,
    "copilot": _SAMPLING,
    "openai": _SAMPLING,
    "openai-responses": _SAMPLING,
    "local": _SAMPLING,
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
