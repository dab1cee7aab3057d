"""Install small plug-ins that this process can load."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumpseat.chat import ChatRequest, Message
from jumpseat.config import Config
from jumpseat.providers import Registry

HEAD = """
import asyncio
from jumpseat.adapters.base import *
from jumpseat.chat import *
from pydantic import BaseModel
"""
GOOD = """
class Acme(Adapter):
    async def stream(self, request):
        yield DoneEvent("end_turn")
"""
REQUEST = ChatRequest(messages=(Message.user("Hi"),), model="m")

Install = Callable[..., None]


class Site:
    """A directory on `sys.path` in which distributions are installed as pip installs them."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir()

    def install(
        self, code: str, *kinds: str, distribution: str = "jumpseat-acme", loads: str = "Acme"
    ) -> None:
        """Install a distribution whose only module provides these kinds; the default is `acme`."""
        name = distribution.replace("-", "_")
        # Python caches modules by name for the whole process, so each test needs its own name.
        module = f"{name}_{abs(hash(self._directory))}"
        (self._directory / f"{module}.py").write_text(HEAD + code, "utf-8")
        info = self._directory / f"{name}-1.0.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        (info / "METADATA").write_text(metadata, "utf-8")
        lines = [f"{kind} = {module}:{loads}" for kind in kinds or ("acme",)]
        (info / "entry_points.txt").write_text("\n".join(["[jumpseat.adapters]", *lines, ""]), "utf-8")
        # Python lists the directory again only if its mtime, which may have a coarse resolution, differs.
        importlib.invalidate_caches()


def make_registry(kind: str = "acme", **more: Any) -> Registry:
    """Return a registry with one provider of this kind, `mine`."""
    return Registry(Config.model_validate({"providers": {"mine": {"kind": kind, **more}}}))
