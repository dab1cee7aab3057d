"""The shell completes commands, options, and values that the daemon lists."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scenario import Scenario
from tests.unit.cli.test_program import REPOSITORY, run

pytestmark = [pytest.mark.timeout(60), pytest.mark.slow]

LEVELS = {"key": "thinking", "type": "enum", "choices": ["off", "low"], "description": "How much"}
FAST = {"key": "fast", "type": "boolean", "description": "Whether it is fast"}


def model(name: str, **more: Any) -> dict[str, Any]:
    provider, _, rest = name.partition(":")
    return {"id": name, "provider": provider, "model": rest, "name": rest.title(), **more}


ANSWERS: dict[str, Any] = {
    "models/list": {
        "models": [model("groq:llama"), model("copilot:gpt"), model("copilot:opus", policy="disabled")],
        "errors": [],
    },
    "providers/list": {
        "providers": [
            {
                "id": "groq",
                "name": "Groq",
                "kind": "openai",
                "authMethod": "api_key",
                "settingsSchema": [LEVELS, FAST],
            },
            {
                "id": "copilot",
                "name": "GitHub Copilot",
                "kind": "copilot",
                "authMethod": "device_code",
                "settingsSchema": [],
            },
        ]
    },
    "tools/list": {
        "tools": [
            {"server": "files", "tool": "read", "description": "Reads a file."},
            {"server": "db", "tool": "query", "description": "Asks the database."},
        ],
        "servers": [
            {"name": "files", "origin": "builtin", "state": "running", "definition": "files"},
            {"name": "db", "origin": "user", "state": "stopped", "definition": "db-mcp"},
        ],
    },
    "conversations/list": {
        "conversations": [
            {"id": "2026-a", "title": "First"},
            {"id": "2025-b", "title": "Second"},
        ]
    },
}


def complete(folder: Path, *words: str, answers: dict[str, Any] = ANSWERS) -> list[str]:
    """Return the completions of the last word, as bash gets them."""
    scenario = Scenario(folder, answers=answers)
    variables = {
        "_JUMPSEAT_COMPLETE": "bash_complete",
        "COMP_WORDS": " ".join(["jumpseat", *words]),
        "COMP_CWORD": str(len(words)),
    }
    done = subprocess.run(
        [sys.executable, "-m", "tests.fakes.cli", json.dumps(scenario.command)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=30,
        cwd=REPOSITORY,
        check=True,
    )
    assert done.stderr == ""
    return [line.partition(",")[2] for line in done.stdout.splitlines() if line]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("chat", "-m", "copilot:"), ["copilot:gpt", "copilot:opus"]),
        (("chat", "-m", "lla"), ["groq:llama"]),
        (("chat", "--tools", "f"), ["files/*", "files/read"]),
        (("chat", "--allow", "files/read,db/q"), ["files/read,db/query"]),
        (("tools", "list", "db/"), ["db/*", "db/query"]),
        (("mcp", "restart", ""), ["db"]),
        (("mcp", "login", "f"), []),
        (("chat", "--conversation", "2026"), ["2026-a"]),
        (("conversations", "show", "2025"), ["2025-b"]),
        (("models", "default", "groq"), ["groq:llama"]),
        (("models", "--provider", "gr"), ["groq"]),
        (("models", "de"), ["default"]),
        (("models", "--re"), ["--refresh"]),
        (("doctor", "c"), ["copilot"]),
        (("login", ""), ["copilot"]),
        (("logout", ""), ["copilot"]),
        (("accept-terms", "copilot:"), ["copilot:opus"]),
        (("edit", "-m", "groq"), ["groq:llama"]),
        (("tokens", "-m", "groq"), ["groq:llama"]),
        (("settings", "set", "providers.groq.t"), ["providers.groq.thinking"]),
        (("settings", "set", "default_"), ["default_provider", "default_model"]),
        (("settings", "set", "default_provider", "g"), ["groq"]),
        (("settings", "set", "default_model", "groq:"), ["groq:llama"]),
        (("settings", "set", "providers.groq.thinking", ""), ["off", "low"]),
        (("settings", "set", "providers.groq.fast", "t"), ["true"]),
        (("config", "init", "--provider", "ope"), ["openai", "openrouter"]),
        (("do",), ["doctor"]),
        (("-m", "lla"), ["groq:llama"]),
        (("serve", "--log"), ["--log-level", "--log-file"]),
        (("attach", "--cl"), ["--clientProcessId", "--client-process-id"]),
        (("serve", "--log-level", "d"), ["debug"]),
        (("attach", "--stdio", "--log-level", ""), ["debug", "info", "warning", "error"]),
        (("keys", ""), ["list", "remove", "set"]),
    ],
)
def test_the_shell_gets_matching_completions(
    tmp_path: Path, words: tuple[str, ...], expected: list[str]
) -> None:
    assert complete(tmp_path, *words) == expected


def test_completion_is_empty_and_silent_if_the_daemon_fails(tmp_path: Path) -> None:
    assert complete(tmp_path, "chat", "-m", "x", answers={}) == []


def test_a_search_for_models_that_resembles_a_command_suggests_it(tmp_path: Path) -> None:
    done = run(Scenario(tmp_path, answers=ANSWERS), "models", "defualt")
    assert done.returncode == 1
    assert "Did you mean: jumpseat models default" in done.stderr
