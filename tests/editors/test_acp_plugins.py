"""Plug-ins of other authors, with the configuration of docs/acp.md, in the real editors.

The plug-ins are not part of this project, and the tests do not install them: `JUMPSEAT_ACP_PLUGINS` names a
directory with checkouts of them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.daemon import environment_of
from tests.editors.programs import program
from tests.unit.pages import DOCS, blocks

pytestmark = [pytest.mark.editor, pytest.mark.slow]

DRIVERS = Path(__file__).parent / "acp"
SECONDS = 90.0
"""An editor that takes longer than this hangs."""


def plugins(*names: str) -> list[Path]:
    """Return the directories of plug-ins; skip without them."""
    parent = os.environ.get("JUMPSEAT_ACP_PLUGINS")
    if parent is None:
        pytest.skip("JUMPSEAT_ACP_PLUGINS does not name a directory with the plug-ins")
    directories = [Path(parent, name) for name in names]
    for directory in directories:
        if not directory.is_dir():
            pytest.skip(f"{directory} does not exist")
    return directories


def configuration(language: str, plugin: str) -> str:
    """Return the block of the page that configures a plug-in."""
    (text,) = [
        block.text for block in blocks(DOCS / "acp.md") if block.language == language and plugin in block.text
    ]
    return text


def run(command: Sequence[str], home: Path) -> str:
    """Run an editor whose `jumpseat` is ours, and return its output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    ran = subprocess.run(
        command,
        env={**os.environ, **environment_of(home), "PATH": path, "HOME": str(home)},
        cwd=home,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=SECONDS,
        check=False,
    )
    return (ran.stdout + ran.stderr).decode("utf-8", "replace")


def script_answer(provider: ThreadedUpstream) -> None:
    provider.default(Reply.events(completion_stream(["Scat", "tered."])), path="/v1/chat/completions")


def question(provider: ThreadedUpstream) -> str:
    """Return the messages of the chat that reached the provider."""
    (chat,) = [each for each in provider.requests if each.method == "POST"]
    return json.dumps(chat.json["messages"])


def test_codecompanion_shows_an_answer(provider: ThreadedUpstream, home: Path, tmp_path: Path) -> None:
    directories = plugins("plenary.nvim", "codecompanion.nvim")
    script_answer(provider)
    init = tmp_path / "init.lua"
    paths = "".join(f"vim.opt.rtp:prepend({json.dumps(str(each))})\n" for each in directories)
    init.write_text(paths + configuration("lua", "codecompanion"), "utf-8")

    output = run(
        [program("nvim"), "--headless", "--clean", "-u", str(init), "-l", str(DRIVERS / "codecompanion.lua")],
        home,
    )

    assert "Scattered." in output
    assert "Why is the sky blue?" in question(provider)


def test_agent_shell_shows_an_answer(provider: ThreadedUpstream, home: Path, tmp_path: Path) -> None:
    directories = plugins("acp.el", "shell-maker", "agent-shell")
    emacs = os.environ.get("JUMPSEAT_EMACS") or program("emacs")
    script_answer(provider)
    init = tmp_path / "init.el"
    init.write_text(configuration("elisp", "agent-shell"), "utf-8")
    paths = [word for each in directories for word in ("-L", str(each))]

    output = run(
        [emacs, "--batch", "-Q", *paths, "-l", str(init), "-l", str(DRIVERS / "agent-shell.el")], home
    )

    assert "Scattered." in output
    assert "Why is the sky blue?" in question(provider)
