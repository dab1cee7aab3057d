"""Tests of the code that chooses the models for the live tests, without requests to GitHub."""

from __future__ import annotations

from typing import Any

import pytest

from tests.copilot import configure, copilot_daemon, table
from tests.live.chosen import ROUTES, choose

CHAT, RESPONSES, MESSAGES = ROUTES


def make_row(name: str, *endpoints: str, **more: Any) -> dict[str, Any]:
    found = {"id": f"copilot:{name}", "model": name, "endpoints": list(endpoints) or [CHAT]}
    return {**found, "pickerEnabled": True, "supportsToolUse": True, **more}


def priced_row(name: str, multiplier: float, **more: Any) -> dict[str, Any]:
    return make_row(name, billing={"isPremium": multiplier > 0, "multiplier": multiplier}, **more)


@pytest.mark.parametrize(
    ("rows", "chosen", "included"),
    [
        ([priced_row("dear", 10), priced_row("cheap", 0.33), priced_row("free", 0)], "free", True),
        ([priced_row("dear", 10), priced_row("cheap", 0.33)], "cheap", False),
        ([priced_row("free", 0, policy="unconfigured"), priced_row("dear", 1)], "dear", False),
        ([priced_row("free", 0, pickerEnabled=False), priced_row("dear", 1)], "dear", False),
        ([priced_row("free", 0, supportsToolUse=False), priced_row("dear", 1)], "dear", False),
        ([make_row("unpriced"), priced_row("dear", 30)], "dear", False),
        ([make_row("unpriced")], "unpriced", False),
        (
            [make_row("a", billing={"tokenPrices": {"batch_size": 0, "default": {"input_price": 0}}})],
            "a",
            True,
        ),
        (
            [make_row("a", billing={"tokenPrices": {"batch_size": 9, "default": {"input_price": 3}}})],
            "a",
            False,
        ),
        ([priced_row("auto", 0)], None, None),
        ([make_row("elsewhere", CHAT, RESPONSES)], None, None),
        ([], None, None),
    ],
)
def test_the_cheapest_model_on_a_route_is_chosen(
    rows: list[dict[str, Any]], chosen: str | None, included: bool | None
) -> None:
    found = choose(rows, CHAT, needs="supportsToolUse")

    assert (found and found.id.removeprefix("copilot:"), found and found.included) == (chosen, included)


async def test_a_chat_with_the_model_chosen_for_a_route_uses_this_route(home, emulator):
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))
    async with copilot_daemon(home) as daemon:
        models = (await daemon.request("models/list", {"provider": "copilot"})).result["models"]
        for route in ROUTES:
            found = choose(models, route)
            assert found is not None, route
            params = {"model": found.id, "messages": [{"role": "user", "content": "Hello"}]}
            await daemon.request("chat/start", params)
            assert len(emulator.requests(path=route)) == 1, (route, found)
