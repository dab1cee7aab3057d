"""Separates the text of an answer from reasoning that the content contains between `<think>` and `</think>`.

Groq in its raw format, and older versions of llama.cpp and vLLM, send reasoning in this form. Source:
`tests/dialect_rows/chat_completions.py`.
"""

from __future__ import annotations

import re
from typing import Literal

OPENING, CLOSING = "<think>", "</think>"

MAX_HELD = 256 * 1024
"""The maximum number of characters held back if the opening tag is missing; longer content becomes text."""

# The templates of these models write the opening tag into the prompt, so the answer has only the closing tag.
_OPENED_BY_THE_TEMPLATE = re.compile(r"deepseek-?r1|\bqwq\b|qwen3.*thinking|minimax-?m2", re.IGNORECASE)

Part = tuple[Literal["text", "thinking"], str]


def is_opened_by_template(model: str) -> bool:
    """Whether the model's chat template is known to write the opening tag itself."""
    return _OPENED_BY_THE_TEMPLATE.search(model) is not None


class ThinkTagSplitter:
    """An incremental splitter that holds back characters that may belong to a tag."""

    def __init__(self, *, may_lack_opening: bool) -> None:
        """
        Args:
            may_lack_opening: whether the opening tag may be missing. Content without it is then held back
                until a closing tag, the end of the content, or `MAX_HELD` characters.
        """
        self.may_lack_opening = may_lack_opening
        self._state: Literal["start", "unopened", "thinking", "after", "text"] = "start"
        self._held = ""

    def feed(self, piece: str) -> list[Part]:
        """Return the parts that are complete now."""
        if self._state == "text":
            return [("text", piece)]
        self._held += piece
        parts: list[Part] = []
        if self._state == "start":
            begun = self._held.lstrip()
            if OPENING.startswith(begun):
                return parts
            # Only a tag at the start counts: later ones are text that the model writes.
            if begun.startswith(OPENING):
                self._state, self._held = "thinking", begun[len(OPENING) :]
            elif self.may_lack_opening:
                # Holding back delays the text, so it is done only for some models.
                self._state = "unopened"
            else:
                return self._release()
        if self._state == "unopened":
            return self._split_unopened(at_end=False)
        if self._state == "thinking":
            thought, closing, rest = self._held.partition(CLOSING)
            kept = 0 if closing else _overlap(thought, CLOSING)
            complete = thought[: len(thought) - kept]
            if complete:
                parts.append(("thinking", complete))
            self._held = rest if closing else thought[len(complete) :]
            if closing:
                self._state = "after"
        if self._state == "after":
            # Line endings between the tag and the answer are dropped.
            self._held = self._held.lstrip("\r\n")
            if self._held:
                parts += self._release()
        return parts

    def finish(self) -> list[Part]:
        """Return the parts that were held back; called when the content is complete."""
        if self._state == "unopened":
            return [*self._split_unopened(at_end=True), *self._release()]
        kind: Literal["text", "thinking"] = "thinking" if self._state == "thinking" else "text"
        held, self._held, self._state = self._held, "", "text"
        return [(kind, held)] if held else []

    def _split_unopened(self, *, at_end: bool) -> list[Part]:
        thought, closing, rest = self._held.partition(CLOSING)
        if not closing:
            return self._release() if len(self._held) > MAX_HELD else []
        if not rest and not at_end:
            return []  # The next character decides whether this is a tag.
        # The closing tag counts only at the beginning or the end of a line. Anywhere else, it is text that
        # the model writes. The same is true if an opening tag or an unclosed backtick precedes it.
        is_apart = thought.endswith("\n") or not rest or rest[0] in "\r\n"
        if not is_apart or OPENING in thought or thought.count("`") % 2:
            return self._release()
        answer = rest.lstrip("\r\n")
        self._held, self._state = answer, "text" if answer else "after"
        parts: list[Part] = [("thinking", thought)] if thought else []
        return [*parts, *(self._release() if answer else [])]

    def _release(self) -> list[Part]:
        held, self._held, self._state = self._held, "", "text"
        return [("text", held)] if held else []


def _overlap(text: str, tag: str) -> int:
    """Return the number of characters at the end of the text that may begin the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
