"""The workspace of a client that is an editor. The editor reports unsaved files and can change them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jumpseat.connections.session import Session
from jumpseat.connections.uris import path_of_uri
from jumpseat.tools.workspace import EDITOR_SECONDS, UnsavedFile, Workspace

UNSAVED = "workspace/unsaved"
APPLY_EDIT = "workspace/applyEdit"


class EditorWorkspace(Workspace):
    """The workspace of one turn. `docs/protocol/tools.md` describes the requests."""

    def __init__(self, session: Session, folders: Sequence[Path]) -> None:
        super().__init__(folders)
        self._requests = session.client_requests
        self._reports_unsaved = has_capability(session, "experimental", "jumpseat", "unsaved")
        self.can_replace_text = has_capability(session, "workspace", "applyEdit")

    async def find_unsaved(self, uris: Sequence[str] | None = None) -> Sequence[UnsavedFile]:
        """Ask the editor; see the base class."""
        if not self._reports_unsaved:
            return ()
        params = {} if uris is None else {"uris": list(uris)}
        answer = await self._requests.send(UNSAVED, params, EDITOR_SECONDS)
        documents = answer.get("documents") if isinstance(answer, Mapping) else None
        # An empty array may arrive as an empty object, because Lua cannot tell them apart.
        if documents in ({}, None) and isinstance(answer, Mapping):
            return ()
        if not isinstance(documents, list):  # The answer is missing or invalid.
            raise TimeoutError
        return [file for each in documents if (file := _read_document(each)) is not None]

    async def replace_text(self, file: UnsavedFile, text: str) -> bool:
        """Let the editor change the lines that differ; see the base class."""
        if not self.can_replace_text:
            return False
        document = {"uri": file.uri, "version": file.version}
        edit = {"documentChanges": [{"textDocument": document, "edits": [_make_edit(file.text, text)]}]}
        answer = await self._requests.send(APPLY_EDIT, {"edit": edit}, EDITOR_SECONDS)
        if not isinstance(answer, Mapping):  # The answer is missing or invalid.
            raise TimeoutError
        return answer.get("applied") is True


def has_capability(session: Session, *path: str) -> bool:
    """Whether the client has declared a capability as true."""
    value: Any = session.capabilities
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value is True


def _read_document(document: Any) -> UnsavedFile | None:
    if not isinstance(document, Mapping):
        return None
    uri, version, text = (document.get(key) for key in ("uri", "version", "text"))
    if not isinstance(uri, str) or not isinstance(text, str):
        return None
    return UnsavedFile(uri, version if type(version) is int else None, text, path_of_uri(uri))


_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
"""Matches a line with its line ending. Python's `splitlines` would split at more characters than LSP."""


def _make_edit(old: str, new: str) -> dict[str, Any]:
    """Return LSP's TextEdit for the lines that differ, so that the cursor and marks elsewhere stay."""
    before, after = _LINE.findall(old), _LINE.findall(new)
    head = 0  # The number of equal lines at the start.
    while head < min(len(before), len(after)) and before[head] == after[head]:
        head += 1
    tail = 0  # The number of equal lines at the end.
    while tail < min(len(before), len(after)) - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    line = len(before) - tail
    end = {"line": line, "character": 0}
    # After a line without a line ending, there is no next line whose start could end the range.
    if before and line == len(before) and not before[-1].endswith(("\n", "\r")):
        end = {"line": line - 1, "character": len(before[-1].encode("utf-16-le")) // 2}
    return {
        "range": {"start": {"line": head, "character": 0}, "end": end},
        "newText": "".join(after[head : len(after) - tail]),
    }
