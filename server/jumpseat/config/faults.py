"""Faults and unknown keys in a configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from pydantic import BaseModel

from jumpseat.config.places import KeyPath


@dataclass(frozen=True, slots=True)
class Fault:
    """A mistake in the configuration, or a warning. `str` returns a sentence without the full stop."""

    source: str
    """The path of the file, or another name for the origin of the tables."""

    key: str
    """The dotted path of the key; empty if the fault concerns the whole file, which `message` then names."""

    message: str
    """The problem, such as `must be a string`. It never quotes the value, which may be a secret."""

    line: int | None = None

    def __str__(self) -> str:
        place = self.source if self.line is None else f"{self.source}:{self.line}"
        return f"{place}: {self.key}: {self.message}" if self.key else self.message


FaultsByTable: TypeAlias = Mapping[str, Mapping[str, tuple[Fault, ...]]]
"""The faults by top-level key (`providers`, `prompts`, `mcp`), then by the table's name."""


@dataclass(frozen=True, slots=True)
class UnknownKey:
    """An unknown key in a table. Unknown keys are ignored."""

    path: KeyPath
    known: tuple[str, ...]
    """The keys that the table may have."""

    @property
    def key(self) -> str:
        """The dotted path of the key."""
        return ".".join(map(str, self.path))


def find_unknown_keys(model: BaseModel, path: KeyPath = ()) -> Iterator[UnknownKey]:
    """Yield the unknown keys of a model and of its nested models."""
    known = tuple(type(model).model_fields)
    for key in model.model_extra or {}:
        yield UnknownKey((*path, key), known)
    for key in known:
        value = getattr(model, key)
        if isinstance(value, BaseModel):
            yield from find_unknown_keys(value, (*path, key))
        elif isinstance(value, dict | list):
            for name, item in value.items() if isinstance(value, dict) else enumerate(value):
                if isinstance(item, BaseModel):
                    yield from find_unknown_keys(item, (*path, key, name))
