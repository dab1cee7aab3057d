"""The state of the current conversation: messages, attachments to the next question, and total usage."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from jumpseat_cli.chat.tool_selection import ToolSelection
from jumpseat_cli.files.attachments import Block


@dataclass
class Totals:
    """The total usage of the turns."""

    turns: int = 0
    seconds: float = 0.0
    tokens: Counter[str] = field(default_factory=Counter)
    """Token counts by the keys of the wire object `usage`."""

    cost: Counter[str] = field(default_factory=Counter)
    """Costs by currency."""

    def add(self, usage: Mapping[str, Any], seconds: float) -> None:
        """Add the usage of one turn."""
        self.turns += 1
        self.seconds += seconds
        self.tokens.update({key: value for key, value in usage.items() if isinstance(value, int)})
        if cost := usage.get("cost"):
            self.cost[str(cost.get("currency", ""))] += cost.get("amount", 0)


@dataclass
class TerminalConversation:
    """The state for the next turn, and the last question, which can be asked again."""

    options: dict[str, Any] = field(default_factory=dict)
    """Options for `Client.chat`; None leaves the choice to the daemon."""

    id: str | None = None
    """The id of the kept conversation; None if this conversation is not kept, or not yet."""

    unkept_id: str = field(default_factory=lambda: uuid.uuid4().hex)
    """The id to send if the conversation is not kept.

    Under this id, the daemon remembers the user's decisions about calls of tools.
    """

    title: str = ""
    """The title of the kept conversation that this one continues."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    attachments: list[Block] = field(default_factory=list)
    """Files and images to send with the next question."""

    tools: ToolSelection = field(default_factory=ToolSelection)
    """The tools that the daemon runs."""

    question: list[Block] = field(default_factory=list)
    """The last question, whether it was answered or not."""

    extends_answer: bool = False
    """Whether the next answer continues the last one."""

    before: int = 0
    """The number of messages before the last question."""

    thinking: str = ""
    """The thinking of the last answer."""

    shows_thinking: bool = False
    is_raw: bool = False
    """Whether to print answers without rendering their Markdown."""

    totals: Totals = field(default_factory=Totals)

    def resume(self, kept: Mapping[str, Any]) -> None:
        """Continue a kept conversation."""
        self.id, self.title, self.messages = kept["id"], kept["title"], list(kept["messages"])
        for number, message in enumerate(self.messages):
            blocks = blocks_of(message)
            if message["role"] == "user" and any(block["type"] == "text" for block in blocks):
                self.question, self.before = blocks, number

    def clear(self) -> None:
        """Begin another conversation with the same options and tools."""
        self.id, self.unkept_id = None, uuid.uuid4().hex
        self.messages, self.attachments, self.question = [], [], []
        self.before, self.thinking, self.totals = 0, "", Totals()

    def ask(self, text: str) -> list[dict[str, Any]]:
        """Set a new question, and return the messages to send."""
        return self._replace_question([*self.attachments, {"type": "text", "text": text}], len(self.messages))

    def ask_again(self, text: str | None = None) -> list[dict[str, Any]]:
        """Repeat the last question, with `text` as its text if given, and return the messages to send."""
        question = self.question
        if text is not None:
            others = [block for block in question if block["type"] != "text"]
            question = [*others, {"type": "text", "text": text}]
        return self._replace_question(question, self.before)

    def go_on(self) -> list[dict[str, Any]]:
        """Continue the last answer, and return the messages to send."""
        self.extends_answer = True
        return self.messages

    def _replace_question(self, question: list[Block], before: int) -> list[dict[str, Any]]:
        self.question, self.before, self.extends_answer = question, before, False
        return [*self.messages[:before], {"role": "user", "content": question}]

    def set_answer(self, content: list[Block]) -> None:
        """Store the answer to the last question, or the part of it that was received."""
        if self.extends_answer:
            self.messages[-1] = {"role": "assistant", "content": [*blocks_of(self.messages[-1]), *content]}
            return
        question = {"role": "user", "content": self.question}
        self.messages[self.before :] = [question, {"role": "assistant", "content": content}]
        self.attachments = [block for block in self.attachments if block not in self.question]

    @property
    def can_continue(self) -> bool:
        """Whether the last answer ends with a tool result that the model has not received yet."""
        blocks = blocks_of(self.messages[-1]) if self.messages else []
        last = blocks[-1] if blocks else {}
        is_of_daemon = (last.get("origin") or {}).get("provider") == "daemon"
        return last.get("type") == "tool_result" and is_of_daemon

    @property
    def first_question(self) -> list[Block]:
        """The blocks of the first message; empty if there is none."""
        return blocks_of(self.messages[0]) if self.messages else []

    @property
    def question_text(self) -> str:
        """The text of the last question."""
        return "\n\n".join(block["text"] for block in self.question if block["type"] == "text")


def blocks_of(message: Mapping[str, Any]) -> list[Block]:
    """Return the content of a message as blocks."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)
