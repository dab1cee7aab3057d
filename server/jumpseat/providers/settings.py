"""Settings schemas: the rows that each kind of provider has by itself, under the user's own."""

from __future__ import annotations

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

_ROWS_BY_KIND = {"openai": _SAMPLING, "local": _SAMPLING}


def rows_of(table: ProviderConfig) -> dict[str, SettingRow]:
    """The schema of one provider, in the order in which a form should show it."""
    rows = {**_ROWS_BY_KIND.get(table.kind, {}), **table.settings}
    return dict(sorted(rows.items(), key=lambda item: item[1].order))
