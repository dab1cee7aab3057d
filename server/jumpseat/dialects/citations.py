"""Reads citations: annotations (`url_citation`) in OpenAI's dialects, locations in the Anthropic dialect."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import CitationEvent
from jumpseat.dialects.loose_values import count_in, text_in

# For each unit, these are the members of an Anthropic location that contain the passage's start and end.
_PLACES = {
    "character": ("start_char_index", "end_char_index"),
    "page": ("start_page_number", "end_page_number"),
    "block": ("start_block_index", "end_block_index"),
}


def citation_of(source: Mapping[str, Any], block: int | None) -> CitationEvent:
    """Create the event for a citation in any provider's format.

    Args:
        source: the citation, the annotation or the search result.
        block: the number of the text block that contains the citation, if known.
    """
    titles = (source.get(name) for name in ("title", "document_title", "filename"))
    passages = (source.get(name) for name in ("cited_text", "content", "snippet"))
    # In a `file_citation`, `index` is a position in the text. In a citation with a URL, `index` is the number
    # of the source.
    index = count_in(source.get("index"))
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
            others = {"document": source.get("document_index"), "end": source.get(last)}
            known = {name: count for name, value in others.items() if (count := count_in(value)) is not None}
            return {"unit": unit, "start": start, **known}
    return None
