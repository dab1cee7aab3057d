"""Every command on the pages for users works as written."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from jumpseat.adapters.local.model import FILE_NAME, installed_file, packaged_file
from jumpseat.system.environment import environment_of_process
from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.copilot import configure, table
from tests.emulator import CopilotEmulator
from tests.fakes.terminal import Terminal
from tests.unit.pages import EDITOR_PAGES, ROOT, fences
from tests.unit.pages import PAGES as PAGES_OF_THE_DAEMON

pytestmark = [
    pytest.mark.timeout(110),
    pytest.mark.skipif(sys.platform == "win32", reason="the commands need a POSIX shell"),
    pytest.mark.slow,
]

COMMAND_SECONDS = 60.0


NOT_RUN = {
    "make ": "the targets are what CI runs; tests/unit/test_docs_commands.py has their names",
    "pip install '.[local]'": "tests/packaging installs the built wheel in this way",
    "pipx install": "tests/packaging runs it",
    "uv tool install": "tests/packaging runs it",
    "pip uninstall": "tests/packaging runs it",
    "jumpseat tools list files": "only the user's file defines the server github",
    "jumpseat tools import": "it reads the files of VS Code; tests/unit/cli/configuration/test_mcp_import.py",
    "jumpseat mcp restart": "only the user's file defines this server; tests/unit/cli/commands/test_tools.py",
    "jumpseat mcp login": "the same",
    "jumpseat mcp trust": "the same",
    "jumpseat chat --tools": "the servers come from the user's file; tests/e2e/repl/test_tools.py has one",
    "pip download": "it fetches from a package registry",
    "python -m tests.tools.refresh_snapshot": "tests/unit/providers/test_snapshot.py reads such a file",
    ".venv/bin/python -m tests.emulator": "it runs until it is stopped; tests/e2e/test_emulator_by_hand.py",
}
"""The beginnings of lines that are not run here, each with the reason. Every beginning must match a line."""

ENDED_BY_THEIR_CLIENT = ("jumpseat serve", "jumpseat attach")
"""The commands that exit with code 1 here, because their input ends without `shutdown`."""

TYPED = {
    r"jumpseat accept-terms": (b"[y/N]", b"y\r"),
    r"jumpseat edit main.py": (b"[y/N]", b"y\r"),
    r"jumpseat keys set": (b"(not shown)", b"another-key\r"),
    r"jumpseat config init": (b"Numbers", b"\r"),
    # Ctrl-D ends the conversation.
    r"jumpseat chat( -c| --conversation \S+)?$": (b"> ", b"\x04"),
}
"""The commands that ask a question, as patterns, with the end of the question and the keys that are typed."""

COLLECT_TESTS = f"cd {ROOT} && {sys.executable} -m pytest --collect-only -p no:cacheprovider"
"""A command that collects the tests without running them, which is enough here."""

ZSH = 'eval "$(_JUMPSEAT_COMPLETE=zsh_source jumpseat)"'

CHANGES = {
    # The page says that the start-up file must also have the line with `compinit`, before this one.
    ZSH: f"autoload -Uz compinit && compinit -u && {ZSH}",
    # The user already has a configuration file, which `config init` does not overwrite.
    "jumpseat config init": "JUMPSEAT_CONFIG=new.toml jumpseat config init",
    "jumpseat chat -f https://peps.python.org/pep-0020/": 'jumpseat chat -f "$PAGE"',
    ".venv/bin/pytest": COLLECT_TESTS,
    "JUMPSEAT_LIVE_COPILOT=included .venv/bin/pytest": f"export JUMPSEAT_LIVE_COPILOT= && {COLLECT_TESTS}",
}
"""Replacements for the beginnings of commands that cannot be run as written."""

CONFIGURATION = """\
default_provider = "groq"

[providers.groq]
kind = "openai"
base_url = "{base_url}"
models = ["llama-3.3-70b-versatile"]
default_model = "llama-3.3-70b-versatile"

[prompts.review]
text = "Review this."

[fetch]
private = true
"""

MODEL = installed_file(environment_of_process().places)
"""The developer's local model, looked up before a test changes the home directory."""

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
"""A PNG of one pixel."""

MAIN = "".join(f"x{number} = {number}\n" for number in range(1, 41))


def lines_of(page: Path) -> list[str]:
    """Return the page's shell commands without comments; join lines that end with a backslash."""
    text = "\n".join(fences(page, "sh")).replace("\\\n", " ")
    lines = [re.sub(r"\s+#\s.*$", "", line).strip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith("#")]


def commands_of(page: Path) -> list[str]:
    """Return the page's commands that are run here."""
    return [line for line in lines_of(page) if not line.startswith(tuple(NOT_RUN))]


EVERY_PAGE = [*PAGES_OF_THE_DAEMON, *EDITOR_PAGES.values()]
PAGES = [page for page in EVERY_PAGE if commands_of(page)]


def test_every_listed_beginning_and_pattern_matches_a_line() -> None:
    lines = [line for page in EVERY_PAGE for line in lines_of(page)]

    for begin in (*NOT_RUN, *CHANGES):
        assert any(line.startswith(begin) for line in lines), begin
    for asking in TYPED:
        assert any(re.search(asking, line) for line in lines), asking


@pytest.fixture
async def emulator() -> AsyncIterator[CopilotEmulator]:
    """Start an emulated GitHub whose user approves every code."""
    async with CopilotEmulator() as running:
        running.add_account(plan="business")
        running.devices.interval = 0.05

        async def approve() -> None:
            while True:
                for device in running.devices.devices:
                    if device.state == "pending":
                        running.approve(device.user_code)
                await asyncio.sleep(0.02)

        approving = asyncio.create_task(approve())
        yield running
        approving.cancel()
        with suppress(asyncio.CancelledError):
            await approving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Create the user's working directory: a repository with changes and the files that the pages mention."""
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "main.py").write_text(MAIN, "utf-8")
    (folder / "tests").mkdir()
    (folder / "tests" / "test_main.py").write_text("assert True\n", "utf-8")
    (folder / "note.txt").write_text("Guten Tag.\n", "utf-8")
    (folder / "person.json").write_text('{"type": "object"}', "utf-8")
    for image in {name for page in PAGES for name in re.findall(r"\w+\.png", " ".join(commands_of(page)))}:
        (folder / image).write_bytes(base64.b64decode(PIXEL))
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], cwd=folder, check=True, timeout=COMMAND_SECONDS)
    (folder / "main.py").write_text(MAIN.replace("x1 = 1", "x1 = 2"), "utf-8")
    return folder


@pytest.fixture
def environment(
    home: Path, tmp_path: Path, emulator: CopilotEmulator, upstream: FakeUpstream
) -> dict[str, str]:
    """Return the user's environment; groq is the default provider, and the local model is installed."""
    home.chmod(0o700)
    # The answer is JSON for --schema and contains the words that the pages search for.
    upstream.default(Reply.events(completion_stream(['{"cause": "a race ', 'condition"}'])))
    upstream.default(Reply.json({"data": [{"id": "llama-3.3-70b-versatile"}]}), path="/v1/models")
    page = Reply.raw(b"<p>Beautiful is better than ugly.</p>", content_type="text/html")
    upstream.default(page, path="/page")
    configure(home, table(emulator), top=CONFIGURATION.format(base_url=upstream.base_url))
    if (model := MODEL or packaged_file()) is not None:
        (home / "models").mkdir()
        (home / "models" / FILE_NAME).symlink_to(model)
        (tmp_path / "models").mkdir()
        (tmp_path / "models" / "qwen3-4b.gguf").symlink_to(model)  # The pages mention this file.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    url = upstream.base_url.removesuffix("/v1") + "/page"
    return {**os.environ, "PATH": path, "HOME": str(tmp_path), "EDITOR": "true", "PAGE": url}


async def run(command: str, folder: Path, environment: dict[str, str]) -> tuple[int | None, str]:
    """Run a line of a page, and return its exit code and output."""
    for asking, typed in TYPED.items():
        if re.search(asking, command):
            return await asyncio.to_thread(run_on_a_terminal, command, typed, folder, environment)
    process = await asyncio.create_subprocess_exec(
        *(completed_shell(command) or "bash", "-c", command),
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    async with asyncio.timeout(COMMAND_SECONDS):
        output, _ = await process.communicate()
    return process.returncode, output.decode()


def run_on_a_terminal(
    command: str, typed: tuple[bytes, bytes], folder: Path, environment: dict[str, str]
) -> tuple[int, str]:
    """Run a line of a page, answer its question, and return its exit code and output."""
    question, keys = typed
    terminal = Terminal(["bash", "-c", f"cd {folder} && {command}"], environment)
    terminal.read_until(lambda output: question in output)
    terminal.type(keys)
    return terminal.finish()


def completed_shell(command: str) -> str | None:
    """Return the shell whose completion a line sets up, if any."""
    found = re.search(r"_JUMPSEAT_COMPLETE=(\w+)_source", command)
    return None if found is None else found[1]


async def insert_id(command: str, folder: Path, environment: dict[str, str]) -> str:
    """Replace `ID` in a command with the id of a conversation."""
    if not re.search(r"\bID\b", command):
        return command
    await run("jumpseat chat Hello", folder, environment)
    code, output = await run("jumpseat conversations list --json", folder, environment)
    assert code == 0, output
    newest = json.loads(output)["conversations"][0]["id"]
    return re.sub(r"\bID\b", newest, command)


def apply_changes(command: str) -> str:
    """Apply the replacements of `CHANGES` to a command."""
    for begin, other in CHANGES.items():
        if command.startswith(begin):
            return other + command.removeprefix(begin)
    return command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
async def test_every_command_of_a_page_runs(page: Path, folder: Path, environment: dict[str, str]) -> None:
    commands = commands_of(page)
    failed = []
    await run("jumpseat login", folder, environment)
    for written in commands:
        if (shell := completed_shell(written)) and shutil.which(shell) is None:
            continue
        if (
            written.startswith("jumpseat local install")
            and not (Path(environment["HOME"]) / "models").exists()
        ):
            continue  # The command would download the model.
        command = await insert_id(written, folder, environment)
        wanted = 1 if command.startswith(ENDED_BY_THEIR_CLIENT) else 0
        code, output = await run(apply_changes(command), folder, environment)
        if code != wanted:
            failed.append(f"$ {command}\n{output}[{code}]")
        if command == "jumpseat logout":  # The commands after it expect a user who is signed in.
            await run("jumpseat login", folder, environment)
    assert failed == [], "\n".join(failed)
