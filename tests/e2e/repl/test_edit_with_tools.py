"""`jumpseat chat --tools files` edits a project, with the real daemon and its file tools."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from tests.e2e.repl.chats import PATH, answer, answer_with_calls, list_messages
from tests.fakes.typist import Typist, typists

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow]

SERVE = [sys.executable, "-P", "-m", "jumpseat", "serve"]
MAIN = "def greet(name):\r\n    print('Helo ' + name)\r\n"
QUESTION = "Allow it? ["


@pytest.fixture
def project(tmp_path: Path, configuration: Path) -> Path:
    """Create a project with an ignored directory."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "build").mkdir()
    (folder / ".gitignore").write_text("build/\n", "utf-8")
    (folder / "build" / "main.py").write_text("Helo", "utf-8")
    main = folder / "src" / "main.py"
    main.write_bytes(MAIN.encode())
    main.chmod(0o750)
    return folder


def script_edit(upstream: ThreadedUpstream) -> None:
    """Script a model that searches, reads, edits and writes files."""
    edit = {"path": "src/main.py", "oldText": "Helo", "newText": "Hello,"}
    upstream.script(
        answer_with_calls(("files__search", {"pattern": "Helo"}), text="I will look for it."),
        answer_with_calls(("files__read", {"path": "src/main.py"})),
        answer_with_calls(("files__edit", edit)),
        answer_with_calls(("files__write", {"path": "docs/changes.md", "text": "Greet with a comma.\n"})),
        answer("Both files are done."),
        path=PATH,
    )


def assert_edited(project: Path, upstream: ThreadedUpstream) -> None:
    """Assert that the files are changed, and that the model received the result of each call."""
    main = project / "src" / "main.py"
    assert main.read_bytes().decode() == MAIN.replace("Helo", "Hello,")
    assert main.stat().st_mode & 0o777 == 0o750
    assert (project / "docs" / "changes.md").read_text("utf-8") == "Greet with a comma.\n"
    found, read, edited, written = [text for role, text in list_messages(upstream) if role == "tool"]
    assert found == "src/main.py:2:     print('Helo ' + name)"
    assert "print('Helo ' + name)" in read
    assert edited == "Changed src/main.py."
    assert written == "Created docs/changes.md."


def test_a_user_sees_and_allows_each_change(project: Path, upstream: ThreadedUpstream) -> None:
    script_edit(upstream)
    with typists() as start:
        arguments = ("--tools", "files/*", "--workspace", str(project), "Fix the greeting")
        person: Typist = start("chat", *arguments, daemon=SERVE, size=(40, 80))
        person.see(QUESTION)
        assert (project / "src" / "main.py").read_bytes().decode() == MAIN
        person.enter("y")
        person.see(QUESTION, times=2)
        assert not (project / "docs").exists()
        person.enter("y")
        shown = person.finish()

    assert [row.rstrip() for row in shown.splitlines() if row.strip()] == [
        "I will look for it.",
        "✓ files/search pattern=Helo · src/main.py:2: print('Helo ' + name)",
        "✓ files/read path=src/main.py · 2 lines",
        "? Edit src/main.py · files/edit",
        "--- src/main.py",
        "+++ src/main.py",
        "@@ -1,2 +1,2 @@",
        " def greet(name):",
        "-    print('Helo ' + name)",
        "+    print('Hello, ' + name)",
        "y: yes · n: no · a: allow this tool in this conversation · A: always allow this",
        "tool · e: no, and explain why",
        "Allow it? [y/n/a/A/e] y",
        "✓ files/edit path=src/main.py oldText=Helo newText=Hello, · Changed src/main.py.",
        "? Create docs/changes.md · files/write",
        "--- /dev/null",
        "+++ docs/changes.md",
        "@@ -0,0 +1 @@",
        "+Greet with a comma.",
        "y: yes · n: no · a: allow this tool in this conversation · A: always allow this",
        "tool · e: no, and explain why",
        "Allow it? [y/n/a/A/e] y",
        "✓ files/write path=docs/changes.md text=Greet with a… · Created docs/changes.md.",
        "Both files are done.",
    ]
    assert_edited(project, upstream)


def test_a_script_allows_the_changes_in_advance(project: Path, upstream: ThreadedUpstream) -> None:
    script_edit(upstream)
    done = chat(project, "--allow", "files/edit,files/write")

    assert (done.returncode, done.stdout) == (0, "I will look for it.\nBoth files are done.\n")
    assert_edited(project, upstream)


def test_a_script_without_permission_changes_nothing(project: Path, upstream: ThreadedUpstream) -> None:
    script_edit(upstream)
    done = chat(project)

    assert done.returncode == 3
    assert "Add --allow files/edit" in done.stderr
    assert (project / "src" / "main.py").read_bytes().decode() == MAIN
    assert not (project / "docs").exists()


def chat(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `jumpseat chat` in the project, without a terminal."""
    command: list[Any] = [
        sys.executable,
        "-P",
        "-m",
        "jumpseat",
        "chat",
        "--own",
        "--tools",
        "files",
        *options,
    ]
    return subprocess.run(
        [*command, "Fix the greeting"],
        cwd=project,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
