"""Selectors of tools."""

from __future__ import annotations

import pytest

from jumpseat.tools.selectors import Selector

pytestmark = pytest.mark.requirement("12:selectors")


@pytest.mark.parametrize(
    ("selector", "server", "tool", "expected"),
    [
        ("files/read", "files", "read", True),
        ("files/read", "files", "reader", False),
        ("files/*", "files", "read", True),
        ("files/*", "file", "read", False),
        ("github/search_*", "github", "search_code", True),
        ("github/search_*", "github", "search", False),
        ("github/*_*", "github", "get_me", True),
        ("github/a.c", "github", "abc", False),
        ("github/a/b", "github", "a/b", True),
        ("github/*", "github", "a\nb", True),
    ],
)
def test_a_star_matches_any_run_of_characters(selector: str, server: str, tool: str, expected: bool) -> None:
    parsed = Selector.parse(selector)

    assert parsed is not None
    assert parsed.matches(server, tool) is expected


@pytest.mark.parametrize("text", ["", "files", "files/", "/read", "/"])
def test_a_text_of_another_form_is_not_a_selector(text: str) -> None:
    assert Selector.parse(text) is None
