"""Hypothesis strategies for conversations with texts that have a special meaning in transcripts."""

from __future__ import annotations

import json
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st

from jumpseat.chat import (
    ContextBlock,
    DocumentBlock,
    ImageBlock,
    Message,
    Origin,
    OtherBlock,
    Position,
    Range,
    RedactedThinkingBlock,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.chat.transcript import SYNTAXES

PIECES = (
    "## Me", "## Assistant", "## Ich", "## Me ", "##  Me\t", " ## Me", "# Me", "### Me", "## Me!", "##Me",
    "\\", "\\\\", "\\## Me", "---", "--- ", "...", "model: x", "```", "````", "~~~", "```python",
    "```tool_use id=a name=b", "````tool_result id=a", "```context", "```image x", "```other kind=",
    "<details>", "</details>", "</details> ", "<details><summary>Thinking</summary>", "<summary>",
    "<!-- text -->", "<!-- empty -->", "<!--", "\n", "\n\n", "\r\n", "\r", " ", "   ", "\t", "\x85",
    "\u2028", "\u2029", "\u00a0", "\ufeff", "\ud83d", "🙂", "é", "word", "\x0b", "\x0c", "\x1c",
    "* Me", "* Assistant", "* Me :a:", "** Me", "*", "**", ",", ",,", ",* Me", "#+", "#", "# Me", ":END:",
    ":PROPERTIES:", ":model: x", "#+begin_context", "#+END_CONTEXT", "  #+begin_thinking", "#+end_thinking",
    "#+begin_tool_use :id a :name b", "#+begin_image :x", "#+text:", "#+empty:", "#+STARTUP: x", ",#+a: b",
    "vim:", "Vim>700:", "vi:", "ex:", "vim\\:", " set x:", "Local Variables:", "local variables\\\\:", ":",
)  # fmt: skip

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
"""The characters that a text can contain in the daemon. The daemon replaces U+0000 with U+FFFD."""

texts = st.one_of(
    st.lists(st.sampled_from((*PIECES, "\n", "\n", "\n")), max_size=12).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=8).map("\n".join),
    st.text(CHARACTERS, max_size=40),
)
nonempty_texts = st.one_of(st.text(CHARACTERS, min_size=1, max_size=12), texts.filter(bool))
maybe_texts = st.none() | texts
origins = st.none() | st.builds(Origin, st.text("abz-_1", min_size=1, max_size=5), nonempty_texts)
positions = st.builds(Position, st.integers(0, 10**6), st.integers(0, 10**6))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
argument_objects = st.dictionaries(
    st.text(CHARACTERS, max_size=6), st.integers() | st.text(CHARACTERS, max_size=12), max_size=3
)


def make_call(id_: str, name: str, arguments: dict[str, Any], layout: dict[str, Any]) -> ToolUseBlock:
    """Return a tool call whose raw text has one of several layouts."""
    raw = json.dumps(arguments, **layout)
    return ToolUseBlock(id_, name, json.loads(raw), raw)


def result_with_media(
    id_: str, text: str, files: list[ImageBlock | DocumentBlock], is_error: bool
) -> ToolResultBlock:
    """Return a tool result that consists of a text (left out if it is empty) and files."""
    return ToolResultBlock(id_, (*([TextBlock(text)] if text else []), *files), is_error)


media = st.builds(ImageBlock, nonempty_texts, maybe_texts) | st.builds(
    DocumentBlock, nonempty_texts, maybe_texts, maybe_texts
)
blocks = st.one_of(
    st.builds(TextBlock, texts),
    st.builds(ThinkingBlock, texts),
    st.builds(
        make_call, nonempty_texts, nonempty_texts, argument_objects, st.sampled_from([{}, {"indent": 2}])
    ),
    st.builds(
        lambda id_, raw, why: ToolUseBlock(id_, "t", None, f"{{{raw}", why), nonempty_texts, texts, texts
    ),
    st.builds(ToolUseBlock, nonempty_texts, nonempty_texts, st.just({}), st.just("")),
    st.builds(ToolResultBlock, nonempty_texts, texts, st.booleans()),
    st.builds(
        result_with_media, nonempty_texts, texts, st.lists(media, min_size=1, max_size=3), st.booleans()
    ),
    st.builds(
        ContextBlock,
        texts,
        maybe_texts,
        maybe_texts,
        st.none() | st.builds(Range, positions, positions),
        maybe_texts,
    ),
    media,
    st.builds(RedactedThinkingBlock, texts, origin=origins),
    st.builds(OtherBlock, nonempty_texts, maybe_texts, origin=origins),
)
messages = st.builds(Message, st.sampled_from(["user", "assistant"]), st.lists(blocks, max_size=5).map(tuple))
conversations = st.lists(messages, max_size=5)
settings = st.dictionaries(texts, json_values.filter(lambda value: value is not None), max_size=3)

any_size = hypothesis.settings(suppress_health_check=[hypothesis.HealthCheck.too_slow], deadline=None)
in_both_formats = pytest.mark.parametrize("syntax", SYNTAXES.values(), ids=SYNTAXES)
