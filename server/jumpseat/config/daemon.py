"""The table `[daemon]`: how the daemon that serves several clients behaves."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from jumpseat.chat import ConfigError
from jumpseat.config.options import DaemonOptions
from jumpseat.config.reading import read

logger = logging.getLogger(__name__)


def idle_minutes(file: Path | None) -> float:
    """How long the daemon waits for the next client, by this configuration file. Blocks.

    The default if there is no file or it is wrong; the clients that use the file report its errors.
    """
    tables: Mapping[str, Any] = {}
    if file is not None:
        try:
            tables = read(file, required=False).tables
        except ConfigError as error:
            logger.info("%s", error.message)
    try:
        return DaemonOptions.model_validate(tables.get("daemon", {})).idle_minutes
    except ValidationError:
        return DaemonOptions().idle_minutes
