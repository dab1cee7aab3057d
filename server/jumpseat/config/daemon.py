"""Reads the table `[daemon]`, the options of the shared daemon."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from jumpseat.chat import ConfigError
from jumpseat.config.options import DaemonOptions
from jumpseat.config.reading import read_tables

logger = logging.getLogger(__name__)


def read_idle_minutes(file: Path | None) -> float:
    """Return how many minutes the daemon waits for the next client, according to this file. Blocks.

    Returns the default if there is no file, or if the file has errors. The errors are reported to the clients
    that use the file.
    """
    tables: Mapping[str, Any] = {}
    if file is not None:
        try:
            tables = read_tables(file, required=False).tables
        except ConfigError as error:
            logger.info("%s", error.message)
    try:
        return DaemonOptions.model_validate(tables.get("daemon", {})).idle_minutes
    except ValidationError:
        return DaemonOptions().idle_minutes
