"""Renders the conversation as Markdown, and picks a file to save it to."""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from jumpseat_cli.repl.conversation import TerminalConversation
from jumpseat_client.client import Client

MAX_NAME_CHARACTERS = 40


async def render_conversation(client: Client, conversation: TerminalConversation) -> str:
    """Render the conversation as a transcript that editors can read back.

    Raises:
        ClientError: the request failed.
    """
    options = {key: conversation.options.get(key) for key in ("model", "system", "settings")}
    return await client.render_transcript(conversation.messages, conversation_id=conversation.id, **options)


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
