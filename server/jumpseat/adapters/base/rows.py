"""The size limit of a provider's list of models."""

from __future__ import annotations

import logging
from typing import TypeVar

MAX_MODELS = 5000
"""The limit, ten times the largest known list. Each row costs time in several places."""

logger = logging.getLogger(__name__)

T = TypeVar("T")


def first_rows(rows: list[T], provider: str) -> list[T]:
    """Return the first `MAX_MODELS` rows, and log if there are more. Users can still name the other models.

    Args:
        rows: the rows in the provider's order.
        provider: the configured provider's id.
    """
    if len(rows) <= MAX_MODELS:
        return rows
    logger.warning("%s lists %d models; only the first %d are used", provider, len(rows), MAX_MODELS)
    return rows[:MAX_MODELS]
