"""The prompt cache of Claude models, as the emulated service counts it."""

from __future__ import annotations

import pytest

from tests.copilot import configure, copilot_daemon, table
from tests.emulator import CopilotEmulator

pytestmark = pytest.mark.slow

MODEL = "claude-sonnet-4.6"
COUNT = "Count to 3"
LONG = " ".join(f"word{number}" for number in range(19_997))
"""A text that has 20,000 tokens together with `COUNT`. The emulator counts a word as a token."""

TOOL = {"name": "weather", "description": "", "parameters": {"type": "object"}}


async def run_three_turns(home, endpoints, **keys):
    """Run three turns, the first with a question of 20,000 tokens, and return the usage of each."""
    async with CopilotEmulator() as emulator:
        emulator.add_account()
        emulator.models[MODEL].endpoints = endpoints
        configure(home, table(emulator, github_token=emulator.issue_token("octocat"), **keys))
        async with copilot_daemon(home) as daemon:
            messages = [{"role": "user", "content": f"{LONG} {COUNT}"}]
            found = []
            for _ in range(3):
                params = {"model": f"copilot:{MODEL}", "system": "Be brief.", "tools": [TOOL]}
                result = (await daemon.request("chat/start", {**params, "messages": messages})).result
                found.append(result["usage"])
                messages.append({"role": "assistant", "content": result["content"]})
                messages.append({"role": "user", "content": COUNT})
        return found


@pytest.mark.requirement("2:cache-marks")
@pytest.mark.parametrize("endpoints", [("/v1/messages",), ("/chat/completions",)])
async def test_later_turns_pay_only_for_what_is_new(home, endpoints):
    first, second, third = await run_three_turns(home, endpoints)

    assert first["cacheReadTokens"] == 0
    assert (first["inputTokens"], second["cacheReadTokens"]) == (20_002, 20_002)
    assert third["cacheReadTokens"] == second["inputTokens"]
    # Each turn adds an answer of three words and a question of three words.
    assert [usage["inputTokens"] - usage["cacheReadTokens"] for usage in (second, third)] == [6, 6]


@pytest.mark.requirement("2:cache-marks")
@pytest.mark.parametrize("endpoints", [("/v1/messages",), ("/chat/completions",)])
async def test_without_the_cache_every_turn_pays_for_all_tokens(home, endpoints):
    usages = await run_three_turns(home, endpoints, cache=False)

    assert [usage["cacheReadTokens"] for usage in usages] == [0, 0, 0]
