"""Helpers to read pages from a scripted server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ChatError, ContextBlock
from jumpseat.config import Config
from jumpseat.config.options import FetchOptions
from jumpseat.context import pages
from jumpseat.system.environment import environment_of_process


def config_with(**fetch: Any) -> Config:
    """Return a configuration that allows pages of this machine, unless `private` is False."""
    config = Config(fetch=FetchOptions(**{"private": True, **fetch}))
    config.note_origins(Path("/config.toml"), {}, environment_of_process())
    return config


async def read(url: str, **fetch: Any) -> ContextBlock:
    return await pages.read_page(url, config_with(**fetch))


async def read_failure(url: str, **fetch: Any) -> ChatError:
    """Read a page that cannot be read, and return the error."""
    with pytest.raises(ChatError) as caught:
        await read(url, **fetch)
    assert caught.value.provider is None
    return caught.value
