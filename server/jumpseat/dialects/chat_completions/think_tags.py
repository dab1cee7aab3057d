"""Reasoning that a server leaves in the content, between literal `<think>` and `</think>`.

Older llama.cpp, vLLM and Groq's raw format do so (the openai-chat reference). Only a tag at the very
start of the content counts, white space aside: later on it is something the model writes about.
"""

from __future__ import annotations

from typing import Literal

OPENING, CLOSING = "<think>", "</think>"

Part = tuple[Literal["text", "thinking"], str]


class ThinkTagSplitter:
    """Takes content as it comes, gives it as parts; holds back only what may be part of a tag."""

    def __init__(self) -> None:
        self._state: Literal["start", "thinking", "after", "text"] = "start"
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
            if not begun.startswith(OPENING):
                return [*parts, *self._release()]
            self._state, self._held = "thinking", begun[len(OPENING) :]
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
        kind: Literal["text", "thinking"] = "thinking" if self._state == "thinking" else "text"
        held, self._held, self._state = self._held, "", "text"
        return [(kind, held)] if held else []

    def _release(self) -> list[Part]:
        held, self._held, self._state = self._held, "", "text"
        return [("text", held)]


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if text.endswith(tag[:size])), 0)
