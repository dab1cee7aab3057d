"""Reasoning that a server leaves in the content, between literal `<think>` and `</think>`.

Older llama.cpp, vLLM and Groq's raw format do so (the openai-chat reference). Only a tag at the very
start of the content counts, white space aside: later on it is something the model writes about.

Some chat templates write the opening tag themselves, so that only the closing one is in the answer. Then
the content cannot be told until that tag comes, so it is held back, and only where that is worth its price:
in answers that are not streamed, and for models whose templates are known to do so.
"""

from __future__ import annotations

import re
from typing import Literal

OPENING, CLOSING = "<think>", "</think>"

MAX_HELD = 256 * 1024
"""Characters that are held back for a closing tag; reasoning that is longer is shown as text."""

_OPENED_BY_THE_TEMPLATE = re.compile(r"deepseek-?r1|\bqwq\b|qwen3.*thinking|minimax-?m2", re.IGNORECASE)

Part = tuple[Literal["text", "thinking"], str]


def opened_by_the_template(model: str) -> bool:
    """Whether the model's chat template is known to write the opening tag itself."""
    return _OPENED_BY_THE_TEMPLATE.search(model) is not None


class ThinkTagSplitter:
    """Takes content as it comes, gives it as parts; holds back only what may be part of a tag."""

    def __init__(self, *, may_lack_opening: bool = False) -> None:
        """
        Args:
            may_lack_opening: hold back content without an opening tag until a closing one comes, or the end.
        """
        self.may_lack_opening = may_lack_opening
        self._state: Literal["start", "unopened", "thinking", "after", "text"] = "start"
        self._held = ""

    def feed(self, piece: str) -> list[Part]:
        """The parts that are certain now."""
        if self._state == "text":
            return [("text", piece)]
        self._held += piece
        parts: list[Part] = []
        if self._state == "start":
            begun = self._held.lstrip()
            if OPENING.startswith(begun):
                return parts
            if begun.startswith(OPENING):
                self._state, self._held = "thinking", begun[len(OPENING) :]
            elif self.may_lack_opening:
                self._state = "unopened"
            else:
                return self._release()
        if self._state == "unopened":
            return self._take_unopened(at_the_end=False)
        if self._state == "thinking":
            thought, closing, rest = self._held.partition(CLOSING)
            kept = 0 if closing else _overlap(thought, CLOSING)
            sure = thought[: len(thought) - kept]
            if sure:
                parts.append(("thinking", sure))
            self._held = rest if closing else thought[len(sure) :]
            if closing:
                self._state = "after"
        if self._state == "after":
            # The line ends between the tag and the answer belong to neither.
            self._held = self._held.lstrip("\r\n")
            if self._held:
                parts += self._release()
        return parts

    def finish(self) -> list[Part]:
        """What was held back, at the end of the content."""
        if self._state == "unopened":
            return [*self._take_unopened(at_the_end=True), *self._release()]
        kind: Literal["text", "thinking"] = "thinking" if self._state == "thinking" else "text"
        held, self._held, self._state = self._held, "", "text"
        return [(kind, held)] if held else []

    def _take_unopened(self, *, at_the_end: bool) -> list[Part]:
        thought, closing, rest = self._held.partition(CLOSING)
        if not closing:
            return self._release() if len(self._held) > MAX_HELD else []
        if not rest and not at_the_end:
            return []  # What follows the tag may tell whether it is one.
        # A tag stands at the end of a line or alone in one; otherwise the model writes about it, as it does
        # where an opening tag stands behind other words.
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
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
