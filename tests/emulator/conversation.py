"""The answers of the emulated models, which depend on the conversation so that tests can check their input.

The first rule that matches the end of the conversation applies:

- after tool results: `The tool NAME answered: ...` for each of them;
- a tool choice that demands a call, or a user text with "use the tool NAME [with {json}]" (or "use the
  tools A and B") and NAME among the tools: calls, with missing arguments generated from the schema;
- "repeat the system prompt": the system prompt; "repeat my first message": that message;
- "count to N": the numbers, each in a separate piece;
- a request for JSON: an object with `said`, or one generated from the schema;
- anything else: `You said: ...`, and the number of images in the message.

A token is a word. If thinking is requested, the thinking states the number of messages.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from tests.emulator.prompt_cache import Segment

_USE_TOOL = re.compile(r"use the tools? ([\w-]+(?:(?:, | and )[\w-]+)*)(?: with (\{.*\}))?", re.S | re.I)
_COUNT = re.compile(r"count to (\d{1,6})", re.I)
_MADE_UP = {"string": "example", "integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}


@dataclass(frozen=True, slots=True)
class ToolUse:
    """A tool call of a model."""

    name: str
    arguments: str
    id: str = ""


@dataclass(slots=True)
class Turn:
    """A message of any dialect."""

    role: str
    text: str = ""
    images: int = 0
    calls: list[ToolUse] = field(default_factory=list)
    answers: str | None = None
    """The id of the call, if this is its result."""


@dataclass(slots=True)
class Prompt:
    """A request of any dialect. `forced` is the name of a tool, or `*` for any tool."""

    turns: list[Turn]
    tools: dict[str, Any] = field(default_factory=dict)
    forced: str | None = None
    tools_allowed: bool = True
    thinks: bool = False
    max_tokens: int | None = None
    stream: bool = False
    stops: tuple[str, ...] = ()
    json_schema: Any = None
    """The schema of the answer, which is empty for any object; None for text."""
    segments: list[Segment] = field(default_factory=list)
    """The segments for the prompt cache; empty in dialects without marks."""

    @property
    def words(self) -> int:
        """The length in tokens."""
        return count(self.turns)

    @property
    def images(self) -> int:
        return sum(turn.images for turn in self.turns)


@dataclass(slots=True)
class Answer:
    """The model's answer in pieces."""

    thoughts: list[str]
    pieces: list[str]
    calls: list[ToolUse]
    cut: bool = False
    prompt_tokens: int = 0
    stopped_by: str | None = None
    """The stop sequence that ended the answer."""
    cache_read: int = 0
    """The tokens of the prompt that came from the prompt cache."""
    cache_written: int = 0
    """The tokens of the prompt that were added to the prompt cache."""

    @property
    def uncached_tokens(self) -> int:
        """The tokens of the prompt that were neither read from the prompt cache nor added to it."""
        return self.prompt_tokens - self.cache_read - self.cache_written

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    @property
    def thinking(self) -> str:
        return "".join(self.thoughts)

    @property
    def thinking_tokens(self) -> int:
        return count_words(self.thinking)

    @property
    def output_tokens(self) -> int:
        """The tokens of text and calls, without the thinking."""
        return count_words(self.text) + sum(1 + count_words(call.arguments) for call in self.calls)


def count_words(text: str) -> int:
    return len(text.split())


def count(turns: list[Turn]) -> int:
    """Return the number of tokens in messages."""
    return sum(count_words(turn.text) + 10 * turn.images for turn in turns)


def compose(prompt: Prompt) -> Answer:
    """Return the answer to a conversation. The dialects add their own ids to calls."""
    calls = [] if prompt.turns[-1].role == "tool" else _calls(prompt)
    text = f"I will use {' and '.join(call.name for call in calls)}." if calls else _text(prompt)
    stopped_by = next((stop for stop in prompt.stops if stop in text), None)
    if stopped_by is not None:
        text = text.partition(stopped_by)[0]
    pieces = re.findall(r"\s*\S+", text) or [text]
    thoughts = []
    if prompt.thinks:
        thoughts = ["**Reading the conversation**\n\n", f"It has {len(prompt.turns)} messages.\n\n"]
    cut = not calls and prompt.max_tokens is not None and len(pieces) > prompt.max_tokens
    said = pieces[: prompt.max_tokens] if cut else pieces
    return Answer(thoughts, said, calls, cut, prompt.words, stopped_by)


def _calls(prompt: Prompt) -> list[ToolUse]:
    if not prompt.tools or not prompt.tools_allowed:
        return []
    found = _USE_TOOL.search(_last_of(prompt, "user").text)
    names = re.split(r", | and ", found[1]) if found else []
    offered = [name for name in names if name in prompt.tools]
    if prompt.forced is not None:
        offered = offered or [next(iter(prompt.tools)) if prompt.forced == "*" else prompt.forced]
    given = found[2] if found and _is_object(found[2]) else None
    return [ToolUse(name, given or json.dumps(_invent(prompt.tools[name]))) for name in offered]


def _is_object(text: str | None) -> bool:
    try:
        return isinstance(json.loads(text or ""), dict)
    except ValueError:
        return False


def _invent(schema: Any) -> dict[str, Any]:
    if not isinstance(schema, dict):
        return {}
    properties = schema.get("properties") or {}
    required = schema.get("required") or ()
    return {
        name: properties.get(name, {}).get("enum", [_MADE_UP.get(properties.get(name, {}).get("type"))])[0]
        for name in required
    }


def _text(prompt: Prompt) -> str:
    if prompt.turns[-1].role == "tool":
        return _about_results(prompt)
    last = _last_of(prompt, "user")
    question = last.text.lower()
    if "repeat the system prompt" in question:
        return _last_of(prompt, "system").text or "There is no system prompt."
    if "repeat my first message" in question:
        return next((turn.text for turn in prompt.turns if turn.role == "user"), "")
    if found := _COUNT.search(question):
        return " ".join(str(number + 1) for number in range(int(found[1])))
    if prompt.json_schema is not None:
        return json.dumps(_invent(prompt.json_schema) or {"said": last.text})
    seen = f" I see {last.images} image{'s' * (last.images != 1)}." if last.images else ""
    return f"You said: {last.text}{seen}"


def _about_results(prompt: Prompt) -> str:
    names = {call.id: call.name for turn in prompt.turns for call in turn.calls}
    results = []
    for turn in reversed(prompt.turns):
        if turn.role != "tool":
            break
        results.append(f"The tool {names.get(turn.answers or '', 'unknown')} answered: {turn.text}")
    return "\n".join(reversed(results))


def _last_of(prompt: Prompt, role: str) -> Turn:
    return next((turn for turn in reversed(prompt.turns) if turn.role == role), Turn(role))
