"""A place in a text that a model fills in."""

from __future__ import annotations

from dataclasses import dataclass, replace

MOST_PREFIX = 8000
MOST_SUFFIX = 4000
"""The numbers of characters to send. More text would slow the model down and hardly help it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Infill:
    """The text before and after a place, between which a model writes text."""

    prefix: str
    suffix: str = ""
    language_id: str | None = None
    """The language of the text, as in LSP."""

    uri: str | None = None
    """The document that contains the place; None if it is not known."""

    def near(self) -> Infill:
        """Return the place with as much text around it as a model needs, cut at lines."""
        prefix, suffix = self.prefix, self.suffix
        if len(prefix) > MOST_PREFIX:
            cut = prefix[-MOST_PREFIX:]
            prefix = cut.partition("\n")[2] or cut
        if len(suffix) > MOST_SUFFIX:
            cut = suffix[:MOST_SUFFIX]
            suffix = cut.rpartition("\n")[0] or cut
        return replace(self, prefix=prefix, suffix=suffix)
