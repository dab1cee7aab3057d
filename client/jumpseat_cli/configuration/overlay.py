"""Reads the configuration of a workspace, which the command sends to the daemon as an overlay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jumpseat.chat import ConfigError
from jumpseat.config.editing import ConfigurationFile


def read_overlay(path: Path) -> Mapping[str, Any]:
    """Return the unchecked tables of a file.

    Raises:
        ValueError: the file cannot be read, or is not TOML; the message is a sentence.
    """
    try:
        return ConfigurationFile(path).tables
    except ConfigError as error:
        raise ValueError(error.message) from None
