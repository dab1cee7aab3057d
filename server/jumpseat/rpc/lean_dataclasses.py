"""Compiles the methods of our dataclasses when they are first called, and not at import.

`dataclass` writes source text for each method of a class and compiles it: for some 180 classes, 900 times,
which is a third of what the daemon's start takes. Most of these methods are never called. So `serve` has each
of them compiled at its first call, which puts it in its own place in the class. Only our own classes are
treated so, and only where `dataclasses` is as it was tried; `tests/unit/rpc/test_lean_dataclasses.py` holds
that nothing else differs. Python 3.13 compiles once for each class; there everything is left alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

_TRIED = ("name", "args", "body", "globals", "locals", "return_type")


def compile_lazily() -> bool:
    """Do so for dataclasses that are defined from here on; False where this `dataclasses` is another."""
    create: Callable[..., Any] | None = getattr(dataclasses, "_create_fn", None)
    if create is None or create.__code__.co_varnames[: len(_TRIED)] != _TRIED:
        return False

    def create_lazily(name: str, *args: Any, globals: dict[str, Any] | None = None, **more: Any) -> Any:  # noqa: A002
        if globals is None or not globals["__name__"].startswith("jumpseat."):
            return create(name, *args, globals=globals, **more)
        compiled: Callable[..., Any] | None = None

        def stub(self: Any, *values: Any, **named: Any) -> Any:
            nonlocal compiled
            if compiled is None:
                compiled = create(name, *args, globals=globals, **more)
                compiled.__qualname__ = stub.__qualname__
            # A subclass may have it too, by inheritance; and `__repr__` is wrapped once more, and stays.
            for owner in type(self).__mro__:
                if owner.__dict__.get(name) is stub:
                    setattr(owner, name, compiled)
            return compiled(self, *values, **named)

        stub.__name__ = name
        return stub

    dataclasses._create_fn = create_lazily  # type: ignore[attr-defined]
    return True
