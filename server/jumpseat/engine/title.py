"""Asks a model for the title of a conversation, given the beginning of the conversation."""

from __future__ import annotations

import re
from collections.abc import Sequence

from jumpseat.chat import ContextBlock, Message, ProtocolError, RequestError, TextBlock
from jumpseat.engine.turn import run_turn
from jumpseat.engine.turn_request import Sink, TurnRequest
from jumpseat.providers import Registry

MAX_WORDS = 8

MAX_TITLE = 80
"""The maximum length in characters.

The limit on words is not enough for languages without spaces, and for answers that are not titles.
"""

MAX_TOKENS = 2000
"""The limit for an answer. A title needs far fewer tokens, but some models always think."""

QUESTION_CHARACTERS = 2000
ANSWER_CHARACTERS = 500
"""The maximum lengths of the excerpts that the model sees. More text would hardly change a title."""

REQUEST = f"""\
Give this conversation a title of at most {MAX_WORDS} words, in the language of the conversation. Write \
only the title, not an answer."""

_MARKUP = "#*_`<>\"' \u201c\u201d\u201e\u2018\u2019\u00ab\u00bb"
"""The characters to remove around a title: marks of Markdown, and quotation marks of several languages."""

_DASHES = "-\u2013\u2014"

_PREFIX = re.compile(r"^(the\s+)?title\s*:", re.IGNORECASE)


async def suggest_title(registry: Registry, messages: Sequence[Message], model: str | None) -> str:
    """Ask a model for the title of a conversation.

    Args:
        registry: the providers.
        messages: the messages of the conversation.
        model: the model to ask; None for the default one.

    Raises:
        RequestError: the conversation has no text.
        ProtocolError: the answer has no title.
        ChatError: see `run_turn`.
    """
    parts = (
        _excerpt(messages, "user", "User", QUESTION_CHARACTERS),
        _excerpt(messages, "assistant", "Assistant", ANSWER_CHARACTERS),
    )
    excerpt = "\n\n".join(filter(None, parts))
    if not excerpt:
        raise RequestError("The conversation has no text that could have a title.")
    question = Message("user", (ContextBlock(excerpt, label="conversation"), TextBlock(REQUEST)))
    # The user did not write this question, so it must not count as a user request.
    turn = TurnRequest(
        messages=(question,), model=model, max_tokens=MAX_TOKENS, thinking="off", initiator="agent"
    )
    response = await run_turn(registry, turn, Sink())
    title = find_title(response.text)
    if not title:
        raise ProtocolError(
            f"The model {response.model} did not suggest a title.", provider=response.provider
        )
    return title


def _excerpt(messages: Sequence[Message], role: str, name: str, most: int) -> str:
    """Return the beginning of the first text of a role, after the name of the speaker."""
    for message in messages:
        text = "\n".join(block.text for block in message.content if isinstance(block, TextBlock)).strip()
        if message.role == role and text:
            return f"{name}: {text[:most]}"
    return ""


def find_title(answer: str) -> str:
    """Return the title in an answer, without markup and cut to `MAX_WORDS` words; empty if there is none."""
    lines = list(filter(None, map(_strip_markup, answer.splitlines())))
    if len(lines) > 1 and lines[0].endswith(":"):
        del lines[0]  # This line announces the title.
    words = lines[0].split() if lines else []
    return " ".join(words[:MAX_WORDS])[:MAX_TITLE].rstrip(f" ,;:{_DASHES}")


def _strip_markup(line: str) -> str:
    plain = "".join(character if character.isprintable() else " " for character in line)
    return _PREFIX.sub("", plain.strip(_MARKUP), count=1).strip(_MARKUP).removesuffix(".")
