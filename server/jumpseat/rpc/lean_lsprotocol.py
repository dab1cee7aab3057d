"""Imports `lsprotocol.types` without building the classes that a chat daemon never touches.

pygls imports the module whole: some 550 attrs classes, whose generated methods are compiled at import and
make up about half of the daemon's imports. An editor's user waits for that start, so here only the
classes of JSON-RPC errors are built; the others stay plain names. It is done for the one version it was
tried with, and for any other the import is left alone. `tests/unit/rpc/test_lean_lsprotocol.py` holds both.

Only `serve` calls this, for the daemon's own process and before anything of pygls is imported. The types
of documents and capabilities are not usable there: the daemon validates `initialize` itself and keeps no
documents.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import attrs

TRIED_VERSION = "2025.0.0"

BUILT = frozenset({"ResponseError", "ResponseErrorMessage"})
"""What pygls' JSON-RPC layer makes objects of."""


def import_lean() -> bool:
    """Import `lsprotocol.types`; True if it was made lean, False if it was there or is another version."""
    if "lsprotocol.types" in sys.modules or not _is_tried_version():
        return False
    build = attrs.define

    def define(cls: type[Any] | None = None, **options: Any) -> Any:
        if cls is None:
            return lambda decorated: define(decorated, **options)
        return build(cls, **options) if cls.__name__ in BUILT else cls

    _import_with(define)
    return True


def _is_tried_version() -> bool:
    """Whether the package is of the version that was tried, by its metadata's place.

    `importlib.metadata` would say so too; importing it takes as long as a tenth of all other imports.
    """
    spec = find_spec("lsprotocol")
    if spec is None or spec.origin is None:
        return False
    return (Path(spec.origin).parents[1] / f"lsprotocol-{TRIED_VERSION}.dist-info").is_dir()


def _import_with(define: Callable[..., Any]) -> None:
    original = attrs.define
    attrs.define = define
    try:
        import lsprotocol.types  # noqa: F401 - the import is the purpose
    finally:
        attrs.define = original
