"""Settings rows that several kinds share.

Ranges come from each API's reference; the widest one is used if compatible servers differ.
"""

from __future__ import annotations

from typing import Any

from jumpseat.chat import THINKING_ROOM
from jumpseat.config import SettingRow


# Rows have no default, so that only values set by a user or client are sent.
def row(type_: str, order: int, description: str, **rules: Any) -> SettingRow:
    """Return one optional row.

    Args:
        type_: see `SettingRow.type`.
        order: the position in a form.
        description: a sentence.
        rules: the other fields of `SettingRow`.
    """
    return SettingRow.model_validate(
        {"type": type_, "order": order, "description": description, "optional": True, **rules}
    )


TEMPERATURE = row(
    "number", 1, "Higher values are more random. Some reasoning models reject it.", minimum=0, maximum=2
)
TOP_P = row(
    "number", 2, "Sample from the most probable tokens that add up to this share.", minimum=0, maximum=1
)
TOP_K = row("integer", 3, "Sample from this many of the most probable tokens.", minimum=0)
MIN_P = row(
    "number",
    4,
    "Leave out tokens whose probability is below this share of the best token's probability.",
    minimum=0,
    maximum=1,
)
REPEAT_PENALTY = row("number", 5, "Values above 1 reduce repetition.", minimum=0)
SEED = row("integer", 6, "The same seed gives the same answer if the provider supports it.")
MAX_TOKENS = row(
    "integer",
    20,
    "The maximum length of an answer in tokens, for chats that do not set it.",
    minimum=1,
    mapping="chat",
)
THINKING = row(
    "enum",
    21,
    "How much to think, for chats that do not set it.",
    choices=list(THINKING_ROOM),
    mapping="chat",
)

SAMPLING = {"temperature": TEMPERATURE, "top_p": TOP_P}
CHAT = {"max_tokens": MAX_TOKENS, "thinking": THINKING}
"""Each setting applies to chats that do not set the param of the same name."""

LLAMA = {**SAMPLING, "top_k": TOP_K, "min_p": MIN_P, "repeat_penalty": REPEAT_PENALTY, "seed": SEED}
"""The sampling settings of llama.cpp, and of servers built on it."""
