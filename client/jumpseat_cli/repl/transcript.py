"""Renders the conversation as Markdown, and picks a file to save it to."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any

from jumpseat_cli.chat.tool_calls import MAX_LINE, ShownCall, format_call, guess_tool
from jumpseat_cli.files.attachments import Block
from jumpseat_cli.repl.conversation import TerminalConversation, blocks_of
from jumpseat_cli.terminal.wrapping import columns
from jumpseat_client.client import Client

MAX_NAME_CHARACTERS = 40


async def render_conversation(client: Client, conversation: TerminalConversation) -> str:
    """Render the conversation as a transcript that editors can read back.

    Raises:
        ClientError: the request failed.
    """
    options = conversation.options
    return await client.render_transcript(
        conversation.messages,
        system=options.get("system"),
        model=options.get("model"),
        settings=options.get("settings"),
        conversation_id=conversation.id,
    )


def summarize_calls(messages: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages with one line of text in place of each tool call and its result."""
    calls: dict[str, ShownCall] = {}
    rows: list[tuple[Mapping[str, Any], list[Block | ShownCall]]] = []
    for message in messages:
        pieces: list[Block | ShownCall] = []
        for block in blocks_of(message):
            if block["type"] == "tool_use":
                # A later turn may use the id again, but only after the result of the earlier call.
                call = ShownCall(guess_tool(block["name"]), block.get("arguments") or {})
                calls[block["id"]] = call
                pieces.append(call)
            elif block["type"] == "tool_result" and block["toolUseId"] in calls:
                calls[block["toolUseId"]].set_result(block)
            else:
                pieces.append(block)
        if pieces:
            rows.append((message, pieces))
    return [{**message, "content": list(_merge_calls(pieces))} for message, pieces in rows]


def _merge_calls(pieces: Sequence[Block | ShownCall]) -> Iterator[Block]:
    """Yield the blocks. Adjacent calls and texts become one text block if there is a call among them."""
    width = columns() if sys.stdout.isatty() else MAX_LINE
    for _, group in groupby(pieces, lambda piece: isinstance(piece, ShownCall) or piece["type"] == "text"):
        run = list(group)
        if any(isinstance(piece, ShownCall) for piece in run):
            texts = [
                _as_code(format_call(piece, width)) if isinstance(piece, ShownCall) else piece["text"]
                for piece in run
            ]
            yield {"type": "text", "text": "\n\n".join(texts)}
        else:
            yield from (piece for piece in run if not isinstance(piece, ShownCall))


def _as_code(line: str) -> str:
    """Return a line as Markdown that is displayed unchanged."""
    fence = "`" * (max(map(len, re.findall("`+", line)), default=0) + 1)
    return f"{fence}{line}{fence}" if not line.endswith("`") else f"{fence} {line} {fence}"


def choose_path(conversation: TerminalConversation, directory: Path) -> Path:
    """Return an unused path for a transcript, named after the first words of the first question."""
    texts = [block["text"] for block in conversation.first_question if block["type"] == "text"]
    words = re.findall(r"\w+", " ".join(texts).lower())
    name = ""
    for word in words:
        if len(name) + len(word) >= MAX_NAME_CHARACTERS:
            break
        name += f"-{word}"
    stem = name[1:] or datetime.now().strftime("chat-%Y%m%d-%H%M%S")
    path = directory / f"{stem}.md"
    number = 2
    while path.exists():
        path = directory / f"{stem}-{number}.md"
        number += 1
    return path
