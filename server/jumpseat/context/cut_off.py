"""Cuts texts that are too long, and says so in their last line."""

from __future__ import annotations


def cut_off(text: str, max_bytes: int, note: str) -> str:
    """Return the text; if its UTF-8 form is longer than `max_bytes`, cut it so that it ends with the note.

    The result, with the note, has at most `max_bytes` bytes.
    """
    data = text.encode("utf-8", "replace")
    if len(data) <= max_bytes:
        return text
    end = f"\n{note}"
    # A character that is cut in two is left out.
    return data[: max_bytes - len(end.encode())].decode("utf-8", "ignore") + end
