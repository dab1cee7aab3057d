"""Writes scenarios for the scripted daemon, and reads the messages that it has logged."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DAEMON = Path(__file__).with_name("daemon.py")


def answer_steps(*texts: str, stop_reason: str = "end_turn") -> list[dict[str, Any]]:
    """Return the steps of a chat that answers with these pieces of text."""
    block = {"type": "text", "text": "".join(texts)}
    usage = {"inputTokens": 3, "outputTokens": len(texts), "cacheReadTokens": 0, "cacheCreationTokens": 0}
    return [
        {"delta": {"type": "start", "provider": "fake", "model": "m"}},
        {"delta": {"type": "text_start", "block": 0}},
        *({"delta": {"type": "text_delta", "block": 0, "text": text}} for text in texts),
        {"delta": {"type": "text_done", "block": 0, "content": block}},
        {"delta": {"type": "done", "stopReason": stop_reason, "usage": usage}},
        {
            "result": {
                "turnId": "t",
                "provider": "fake",
                "model": "m",
                "content": [block],
                "text": block["text"],
                "toolCalls": [],
                "stopReason": stop_reason,
                "usage": usage,
            }
        },
    ]


class Scenario:
    """A scripted daemon, with the command that starts it and the messages that it received."""

    def __init__(self, folder: Path, **scenario: Any) -> None:
        self.log = folder / "messages.jsonl"
        self.file = folder / "scenario.json"
        self.file.write_text(json.dumps({"log": str(self.log), **scenario}), encoding="utf-8")

    @classmethod
    def chat(cls, folder: Path, *chats: Sequence[dict[str, Any]], **more: Any) -> Scenario:
        """Write a scenario with the steps of these chats, one list for each `chat/start`."""
        return cls(folder, chats=[list(steps) for steps in chats], **more)

    @property
    def command(self) -> list[str]:
        """The command that starts the daemon. It ignores installed packages (-S), to start quickly."""
        return [sys.executable, "-S", str(DAEMON), str(self.file)]

    def read_messages(self, method: str | None = None) -> list[dict[str, Any]]:
        """Return the messages received so far, or those with this method, without an incomplete last line."""
        if not self.log.exists():
            return []
        whole = self.log.read_bytes().rpartition(b"\n")[0]
        messages = [json.loads(line) for line in whole.splitlines()]
        return [message for message in messages if method in (None, message.get("method"))]
