"""Compiles the generated methods of dataclasses at their first call instead of at import.

`dataclass` generates and compiles source text for each method of a class. For 170 classes of jumpseat and 60
of pydantic that is more than 1,000 compilations, a third of the daemon's start-up time, and most of these
methods are never called. `serve` therefore replaces `dataclasses._create_fn`: it returns a stub that compiles
the method when it is called and then puts it in the stub's place in the class.

Limits:

- `_create_fn` is private. It exists in Python 3.11 and 3.12 only. Python 3.13 compiles once for each class,
  so there nothing is replaced. The same holds for any version whose `_create_fn` has other parameters.
- Only classes in modules of `PACKAGES` get stubs, and only those defined after `compile_lazily`.
- Until its first call a generated method has the signature `(self, *values, **named)`. Code that inspects
  the signature of `__init__` (`inspect.signature`) sees that one.
- A mistake in a generated method shows at its first call, not at import.

`tests/unit/rpc/test_lean_dataclasses.py` compares the classes with and without the replacement.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

PACKAGES = frozenset({"jumpseat", "pydantic", "annotated_types"})
"""pydantic and annotated_types inspect the signatures of none of their own dataclasses."""

_KNOWN_PARAMETERS = ("name", "args", "body", "globals", "locals", "return_type")


def compile_lazily() -> bool:
    """Replace `dataclasses._create_fn` in this process.

    Returns:
        False if this Python has no such function, or one with other parameters; nothing is replaced then.
    """
    create: Callable[..., Any] | None = getattr(dataclasses, "_create_fn", None)
    if create is None or create.__code__.co_varnames[: len(_KNOWN_PARAMETERS)] != _KNOWN_PARAMETERS:
        return False

    # `globals` is the parameter's name in `_create_fn`, which typeshed does not declare.
    def create_lazily(name: str, *args: Any, globals: dict[str, Any] | None = None, **more: Any) -> Any:  # noqa: A002
        if globals is None or globals["__name__"].partition(".")[0] not in PACKAGES:
            return create(name, *args, globals=globals, **more)
        compiled: Callable[..., Any] | None = None

        def stub(self: Any, *values: Any, **named: Any) -> Any:
            nonlocal compiled
            if compiled is None:
                compiled = create(name, *args, globals=globals, **more)
                compiled.__qualname__ = stub.__qualname__
            # `self` may be of a subclass that inherits the stub. `__repr__` stays: it is wrapped again.
            for owner in type(self).__mro__:
                if owner.__dict__.get(name) is stub:
                    setattr(owner, name, compiled)
            return compiled(self, *values, **named)

        stub.__name__ = name
        return stub

    dataclasses._create_fn = create_lazily  # type: ignore[attr-defined]
    return True
