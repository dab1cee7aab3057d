"""The choice of models for the live tests; makes no requests to GitHub."""

from __future__ import annotations

from typing import Any

import pytest

from tests.copilot import configure, copilot_daemon, table
from tests.live.chosen import ROUTES, choose

CHAT, RESPONSES, MESSAGES = ROUTES


def row(name: str, *endpoints: str, **more: Any) -> dict[str, Any]:
    found = {"id": f"copilot:{name}", "model": name, "endpoints": list(endpoints) or [CHAT]}
    return {**found, "pickerEnabled": True, "supportsToolUse": True, **more}


def make_row(name: str, multiplier: float, **more: Any) -> dict[str, Any]:
    return row(name, billing={"isPremium": multiplier > 0, "multiplier": multiplier}, **more)


@pytest.mark.parametrize(
    ("rows", "chosen", "included"),
    [
        ([make_row("dear", 10), make_row("cheap", 0.33), make_row("free", 0)], "free", True),
        ([make_row("dear", 10), make_row("cheap", 0.33)], "cheap", False),
        ([make_row("free", 0, policy="unconfigured"), make_row("dear", 1)], "dear", False),
        ([make_row("free", 0, pickerEnabled=False), make_row("dear", 1)], "dear", False),
        ([make_row("free", 0, supportsToolUse=False), make_row("dear", 1)], "dear", False),
        ([row("unpriced"), make_row("dear", 30)], "dear", False),
        ([row("unpriced")], "unpriced", False),
        ([row("a", billing={"tokenPrices": {"batch_size": 0, "default": {"input_price": 0}}})], "a", True),
        ([row("a", billing={"tokenPrices": {"batch_size": 9, "default": {"input_price": 3}}})], "a", False),
        ([make_row("auto", 0)], None, None),
        ([row("elsewhere", CHAT, RESPONSES)], None, None),
        ([], None, None),
    ],
)
def test_the_cheapest_model_on_a_route_is_chosen(
    rows: list[dict[str, Any]], chosen: str | None, included: bool | None
) -> None:
    found = choose(rows, CHAT, needs="supportsToolUse")

    assert (found and found.id.removeprefix("copilot:"), found and found.included) == (chosen, included)


async def test_each_route_has_a_model_at_the_emulator(home, emulator):
    configure(home, table(emulator, github_token=emulator.issue_token("octocat")))
    async with copilot_daemon(home) as daemon:
        models = (await daemon.request("models/list", {"provider": "copilot"})).result["models"]
        for route in ROUTES:
            found = choose(models, route)
            assert found is not None, route
            params = {"model": found.id, "messages": [{"role": "user", "content": "Hello"}]}
            await daemon.request("chat/start", params)
            assert len(emulator.requests(path=route)) == 1, (route, found)
