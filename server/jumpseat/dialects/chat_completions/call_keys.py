"""Matches the deltas of tool calls to their calls. Source: `tests/dialect_rows/chat_completions.py`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class CallKeys:
    """The calls of one answer so far.

    `key_of` finds the call that a delta belongs to, even if the server omits or repeats indices and ids.
    """

    def __init__(self) -> None:
        self._count = 0
        self._by_index: dict[int, int] = {}
        self._by_id: dict[str, int] = {}
        self._known: dict[int, tuple[str, str]] = {}
        self._last: int | None = None

    def key_of(
        self, index: Any, call_id: str, name: str, begins_new_call: Callable[[int], bool], *, whole: bool
    ) -> int:
        """Return the key of the call; a new one if the delta begins a call.

        Args:
            index: the index in the delta; anything but an integer is ignored.
            call_id: the id in the delta; may be empty.
            name: the name in the delta; may be empty.
            begins_new_call: returns whether the delta cannot continue the call with a given key; called only
                if the delta has a name.
            whole: whether the delta is a complete call.
        """
        # The index is a key, not a position: some proxies count from 1. Mistral and Gemini omit it.
        if isinstance(index, int):
            key = self._by_index.get(index)
        elif call_id and call_id in self._by_id:
            key = self._by_id[call_id]
        else:
            key = None if call_id or name else self._last
        if whole or key is None or (name and (self._is_another(key, call_id, name) or begins_new_call(key))):
            self._count += 1
            key = self._count
        known_id, known_name = self._known.get(key, ("", ""))
        self._known[key] = (known_id or call_id, known_name or name)
        if isinstance(index, int):
            self._by_index[index] = key
        if call_id and not known_id:
            self._by_id[call_id] = key
        self._last = key
        return key

    def _is_another(self, key: int, call_id: str, name: str) -> bool:
        # Gateways to Gemini use the index 0 for all calls, and some servers also use one id for all of them.
        known_id, known_name = self._known[key]
        both_have_ids = known_id != "" and call_id != ""
        return both_have_ids and (call_id != known_id or (known_name != "" and name != known_name))
