"""Commands about tools with the real daemon and a plug-in that edits files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.e2e.repl.chats import PATH, answer, answer_with_calls
from tests.fakes import desk_plugin, mcp_server

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("no_proxies")]

Run = Callable[..., subprocess.CompletedProcess[str]]
EDIT = ("desk__edit", {"path": "notes.md", "oldText": "teh", "newText": "the"})


@pytest.fixture
def notes(home: Path) -> Path:
    """Create the workspace with one file."""
    file = home / "work" / "notes.md"
    file.parent.mkdir()
    file.write_text("This is teh first.\n", "utf-8")
    return file


@pytest.fixture
def upstream() -> Iterator[ThreadedUpstream]:
    with ThreadedUpstream() as running:
        running.default(answer("Done."), PATH)
        running.default(Reply.json({"data": [{"id": "m"}]}), "/v1/models")
        yield running


@pytest.fixture
def jumpseat(home: Path, notes: Path, upstream: ThreadedUpstream) -> Run:
    """Return a function that runs a command in the workspace."""
    home.chmod(0o700)
    (home / "config.toml").write_text(
        f'default_provider = "fake"\n[providers.fake]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n'
        'api_key = "test-key"\ndefault_model = "m"\n[tools]\nallow = ["desk/read"]\ndeny = ["desk/search"]\n',
        encoding="utf-8",
    )
    environment = {**os.environ, **desk_plugin.install(home / "site")}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "jumpseat", *arguments, "--own"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8", timeout=60,
            check=False, cwd=notes.parent, env=environment,
        )  # fmt: skip

    return run


def test_a_script_can_allow_edits_in_advance(jumpseat: Run, upstream: ThreadedUpstream, notes: Path) -> None:
    upstream.script(answer_with_calls(EDIT), path=PATH)
    done = jumpseat("chat", "--tools", "desk", "--allow", "desk/edit", "Fix it")

    assert (done.returncode, done.stdout) == (0, "Done.\n")
    assert done.stderr == "✓ desk/edit path=notes.md oldText=teh newText=the · notes.md is changed.\n"
    assert notes.read_text("utf-8") == "This is the first.\n"


def test_a_script_changes_nothing_without_an_approval(
    jumpseat: Run, upstream: ThreadedUpstream, notes: Path
) -> None:
    upstream.script(answer_with_calls(EDIT), path=PATH)
    done = jumpseat("chat", "--tools", "desk", "--json", "Fix it")

    assert done.returncode == 3
    assert [call["status"] for call in json.loads(done.stdout)["calls"]] == ["denied"]
    assert notes.read_text("utf-8") == "This is teh first.\n"


def test_a_mistyped_server_is_refused_with_the_most_similar_name(jumpseat: Run) -> None:
    done = jumpseat("chat", "--tools", "dusk", "Fix it")

    assert done.returncode == 1
    assert "Did you mean desk?" in done.stderr


def test_tools_list_shows_whether_each_tool_is_allowed_asked_about_or_denied(jumpseat: Run) -> None:
    done = jumpseat("tools", "list", "desk")
    rows = [line.split("\t")[:2] for line in done.stdout.splitlines()]

    assert done.returncode == 0
    assert rows == [["desk/read", "allow"], ["desk/edit", "ask"], ["desk/search", "deny"]]
    assert jumpseat("mcp", "list").returncode == 0


def test_doctor_starts_the_mcp_servers(home: Path, jumpseat: Run) -> None:
    record = home / "record"
    with (home / "config.toml").open("a", encoding="utf-8") as file:
        file.write(mcp_server.table("db", "--record", str(record)))
    assert jumpseat("doctor", "--no-chat").returncode == 0
    assert record.read_text("utf-8").startswith("start ")


def test_a_server_of_the_workspace_runs_in_the_working_directory(
    home: Path, notes: Path, jumpseat: Run
) -> None:
    (notes.parent / "data").mkdir()
    with (home / "config.toml").open("a", encoding="utf-8") as file:
        file.write(mcp_server.table("db", "--record", "../record", cwd="data", scope="workspace"))
    done = jumpseat("mcp", "restart", "db")

    assert (done.returncode, done.stderr) == (0, "db is running.\n")
    assert (notes.parent / "record").exists()


def test_a_server_of_an_overlay_runs_only_after_it_is_trusted(
    notes: Path, jumpseat: Run, upstream: ThreadedUpstream
) -> None:
    (notes.parent / "project.toml").write_text(mcp_server.table("theirs"), "utf-8")
    overlay = ("--overlay", "project.toml")
    chat = ("chat", *overlay, "--tools", "theirs", "--allow", "theirs", "--json", "Go")
    assert jumpseat("mcp", "list", *overlay).stdout.startswith("theirs\tuntrusted\tworkspace\t")
    assert jumpseat("mcp", "restart", *overlay, "theirs").returncode == 1
    assert json.loads(jumpseat(*chat).stdout)["calls"] == []

    assert jumpseat("mcp", "trust", "--yes", *overlay, "theirs").stderr == "theirs is trusted.\n"
    upstream.script(answer_with_calls(("theirs__echo", {"text": "hi"})), answer("Done."), path=PATH)
    assert [call["status"] for call in json.loads(jumpseat(*chat).stdout)["calls"]] == ["completed"]
    assert jumpseat("tools", "list", "--refresh", *overlay, "theirs/echo").stdout.startswith(
        "theirs/echo\task"
    )

    jumpseat("mcp", "trust", "--withdraw", *overlay, "theirs")
    assert "untrusted" in jumpseat("mcp", "list", *overlay).stdout


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [("[mcp", 2, "project.toml"), ('[mcp.x]\ncommand = ["env:X"]\n', 1, "mcp.x"), ("tools = 1", 1, "tools")],
    ids=["syntax", "trust", "type"],
)
def test_an_invalid_or_forbidden_overlay_is_an_error(
    notes: Path, jumpseat: Run, text: str, code: int, message: str
) -> None:
    (notes.parent / "project.toml").write_text(text, "utf-8")
    done = jumpseat("chat", "--tools", "files", "--overlay", "project.toml", "--deny", "files/write", "Go")

    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
