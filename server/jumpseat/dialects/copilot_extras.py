"""What Copilot's service adds to answers of every dialect: their price, their sources, its own notices.

Source: the Copilot API, chat chunks and usage. Pure functions; the dialects' decoders above call them on
whatever object the additions stand in, and get nothing where there are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.chat import Cost, WarningEvent
from jumpseat.dialects.provider_errors import plain_words

CURRENCY = "AIU"
"""The service's own unit, "AI units"; it tells billionths of it."""

_LARGEST = 2**63


def cost_in(container: Mapping[str, Any]) -> Cost | None:
    """The price of the answer so far, from the `copilot_usage` beside its tokens."""
    usage = container.get("copilot_usage")
    total = usage.get("total_nano_aiu") if isinstance(usage, Mapping) else None
    if not isinstance(total, int | float) or isinstance(total, bool) or not 0 <= total < _LARGEST:
        return None
    return Cost(total / 1e9, CURRENCY)


def sources_in(container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Pages that the answer draws on, as (url, title): public code that it matches, and references."""
    annotations = container.get("copilot_annotations")
    matches = annotations.get("IPCodeCitations") if isinstance(annotations, Mapping) else None
    for match in _mappings(matches):
        citation = match.get("citations")
        if isinstance(citation, Mapping):
            yield _text(citation.get("url")), _text(citation.get("license"))
    for reference in _mappings(container.get("copilot_references")):
        metadata, data = _mapping(reference.get("metadata")), _mapping(reference.get("data"))
        url = _text(metadata.get("display_url")) or _text(data.get("url"))
        yield url, _text(metadata.get("display_name")) or _text(data.get("title"))


def notices_in(container: Mapping[str, Any]) -> Iterator[WarningEvent]:
    """What the service could not do for the answer, which goes on without it."""
    for error in _mappings(container.get("copilot_errors")):
        words = plain_words(_text(error.get("message")) or _text(error.get("code")))
        if words:
            yield WarningEvent("provider_notice", words)


def _mappings(value: Any) -> Iterator[Mapping[str, Any]]:
    return (each for each in value if isinstance(each, Mapping)) if isinstance(value, list) else iter(())


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
