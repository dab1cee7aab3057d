"""Requests to models through the driver, as another extension makes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.editors.vscode.window import Window


def begin(window: Window, model: str, messages: Sequence[Any], **options: Any) -> None:
    """Start a request. `state.running` then has its `parts`, `done`, `stop()` and `ended`."""
    window.js("state.running = lm.start(...values)", model, messages, options)


def ask(
    window: Window, model: str, messages: Sequence[Any], *, fails: bool = False, **options: Any
) -> tuple[list[Any], Any]:
    """Send a request and return the parts of its answer and its error."""
    ended = window.js("return lm.start(...values).ended", model, messages, options)
    assert fails or "error" not in ended, ended["error"]
    return ended["parts"], ended.get("error")
