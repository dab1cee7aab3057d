"""Fields that Copilot adds to responses of every dialect: price, sources, notices.

Source: the Copilot API, chat chunks and usage.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from jumpseat.adapters.github.account import CURRENCY
from jumpseat.chat import Cost, WarningEvent
from jumpseat.dialects.loose_values import mapping_in, mappings_in, text_in
from jumpseat.dialects.provider_errors import clean_message

_LARGEST = 2**63


class CopilotExtras:
    """Copilot's additions to the dialects."""

    def cost_in(self, container: Mapping[str, Any]) -> Cost | None:
        """Return the price in `copilot_usage`, which is in billionths of an AI unit."""
        usage = container.get("copilot_usage")
        total = usage.get("total_nano_aiu") if isinstance(usage, Mapping) else None
        if not isinstance(total, int | float) or isinstance(total, bool) or not 0 <= total < _LARGEST:
            return None
        return Cost(total / 1e9, CURRENCY)

    def sources_in(self, container: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """Yield `(URL, title)` of references, and `(URL, licence)` of public code that the answer matches."""
        annotations = container.get("copilot_annotations")
        matches = annotations.get("IPCodeCitations") if isinstance(annotations, Mapping) else None
        for match in mappings_in(matches):
            citation = match.get("citations")
            if isinstance(citation, Mapping):
                yield text_in(citation.get("url")), text_in(citation.get("license"))
        for reference in mappings_in(container.get("copilot_references")):
            metadata, data = mapping_in(reference.get("metadata")), mapping_in(reference.get("data"))
            url = text_in(metadata.get("display_url")) or text_in(data.get("url"))
            yield url, text_in(metadata.get("display_name")) or text_in(data.get("title"))

    def notices_in(self, container: Mapping[str, Any]) -> Iterator[WarningEvent]:
        """Yield a warning for each error that the service reports without ending the answer."""
        for error in mappings_in(container.get("copilot_errors")):
            words = clean_message(text_in(error.get("message")) or text_in(error.get("code")))
            if words:
                yield WarningEvent("provider_notice", words)
