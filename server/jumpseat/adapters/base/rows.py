"""How many rows of a provider's list of models are taken.

Above it are the readers of lists, one for each shape; it does no I/O.
"""

from __future__ import annotations

import logging
from typing import TypeVar

MAX_MODELS = 5000
"""Ten times what the largest catalogues list. Nobody picks from more, and each row costs several looks."""

logger = logging.getLogger(__name__)

T = TypeVar("T")


def first_rows(rows: list[T], provider: str) -> list[T]:
    """The rows that are taken; a longer list is cut, which the log says. Those beyond can be used by name.

    Args:
        rows: as the provider sent them.
        provider: the configured provider's id.
    """
    if len(rows) <= MAX_MODELS:
        return rows
    logger.warning("%s lists %d models; the first %d are taken", provider, len(rows), MAX_MODELS)
    return rows[:MAX_MODELS]
