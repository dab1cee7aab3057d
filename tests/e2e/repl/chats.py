"""Scripted answers for the provider of a conversation, and the requests that it received."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Event, Gate, Reply

PATH = "/v1/chat/completions"


def answer(*texts: str, reasoning: Sequence[str] = ()) -> Reply:
    """Return an answer that streams these pieces."""
    return Reply.events(completion_stream(texts, reasoning=reasoning))


def answer_with_calls(*calls: tuple[str, dict[str, Any]], text: str = "", gate: Gate | None = None) -> Reply:
    """Return an answer with a text and calls. After the text, it waits until the gate, if any, is open."""
    made = [
        FakeCall(f"{name}-{number}", name, [json.dumps(arguments)])
        for number, (name, arguments) in enumerate(calls)
    ]
    events: list[Event] = completion_stream([text] if text else [], tool_calls=made)
    return Reply.events(events if gate is None else [*events[:2], gate, *events[2:]])


def hold_answer(gate: Gate, before: Sequence[str], after: Sequence[str]) -> Reply:
    """Return an answer that waits for the gate between the pieces in `before` and those in `after`."""
    events: list[Event] = completion_stream([*before, *after])
    at = 1 + len(before)
    return Reply.events([*events[:at], gate, *events[at:]])


def list_messages(upstream: ThreadedUpstream, number: int = -1) -> list[tuple[str, str]]:
    """Return the role and content of each message in one of the received chats, by default the last one."""
    chats = [request for request in upstream.requests if request.path == PATH]
    return [(each["role"], each["content"]) for each in chats[number].json["messages"]]


def questions(upstream: ThreadedUpstream) -> list[str]:
    """Return the last message of each chat that the provider received."""
    chats = [request for request in upstream.requests if request.path == PATH]
    return [chat.json["messages"][-1]["content"] for chat in chats]


def models(upstream: ThreadedUpstream) -> list[str]:
    """Return the model of each chat that the provider received."""
    return [request.json["model"] for request in upstream.requests if request.path == PATH]
