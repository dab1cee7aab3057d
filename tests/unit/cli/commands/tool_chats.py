"""Answers of a scripted daemon whose chats run tools, and the decisions that it received."""

from __future__ import annotations

from typing import Any

from tests.fakes.scenario import Scenario, answer_steps
from tests.fakes.tool_steps import DECIDED

END = answer_steps("Done.")[1:]
LISTED = {
    "servers": [
        {"name": "shed", "state": "running"},
        *({"name": name, "state": "stopped"} for name in ("files", "github", "db")),
    ],
    "tools": [
        {"server": "shed", "tool": "dig"},
        {"server": "shed", "tool": "rake"},
        {"server": "db", "tool": "query"},
    ],
}
ANSWERS = {**DECIDED, "tools/list": LISTED}


def list_decisions(scenario: Scenario) -> list[dict[str, Any]]:
    """Return the decisions that the daemon received."""
    return [message["params"] for message in scenario.read_messages("tools/decide")]
