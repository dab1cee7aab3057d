"""Limits the size of a call's result, because every later request of the conversation contains the result."""

from __future__ import annotations

from jumpseat.chat import ResultPart, TextBlock
from jumpseat.chat.media import join_parts
from jumpseat.tools.server import ToolOutput

MAX_MEDIA = 5 * 1024 * 1024
"""The size of the largest image or document in a result, in characters of base64.

Providers refuse larger images and documents.
"""


def limit_output(output: ToolOutput, kilobytes: float) -> ToolOutput:
    """Shorten the text of an output to this many KiB. A note in the middle says how much was left out.

    Images and documents do not count toward the size. Each one that no provider would accept, because it is
    larger than `MAX_MEDIA`, is replaced by a note.
    """
    limit = int(kilobytes * 1024)
    if isinstance(output.content, str):
        return ToolOutput(cut_middle(output.content, limit), output.is_error)
    parts: list[ResultPart] = []
    for part in output.content:
        if isinstance(part, TextBlock):
            part = TextBlock(cut_middle(part.text, limit))
            limit -= min(limit, len(part.text.encode("utf-8", "surrogatepass")))
        elif len(part.source) > MAX_MEDIA:
            part = TextBlock(
                f"[The {part.type} of {len(part.source) // 1024} KiB is too large and was left out.]"
            )
        parts.append(part)
    return ToolOutput(join_parts(parts), output.is_error)


def cut_middle(text: str, limit: int) -> str:
    """Shorten a text to this many bytes of UTF-8, and state in the middle how many bytes were left out."""
    if len(text) * 4 <= limit:  # Most results are short, and a character has at most four bytes.
        return text
    data = text.encode("utf-8", "surrogatepass")
    if len(data) <= limit:
        return text
    head = data[: limit * 2 // 3].decode("utf-8", "ignore")
    tail = data[len(data) - (limit - limit * 2 // 3) :].decode("utf-8", "ignore") if limit else ""
    left_out = len(data) - len(head.encode()) - len(tail.encode())
    return f"{head}\n[… {left_out} bytes were left out here …]\n{tail}"
