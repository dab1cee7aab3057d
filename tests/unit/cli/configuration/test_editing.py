"""`jumpseat config init`, `show` and `edit`."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from jumpseat.adapters.local.model import installed_file
from jumpseat.system.paths import places_of_process
from jumpseat_cli.configuration import editing, local
from tests.fakes.terminal import Terminal

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]

COMMAND = [sys.executable, "-m", "tests.fakes.cli", "[]", "config"]
CONFIG = """\
# canary-of-a-comment
default_provider = "groq"
[providers.groq]
kind = "openai"
base_url = "https://me:canary-of-a-url@api.example.com/v1"
api_key = "canary-of-a-key"
headers = { "X-Team" = "canary-of-a-header", "X-Env" = "env:TEAM" }
parameters = { temperature = 0.5 }
proxy = "cmd:proxy-of canary-of-an-argument"
models = ["a", { name = "b", max_context_tokens = 8192 }]
[prompts.review]
text = "Review the key."
[fetch]
private = true
proxy = "http://me:canary-of-a-proxy@proxy.example.com:3128"
"""


def config(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
        timeout=30, check=False, env={**os.environ, **variables},
    )  # fmt: skip


def tables(home: Path) -> dict[str, object]:
    return tomllib.loads((home / "config.toml").read_text("utf-8"))


def test_chosen_providers_are_written_with_comments(home: Path) -> None:
    done = config("init", "--provider", "groq", "--provider", "copilot", GROQ_API_KEY="")

    assert done.returncode == 0
    assert tables(home) == {
        "default_provider": "groq",
        "providers": {
            "groq": {
                "kind": "openai",
                "base_url": "https://api.groq.com/openai/v1",
                "default_model": "llama-3.3-70b-versatile",
                "api_key": "env:GROQ_API_KEY",
            }
        },
    }
    assert "jumpseat keys set groq" in done.stderr
    assert "Next: jumpseat login   (GitHub Copilot)" in done.stderr
    assert config("check").stdout == (
        f"warning: {home / 'config.toml'}:11: providers.groq.api_key: names the variable GROQ_API_KEY, "
        "which is not set here\n"
    )


def test_installing_the_local_model_is_suggested_only_if_it_is_missing(
    home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(local, "packaged_file", lambda: None)
    monkeypatch.setattr(local, "ENGINE", "json")  # This module is always installed.
    model = installed_file(places_of_process())
    for exists in (False, True):
        if exists:
            model.parent.mkdir(parents=True)
            model.write_bytes(b"GGUF")
        assert editing.create_file(["local"], None, as_json=False) == 0
        written = (home / "config.toml").read_text("utf-8")
        for text in (capsys.readouterr().err, written):
            assert ("jumpseat local install" in text) is not exists
        (home / "config.toml").unlink()


def test_without_a_terminal_the_file_contains_only_valid_commented_examples(home: Path) -> None:
    assert config("init").returncode == 0
    assert tables(home) == {}
    text = (home / "config.toml").read_text("utf-8")
    examples = "\n".join(line.removeprefix("# ") for line in text.splitlines() if line.startswith("# ") and (
        "=" in line or line.startswith("# [")))  # fmt: skip
    (home / "config.toml").write_text(examples, "utf-8")
    assert set(tables(home)) == {"providers", "settings", "prompts", "conversations"}
    assert "error" not in config("check").stdout


def test_an_existing_file_is_never_changed(home: Path) -> None:
    (home / "config.toml").write_text("# mine\n", "utf-8")
    done = config("init", "--provider", "groq")

    assert done.returncode == 1
    assert "already exists" in done.stderr
    assert (home / "config.toml").read_text("utf-8") == "# mine\n"
    assert config("init", "--provider", "nope").returncode == 1


def test_an_unknown_provider_is_wrong_usage(home: Path) -> None:
    done = config("init", "--provider", "nope")
    assert done.returncode == 2
    assert "available: copilot, local, anthropic" in done.stderr
    assert not (home / "config.toml").exists()


def test_questions_are_asked_on_a_terminal_and_a_key_is_stored(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GROQ_API_KEY", "MISTRAL_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    terminal = Terminal([*COMMAND, "init"])
    for question, answer in (
        (b"separated by spaces", b"99"),
        (b"from 1 to", b"6, 7"),
        (b"is the default", b"mistral"),
        (b"Key for Groq", b"canary with spaces"),
        # Wait for the question, not just the message: keys typed before the question reappears are lost.
        (b"contains white space.*Key for Groq", b"canary-of-a-key"),
        (b"Key for Mistral", b""),
    ):
        terminal.read_until(
            lambda output, question=question: re.search(question, output, re.DOTALL) is not None
        )
        terminal.type(answer + b"\n")
    code, output = terminal.finish()

    assert code == 0
    assert "canary" not in output
    written = tables(home)
    assert written["default_provider"] == "mistral"
    providers = written["providers"]
    assert isinstance(providers, dict)
    assert providers["mistral"]["api_key"] == "env:MISTRAL_API_KEY"
    assert Path(providers["groq"]["api_key"].removeprefix("file:")).read_text() == "canary-of-a-key\n"


def test_the_file_is_shown_without_secrets(home: Path) -> None:
    (home / "config.toml").write_text(CONFIG, "utf-8")
    done = config("show")

    assert done.returncode == 0
    assert "canary" not in done.stdout
    shown = tomllib.loads(done.stdout)
    assert shown == json.loads(config("show", "--json").stdout)
    assert shown["providers"]["groq"] == {
        "kind": "openai",
        "base_url": "***",
        "api_key": "***",
        "headers": {"X-Team": "***", "X-Env": "env:TEAM"},
        "parameters": {"temperature": 0.5},
        "proxy": "cmd:proxy-of …",
        "models": ["a", {"name": "b", "max_context_tokens": 8192}],
    }
    assert shown["prompts"]["review"]["text"] == "Review the key."
    assert shown["fetch"] == {"private": True, "proxy": "***"}


def test_a_file_that_is_missing_or_faulty_is_reported(home: Path) -> None:
    done = config("show")
    assert (done.returncode, done.stdout) == (0, "")
    assert "does not exist yet" in done.stderr
    (home / "config.toml").write_text("[\n", "utf-8")
    assert config("show").returncode == 1


@pytest.fixture
def editor(tmp_path: Path) -> Path:
    """Return an editor that replaces the file's content with the content of `new`, if that file exists."""
    program = tmp_path / "an editor.py"
    program.write_text(
        "import pathlib, sys\n"
        f"new = pathlib.Path({str(tmp_path / 'new')!r})\n"
        "if new.exists(): pathlib.Path(sys.argv[-1]).write_text(new.read_text())\n"
    )
    return program


def test_an_edited_file_is_checked(home: Path, tmp_path: Path, editor: Path) -> None:
    command = f"{sys.executable} '{editor}' --wait"
    done = config("edit", EDITOR="false", VISUAL=command)
    assert (done.returncode, done.stderr) == (0, "Nothing was changed.\n")
    assert not (home / "config.toml").exists()

    (tmp_path / "new").write_text("default_provider = 1\n")
    done = config("edit", VISUAL="", EDITOR=command)
    assert done.returncode == 1
    assert "default_provider: must be a string" in done.stdout
    (tmp_path / "new").write_text("# fine\n")
    assert config("edit", VISUAL=command).returncode == 0
    assert (home / "config.toml").read_text("utf-8") == "# fine\n"


@pytest.mark.parametrize(
    ("command", "words"), [("no-such-editor", "cannot be edited"), ("false", "exited with code 1")]
)
def test_an_editor_that_fails_is_reported(home: Path, command: str, words: str) -> None:
    done = config("edit", VISUAL=command)
    assert done.returncode == 1
    assert words in done.stderr


def test_without_a_terminal_an_editor_is_not_chosen_for_the_user(home: Path, tmp_path: Path) -> None:
    for name in ("sensible-editor", "nano", "vi"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho started >> {tmp_path / 'started'}\n")
        program.chmod(0o755)
    done = config("edit", VISUAL="", EDITOR="", PATH=str(tmp_path))

    assert done.returncode == 1
    assert "There is no terminal for an editor." in done.stderr
    assert f"edit {home / 'config.toml'} yourself" in done.stderr
    assert not (tmp_path / "started").exists()
    assert not (home / "config.toml").exists()
