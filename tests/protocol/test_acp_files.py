"""The file tools read and write files through clients of the Agent Client Protocol."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.upstream import FakeUpstream
from tests.acp import AcpAgent, provider_table, running_agent
from tests.acp_tools import REFUSED, SILENT, Json, ask, call, call_to_write, results, script_calls
from tests.hub import Hub

pytestmark = pytest.mark.slow

BOTH = {"readTextFile": True, "writeTextFile": True}
EDIT = {"oldText": "two", "newText": "2"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a project with one file."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "main.py").write_text("one\ntwo\n")
    return root


@dataclass
class Editor:
    """An editor with unsaved texts, whose user allows everything. Pass its method `answer` to `ask`."""

    texts: dict[str, str] = field(default_factory=dict)
    """The unsaved texts by path; other files are read from the disk."""

    written: list[tuple[str, str]] = field(default_factory=list)
    """The path and the text of each write request. The disk does not change."""

    on_question: Mapping[str, str] = field(default_factory=dict)
    """The unsaved texts, by path, that the user types while the question is open."""

    on_last_read: Mapping[str, str] = field(default_factory=dict)
    """The unsaved texts, by path, that the user types just before the fourth read.

    The fourth read is the last one before the tool changes the file.
    """

    reads: int = 0
    is_silent_after_question: bool = False
    is_silent: bool = False

    def answer(self, request: Json) -> Any:
        """Answer a request of the agent."""
        method, params = request["method"], request["params"]
        if method == "session/request_permission":
            self.texts |= self.on_question
            self.is_silent = self.is_silent_after_question
            return {"outcome": {"outcome": "selected", "optionId": "allow"}}
        if self.is_silent:
            return SILENT
        path = params["path"]
        if method == "fs/write_text_file":
            self.written.append((path, params["content"]))
            return None
        self.reads += 1
        if self.reads == 4:
            self.texts |= self.on_last_read
        if path in self.texts:
            return {"content": self.texts[path]}
        if not Path(path).is_file():
            return REFUSED
        with Path(path).open(encoding="latin-1", newline="") as file:
            return {"content": file.read()}


@asynccontextmanager
async def session_in(
    hub: Hub, upstream: FakeUpstream, root: Path, fs: Mapping[str, bool]
) -> AsyncIterator[tuple[AcpAgent, str]]:
    """Run an agent for a client with these abilities, and yield it with a new session."""
    async with running_agent(hub, root, config=provider_table(upstream.base_url)) as agent:
        await agent.initialize(fs=fs)
        yield agent, await agent.new_session()


@pytest.mark.requirement("12:acp-files")
@pytest.mark.parametrize(
    ("unsaved", "after"), [("zero\ntwo\n", "zero\n2\n"), ("a\r\ntwo\r\n", "a\r\n2\r\n"), (None, "one\n2\n")]
)
async def test_a_file_is_read_and_changed_through_the_client(
    hub: Hub, upstream: FakeUpstream, root: Path, unsaved: str | None, after: str
) -> None:
    path = root / "main.py"
    editor = Editor({} if unsaved is None else {str(path): unsaved})
    script_calls(
        upstream, call("files__read", "c1", path="main.py"), call("files__edit", path="main.py", **EDIT)
    )
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        exchange, _ = await ask(agent, session, editor.answer)

    text = (unsaved or "one\ntwo\n").replace("\r\n", "\n")
    assert results(upstream) == [text, "Changed main.py."]
    assert editor.written == [(str(path), after)]
    assert path.read_text() == "one\ntwo\n"
    (diff,) = [part for part in exchange.updates("tool_call_update")[-1]["content"] if part["type"] == "diff"]
    assert (diff["path"], diff["oldText"]) == (str(path), text)


@pytest.mark.requirement("12:acp-files")
@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (b"one\r\ntwo\r\n", b"one\r\n2\r\n", "one\ntwo\n"),
        (b"one\ntwo\n", b"one\n2\n", "one\ntwo"),
        (b"\xef\xbb\xbftwo\n", b"\xef\xbb\xbf2\n", "\ufefftwo\n"),
        ("\ufefftwo\n".encode("utf-16-le"), "\ufeff2\n".encode("utf-16-le"), None),
    ],
)
async def test_a_file_that_the_client_shows_in_another_form_keeps_its_form(
    hub: Hub, upstream: FakeUpstream, root: Path, before: bytes, after: bytes, shown: str | None
) -> None:
    path = root / "main.py"
    path.write_bytes(before)
    editor = Editor({} if shown is None else {str(path): shown})
    script_calls(
        upstream, call("files__read", "c1", path="main.py"), call("files__edit", path="main.py", **EDIT)
    )
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        await ask(agent, session, editor.answer)

    assert editor.written == []
    assert path.read_bytes() == after


@pytest.mark.requirement("12:acp-files")
async def test_unsaved_text_is_found_behind_a_link(hub: Hub, upstream: FakeUpstream, root: Path) -> None:
    path = root / "main.py"
    (root / "link.py").symlink_to(path)
    editor = Editor({str(path): "unsaved two\n"})
    script_calls(
        upstream, call("files__read", "c1", path="link.py"), call("files__edit", path="link.py", **EDIT)
    )
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        await ask(agent, session, editor.answer)

    assert results(upstream)[0] == "unsaved two\n"
    assert editor.written == [(str(path), "unsaved 2\n")]


@pytest.mark.requirement("12:acp-files")
async def test_a_file_that_the_client_does_not_have_is_created(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    editor = Editor()
    script_calls(upstream, call_to_write("1\n"))
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        await ask(agent, session, editor.answer)

    assert (root / "new.txt").read_text() == "1\n"
    assert editor.written == []


@pytest.mark.requirement("12:acp-files")
async def test_text_that_is_typed_while_the_user_is_asked_is_not_overwritten(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    editor = Editor(on_question={str(root / "main.py"): "one\ntwo\nthree\n"})
    script_calls(
        upstream, call("files__read", "c1", path="main.py"), call("files__edit", path="main.py", **EDIT)
    )
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        await ask(agent, session, editor.answer)

    assert "has changed" in results(upstream)[1]
    assert editor.written == []
    assert (root / "main.py").read_text() == "one\ntwo\n"


@pytest.mark.requirement("12:acp-files")
async def test_text_that_is_typed_at_the_last_moment_is_not_overwritten(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    editor = Editor(on_last_read={str(root / "main.py"): "one\ntwo\nthree\n"})
    script_calls(
        upstream, call("files__read", "c1", path="main.py"), call("files__edit", path="main.py", **EDIT)
    )
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        await ask(agent, session, editor.answer)

    assert "did not change main.py" in results(upstream)[1]
    assert (editor.reads, editor.written) == (4, [])


@pytest.mark.requirement("12:acp-files")
@pytest.mark.parametrize("unsaved", [True, False])
async def test_unsaved_changes_of_a_client_that_cannot_write_files_are_not_overwritten(
    hub: Hub, upstream: FakeUpstream, root: Path, unsaved: bool
) -> None:
    path = root / "main.py"
    editor = Editor({str(path): "unsaved two\n"} if unsaved else {})
    script_calls(
        upstream, call("files__read", "c1", path="main.py"), call("files__edit", path="main.py", **EDIT)
    )
    async with session_in(hub, upstream, root, {"readTextFile": True}) as (agent, session):
        await ask(agent, session, editor.answer)

    if unsaved:
        assert "unsaved changes" in results(upstream)[1]
    assert path.read_text() == ("one\ntwo\n" if unsaved else "one\n2\n")
    assert editor.written == []


@pytest.mark.requirement("12:acp-files")
async def test_a_change_fails_if_the_client_does_not_answer(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    editor = Editor(is_silent_after_question=True)
    script_calls(
        upstream, call("files__read", "c1", path="main.py"), call("files__edit", path="main.py", **EDIT)
    )
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        await ask(agent, session, editor.answer)

    assert "did not answer" in results(upstream)[1]
    assert (root / "main.py").read_text() == "one\ntwo\n"


@pytest.mark.requirement("12:acp-files")
async def test_a_file_is_read_from_the_disk_if_the_client_does_not_answer(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    script_calls(upstream, call("files__read", path="main.py"))
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        await ask(agent, session, Editor(is_silent=True).answer)

    (result,) = results(upstream)
    assert result.startswith("[The editor did not answer.")
    assert result.endswith("one\ntwo\n")


@pytest.mark.requirement("12:acp-files")
async def test_the_client_is_not_asked_for_files_that_the_tools_never_use(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    (root / ".env").write_text("TOKEN=1")
    (root / "data.bin").write_bytes(b"\0\1")
    script_calls(upstream, call("files__read", "c1", path=".env"), call("files__read", "c2", path="data.bin"))
    async with session_in(hub, upstream, root, BOTH) as (agent, session):
        _, requests = await ask(agent, session, Editor().answer)

    assert requests == []
    assert all(result.startswith("Error:") for result in results(upstream))
