"""The usage of a turn on one line."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat_cli.chat.usage import format_usage


@pytest.mark.parametrize(
    ("usage", "seconds", "line"),
    [
        ({}, 0.84, "0.8 s · fake:m"),
        ({"inputTokens": 1234, "outputTokens": 0}, 2, "1,234 tokens in · 0 out · 2.0 s · fake:m"),
        (
            {"inputTokens": 9, "outputTokens": 5, "cacheReadTokens": 4, "reasoningTokens": 3},
            125,
            "9 tokens in (4 cached) · 5 out (3 thinking) · 2 min 5 s · fake:m",
        ),
        ({"cost": {"amount": 0.00123, "currency": "USD"}}, 1, "1.0 s · $0.0012 · fake:m"),
        ({"cost": {"amount": 2, "currency": "requests"}}, 1, "1.0 s · 2.00 requests · fake:m"),
        ({"cost": {"amount": 0, "currency": "USD"}}, 1, "1.0 s · $0.00 · fake:m"),
    ],
)
def test_usage_is_one_line(usage: dict[str, Any], seconds: float, line: str) -> None:
    assert format_usage(usage, seconds, "fake:m") == line


def test_usage_without_a_model_is_shown() -> None:
    assert format_usage({}, 1) == "1.0 s"
