"""A place in a text where a model inserts more text."""

from __future__ import annotations

from dataclasses import dataclass, replace

MAX_PREFIX = 8000
MAX_SUFFIX = 4000
"""The limits in characters. More text would slow the model down and hardly help it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Infill:
    """The texts before and after a place. A model writes the text between them."""

    prefix: str
    suffix: str = ""
    language_id: str | None = None
    """The language of the text, as in LSP."""

    uri: str | None = None
    """The document that contains the place; None if it is not known."""

    def trim(self) -> Infill:
        """Return the place with no more text around it than a model needs, cut at line endings."""
        prefix, suffix = self.prefix, self.suffix
        if len(prefix) > MAX_PREFIX:
            cut = prefix[-MAX_PREFIX:]
            prefix = cut.partition("\n")[2] or cut
        if len(suffix) > MAX_SUFFIX:
            cut = suffix[:MAX_SUFFIX]
            suffix = cut.rpartition("\n")[0] or cut
        return replace(self, prefix=prefix, suffix=suffix)
