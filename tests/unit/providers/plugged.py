"""Distributions of plug-ins, made of a few lines of code, for this process to find."""

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
    """A directory on the search path of modules, into which distributions are put as pip would."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        directory.mkdir()

    def install(
        self, code: str, *kinds: str, distribution: str = "jumpseat-acme", loads: str = "Acme"
    ) -> None:
        """Put a distribution of one module there, version 1.0, that brings these kinds; `acme` if none."""
        name = distribution.replace("-", "_")
        # Modules are remembered by name for the whole process, so each test's has one of its own.
        module = f"{name}_{abs(hash(self._directory))}"
        (self._directory / f"{module}.py").write_text(HEAD + code, "utf-8")
        info = self._directory / f"{name}-1.0.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.0\n"
        (info / "METADATA").write_text(metadata, "utf-8")
        lines = [f"{kind} = {module}:{loads}" for kind in kinds or ("acme",)]
        (info / "entry_points.txt").write_text("\n".join(["[jumpseat.adapters]", *lines, ""]), "utf-8")
        # What Python has seen of the directory it takes for new only if its time differs, which ticks slowly.
        importlib.invalidate_caches()


def registry(kind: str = "acme", **more: Any) -> Registry:
    """A registry with one provider, `mine`, of this kind."""
    return Registry(Config.model_validate({"providers": {"mine": {"kind": kind, **more}}}))
