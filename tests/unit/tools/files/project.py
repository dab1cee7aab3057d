"""A project whose files the model reads and changes with the file tools, and a scripted editor."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from jumpseat.chat import StreamEvent, ToolApprovalEvent, ToolResultBlock
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.tools.approvals import Decision
from jumpseat.tools.files.server import FileTools
from jumpseat.tools.host import ToolHost
from jumpseat.tools.server import CallContext
from jumpseat.tools.turn_tools import TurnTools
from jumpseat.tools.workspace import UnsavedFile, Workspace
from tests.unit.tools.scripted_server import make_call, make_host

VERSION = 7
"""The version of every unsaved text in the editor."""


class Editor(Workspace):
    """An editor with unsaved files. It finds a file only by the URI of the path under which it is open."""

    can_replace_text = True

    def __init__(self, folders: Sequence[Path]) -> None:
        super().__init__(folders)
        self.unsaved: dict[Path, str] = {}
        self.replaced: list[tuple[str, int | None, str]] = []
        self.answers = True
        self.applies = True
        self.on_replace: Callable[[], object] = lambda: None
        """Called before a text is replaced."""

    async def find_unsaved(self, uris: Sequence[str] | None = None) -> Sequence[UnsavedFile]:
        if not self.answers:
            raise TimeoutError
        return [
            UnsavedFile(path.as_uri(), VERSION, text, path)
            for path, text in self.unsaved.items()
            if uris is None or path.as_uri() in uris
        ]

    async def replace_text(self, file: UnsavedFile, text: str) -> bool:
        self.on_replace()
        if not self.answers:
            raise TimeoutError
        if self.applies and file.path is not None:
            self.replaced.append((file.uri, file.version, text))
            self.unsaved[file.path] = text
        return self.applies


class Project:
    """A workspace folder, and one client with one conversation."""

    def __init__(self, root: Path, editor: Editor, host: ToolHost, tools: TurnTools) -> None:
        root.mkdir(exist_ok=True)
        self.root = root
        self.editor = editor
        self.host = host
        self.questions: list[ToolApprovalEvent] = []
        self.on_question: Callable[[ToolApprovalEvent], Decision | None] = lambda question: Decision(True)
        """Decides about each approval. If it returns None, the approval stays open."""

        self._tools = tools
        self._ids = itertools.count()
        self._asked = asyncio.Semaphore(0)

    async def wait_for_questions(self, count: int) -> list[str]:
        """Wait for this number of approvals. Return the ids of all calls so far, sorted by title."""
        async with asyncio.timeout(60):
            for _ in range(count):
                await self._asked.acquire()
        return [each.tool_use_id for each in sorted(self.questions, key=lambda each: each.title)]

    def write(self, name: str, content: str | bytes = "") -> Path:
        """Write a file of the project, and return its path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    async def run(self, tool: str, **arguments: Any) -> ToolResultBlock:
        """Run a call of the model."""
        call = make_call(f"files__{tool}", str(next(self._ids)), **arguments)
        async with asyncio.timeout(60):
            return await self._tools.run(call, self._receive)

    async def ok(self, tool: str, **arguments: Any) -> str:
        """Run a call that succeeds, and return its result."""
        result = await self.run(tool, **arguments)
        assert not result.is_error, result.text
        return result.text

    async def error(self, tool: str, **arguments: Any) -> str:
        """Run a call that fails, and return its result."""
        result = await self.run(tool, **arguments)
        assert result.is_error, result.text
        return result.text

    def _receive(self, event: StreamEvent) -> None:
        if isinstance(event, ToolApprovalEvent):
            self.questions.append(event)
            self._asked.release()
            decision = self.on_question(event)
            if decision is not None:
                assert self.host.approvals.decide("t", event.tool_use_id, decision)


@asynccontextmanager
async def open_project(
    root: Path,
    *more_folders: Path,
    conversation: str = "c",
    environment: Environment | None = None,
    folders: Sequence[Path] | None = None,
    **options: Any,
) -> AsyncIterator[Project]:
    """Yield a project with the tools of one turn.

    Args:
        root: The first workspace folder, which is created.
        more_folders: Further workspace folders.
        conversation: The key of the conversation and its forks.
        environment: The client's environment.
        folders: The paths under which the client knows the folders, if they differ.
        options: The table `[tools]`.
    """
    environment = environment or environment_of_process()
    host = make_host(
        FileTools(environment, environment.places.config_file), environment=environment, **options
    )
    editor = Editor(folders or [root, *more_folders])
    tools = host.begin_turn(["files/*"], CallContext(environment, editor, conversation), turn_id="t")
    assert list(await tools.open([], lambda event: None)) == []
    try:
        yield Project(root, editor, host, tools)
    finally:
        await host.aclose()
