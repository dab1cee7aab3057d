"""Reads citations: `url_citation` and others of OpenAI's dialects, the locations of Anthropic's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import CitationEvent
from jumpseat.dialects.loose_values import count_in, text_in

# By the unit: the members of Anthropic's locations that hold a place in the source.
_PLACES = {
    "character": ("start_char_index", "end_char_index"),
    "page": ("start_page_number", "end_page_number"),
    "block": ("start_block_index", "end_block_index"),
}


def citation_of(source: Mapping[str, Any], block: int | None) -> CitationEvent:
    """The event of a citation in the form of any provider.

    Args:
        source: The citation, the annotation or the search result.
        block: The number of the text that cites it, if it is known.
    """
    titles = (source.get(name) for name in ("title", "document_title", "filename"))
    passages = (source.get(name) for name in ("cited_text", "content", "snippet"))
    index = count_in(source.get("index"))  # Of `file_citation`; those with a URL count sources by it.
    start = count_in(source.get("start_index"))
    return CitationEvent(
        block,
        text_in(source.get("url")) or text_in(source.get("source")) or None,
        next(filter(None, map(text_in, titles)), None),
        next(filter(None, map(text_in, passages)), None),
        index if start is None and source.get("type") == "file_citation" else start,
        count_in(source.get("end_index")),
        _location(source),
    )


def _location(source: Mapping[str, Any]) -> Mapping[str, Any] | None:
    for unit, (first, last) in _PLACES.items():
        start = count_in(source.get(first))
        if start is not None:
            ends = {"document": source.get("document_index"), "end": source.get(last)}
            known = {name: count for name, value in ends.items() if (count := count_in(value)) is not None}
            return {"unit": unit, "start": start, **known}
    return None
