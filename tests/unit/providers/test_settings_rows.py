"""The built-in settings rows of each kind match the protocol page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jumpseat.providers import KINDS

PAGE = Path(__file__).parents[3] / "docs" / "protocol" / "providers.md"


def documented_rows() -> dict[str, list[str]]:
    """Return the rows of the page's table, by kind."""
    table = PAGE.read_text("utf-8").partition("| kind | rows |\n|---|---|\n")[2].partition("\n\n")[0]
    rows = (re.findall(r"`([\w-]+)`", line) for line in table.splitlines())
    return {kind: sorted(keys) for kind, *keys in rows}


@pytest.mark.requirement("5:settings-schema")
def test_the_page_names_the_rows_of_every_kind() -> None:
    assert documented_rows() == {kind: sorted(KINDS[kind].settings_rows) for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_have_descriptions_but_no_defaults(kind: str) -> None:
    for key, row in KINDS[kind].settings_rows.items():
        assert row.description.endswith("."), key
        assert row.optional, key
        assert row.default is None, key
