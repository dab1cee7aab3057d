"""A model reads, searches and changes the files of a project."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, running_daemon, user

pytestmark = pytest.mark.slow

Json = dict[str, Any]


def script_calls(upstream: FakeUpstream, *rounds: tuple[str, Json]) -> None:
    """Script the answers of the model in a turn: one with each call, then one with text."""
    for number, (tool, arguments) in enumerate(rounds):
        call = FakeCall(f"c{number}", f"files__{tool}", [json.dumps(arguments)])
        upstream.script(Reply.events(completion_stream(tool_calls=[call])))
    upstream.script(Reply.events(completion_stream(["Done."])))


@dataclass
class Client:
    """An editor: it answers the daemon's requests, and allows every call."""

    daemon: Daemon
    root: Path
    documents: list[Json] = field(default_factory=list)
    """The unsaved documents."""

    is_silent: bool = False
    """Whether the editor leaves the daemon's requests unanswered."""

    questions: list[Json] = field(default_factory=list)
    """The questions about calls so far."""

    requests: list[tuple[str, Json]] = field(default_factory=list)
    """The method and the params of each request of the daemon so far."""

    async def open(self, upstream: FakeUpstream, *, folders: bool = True) -> None:
        """Do the handshake."""
        params: Json = {
            "processId": None,
            "capabilities": {
                "experimental": {"jumpseat": {"approveTools": True, "unsaved": True}},
                "workspace": {"applyEdit": True},
            },
            "initializationOptions": {"config": provider(upstream.base_url)},
        }
        if folders:
            params["workspaceFolders"] = [{"uri": self.root.as_uri(), "name": "project"}]
        await self.daemon.request("initialize", params)
        self.daemon.notify("initialized", {})

    async def chat(self, **params: Any) -> Json:
        """Start a chat with the file tools, and return its result."""
        asked = {"messages": [user("Go.")], "turnId": "t", "daemonTools": ["files/*"], **params}
        request = self.daemon.start("chat/start", asked)
        while True:
            message = await self.daemon.read()
            if message.get("method") == "chat/delta":
                if message["params"]["delta"]["type"] == "tool_approval":
                    self._decide(message["params"]["delta"])
            elif "method" in message:
                self._answer(message)
            elif message["id"] == request:
                assert "result" in message, message
                result: Json = message["result"]
                return result

    def _decide(self, question: Json) -> None:
        self.questions.append(question)
        params = {"turnId": "t", "toolUseId": question["toolUseId"], "decision": "allow"}
        self.daemon.start("tools/decide", params)

    def _answer(self, message: Mapping[str, Any]) -> None:
        if "id" not in message:
            return
        self.requests.append((message["method"], message["params"]))
        if self.is_silent:
            return
        result = {"documents": self.documents}
        if message["method"] == "workspace/applyEdit":
            result = {"applied": True}
        self.daemon.send({"jsonrpc": "2.0", "id": message["id"], "result": result})


def results_of(answer: Json) -> list[str]:
    return [block["content"] for block in answer["content"] if block["type"] == "tool_result"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create a project."""
    root = tmp_path / "project"
    (root / "src").mkdir(parents=True)
    (root / "src/main.py").write_bytes(b"def greet():\r\n    print('hello')\r\n")
    (root / ".gitignore").write_text("*.log\n")
    (root / "debug.log").write_text("hello")
    return root


@pytest.mark.requirement("12:files-edit", "12:files-diff", "12:files-paths")
async def test_a_model_finds_reads_and_edits_a_file_after_the_users_decision(
    daemon: Daemon, upstream: FakeUpstream, root: Path
) -> None:
    client = Client(daemon, root)
    await client.open(upstream)
    edit = {"path": "src/main.py", "oldText": "print('hello')", "newText": "print('bye')\n    return 1"}
    script_calls(
        upstream,
        ("list", {}),
        ("search", {"pattern": "hello"}),
        ("read", {"path": "src/main.py"}),
        ("edit", edit),
        ("write", {"path": "docs/notes.md", "text": "# Notes\n"}),
        ("read", {"path": "src/main.py", "startLine": 3}),
    )
    answer = await client.chat()

    assert results_of(answer) == [
        ".gitignore\nsrc/",
        "src/main.py:2:     print('hello')",
        "def greet():\n    print('hello')\n",
        "Changed src/main.py.",
        "Created docs/notes.md.",
        "[Lines 3 to 3 of 3.]\n    return 1\n",
    ]
    changed = b"def greet():\r\n    print('bye')\r\n    return 1\r\n"
    assert (root / "src/main.py").read_bytes() == changed
    assert (root / "docs/notes.md").read_text() == "# Notes\n"
    first, second = client.questions
    assert (first["title"], first["kind"], first["reason"]) == ("Edit src/main.py", "edit", "ask")
    assert first["arguments"] == edit
    assert first["diff"] == [
        {
            "uri": (root / "src/main.py").as_uri(),
            "oldText": "def greet():\n    print('hello')\n",
            "newText": "def greet():\n    print('bye')\n    return 1\n",
        }
    ]
    assert second["title"] == "Create docs/notes.md"
    assert second["diff"] == [{"uri": (root / "docs/notes.md").as_uri(), "newText": "# Notes\n"}]
    assert (answer["rounds"], answer["text"]) == (7, "Done.")


@pytest.mark.requirement("12:files-unsaved", "12:unsaved")
async def test_a_file_with_unsaved_changes_is_changed_in_the_editor(
    daemon: Daemon, upstream: FakeUpstream, root: Path
) -> None:
    file = root / "src/main.py"
    # An editor may encode characters of a URI that need no encoding.
    uri = file.as_uri().replace("main.py", "m%61in.py")
    client = Client(daemon, root, [{"uri": uri, "version": 5, "text": "unsaved\ntext\n"}])
    await client.open(upstream)
    script_calls(
        upstream,
        ("read", {"path": "src/main.py"}),
        ("search", {"pattern": "unsaved"}),
        ("edit", {"path": "src/main.py", "oldText": "text", "newText": "words"}),
    )
    saved = file.read_bytes()
    answer = await client.chat()

    assert results_of(answer) == [
        "unsaved\ntext\n",
        "src/main.py:1: unsaved",
        "Changed src/main.py in the editor. It has unsaved changes there.",
    ]
    edits = [params["edit"] for method, params in client.requests if method == "workspace/applyEdit"]
    lines = {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}}
    change = {
        "textDocument": {"uri": uri, "version": 5},
        "edits": [{"range": lines, "newText": "words\n"}],
    }
    assert edits == [{"documentChanges": [change]}]
    assert client.questions[0]["diff"][0]["newText"] == "unsaved\nwords\n"
    assert file.read_bytes() == saved


@pytest.mark.requirement("12:files-unsaved")
async def test_files_of_an_editor_that_does_not_answer_are_not_changed(
    daemon: Daemon, upstream: FakeUpstream, root: Path
) -> None:
    client = Client(daemon, root, is_silent=True)
    await client.open(upstream)
    script_calls(upstream, ("read", {"path": ".gitignore"}), ("write", {"path": ".gitignore", "text": "x"}))
    read, written = results_of(await client.chat())

    assert read.startswith("[The editor did not answer.")
    assert read.endswith("*.log\n")
    assert "The editor did not answer" in written
    assert (root / ".gitignore").read_text() == "*.log\n"
    assert client.questions == []


@pytest.mark.requirement("12:files-folders")
async def test_the_file_tools_need_a_folder_which_a_chat_can_name(
    daemon: Daemon, upstream: FakeUpstream, root: Path
) -> None:
    client = Client(daemon, root)
    await client.open(upstream, folders=False)
    script_calls(upstream)
    answer = await client.chat()
    assert [warning["code"] for warning in answer["warnings"]] == ["tool_server_unavailable"]
    assert "tools" not in upstream.requests[-1].json

    for folder in (root.as_uri(), str(root)):
        script_calls(upstream, ("list", {}))
        assert results_of(await client.chat(workspaceFolders=[folder])) == [".gitignore\nsrc/"]
    offered = [tool["function"]["name"] for tool in upstream.requests[-1].json["tools"]]
    assert offered == [f"files__{name}" for name in ("edit", "list", "read", "search", "write")]


@pytest.mark.requirement("12:files-edit")
async def test_the_daemon_remembers_what_a_conversation_has_read_until_it_ends(
    home: Path, upstream: FakeUpstream, root: Path
) -> None:
    edit = ("edit", {"path": ".gitignore", "oldText": "*.log", "newText": "*.tmp"})
    async with running_daemon(home) as daemon:
        client = Client(daemon, root)
        await client.open(upstream)
        script_calls(upstream, ("read", {"path": ".gitignore"}))
        await client.chat(conversationId="one")
        for conversation, result in (
            ("two", ".gitignore was not read in this conversation. Read the file first."),
            (None, ".gitignore was not read in this conversation. Read the file first."),
            ("one", "Changed .gitignore."),
        ):
            script_calls(upstream, edit)
            assert results_of(await client.chat(conversationId=conversation)) == [result]
    async with running_daemon(home) as daemon:
        client = Client(daemon, root)
        await client.open(upstream)
        script_calls(upstream, ("edit", {"path": ".gitignore", "oldText": "*.tmp", "newText": "*.log"}))
        [result] = results_of(await client.chat(conversationId="one"))
        assert "was not read" in result
    assert (root / ".gitignore").read_text() == "*.tmp\n"


@pytest.mark.requirement("12:files-edit")
async def test_a_fork_knows_what_the_conversation_has_read(
    daemon: Daemon, upstream: FakeUpstream, root: Path
) -> None:
    client = Client(daemon, root)
    await client.open(upstream)
    script_calls(upstream, ("read", {"path": ".gitignore"}))
    first = await client.chat(keep=True)
    answer = {"role": "assistant", "content": first["content"]}
    script_calls(upstream)
    await client.chat(
        keep=True, conversationId=first["conversationId"], messages=[user("Go."), answer, user("A")]
    )
    script_calls(upstream, ("edit", {"path": ".gitignore", "oldText": "*.log", "newText": "*.tmp"}))
    messages = [user("Go."), answer, user("B")]
    fork = await client.chat(keep=True, conversationId=first["conversationId"], messages=messages)

    assert fork["conversationId"] != first["conversationId"]
    assert results_of(fork) == ["Changed .gitignore."]


@pytest.mark.requirement("12:list")
async def test_the_list_has_the_file_tools_with_the_usual_rules(
    daemon: Daemon, upstream: FakeUpstream, root: Path
) -> None:
    await Client(daemon, root).open(upstream)
    listed = (await daemon.request("tools/list", {})).result
    tools = {tool["tool"]: tool for tool in listed["tools"] if tool["server"] == "files"}

    assert {name: tool["decision"] for name, tool in tools.items()} == {
        "read": "allow",
        "list": "allow",
        "search": "allow",
        "edit": "ask",
        "write": "ask",
    }
    assert tools["edit"]["parameters"]["required"] == ["path", "oldText", "newText"]
    assert sum(tool["tokens"] for tool in tools.values()) < 800
    assert listed["servers"][0] == {
        "name": "files",
        "origin": "builtin",
        "state": "running",
        "definition": "the files of the workspace",
    }
