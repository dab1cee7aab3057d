"""Completion in a real bash, which splits words at colons and equals signs; and the script for fish."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jumpseat_cli.command_line.shells import Fish
from tests.fakes.scenario import Scenario
from tests.unit.cli.command_line.test_completion import ANSWERS, LEVELS
from tests.unit.cli.test_program import REPOSITORY

pytestmark = pytest.mark.timeout(60)

SCRIPT = """\
eval "$(_JUMPSEAT_COMPLETE=bash_source jumpseat)"
COMP_WORDS=(jumpseat "$@")
COMP_CWORD=$#
_jumpseat_completion jumpseat
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="this machine has no bash")
@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["chat", "-m", "cop"], ["copilot:gpt", "copilot:opus"]),
        (["chat", "-m", "copilot", ":"], ["gpt", "opus"]),
        (["chat", "-m", "copilot", ":", "o"], ["opus"]),
        (["chat", "--model", "=", "copilot", ":", "o"], ["opus"]),
        (["chat", "--model", "="], ["groq:llama", "copilot:gpt", "copilot:opus"]),
        (["chat", "-m", "copilot", ":", "--no-k"], ["--no-keep"]),
        (["chat", "-m", "groq", ":", "llama", "-o", "thinking", "="], ["off", "low"]),
        (["chat", "-m", "groq", ":", "llama", "-o", "thinking", "=", "l"], ["low"]),
        (["settings", "set", "default_model", "groq", ":", "l"], ["llama"]),
        (["chat", "-m", "groq", ":", "llama", "--thi"], ["--thinking"]),
    ],
)
def test_bash_completes_the_words_that_it_has_split(
    tmp_path: Path, words: list[str], expected: list[str]
) -> None:
    schema = {"provider": "groq", "settingsSchema": [LEVELS]}
    scenario = Scenario(tmp_path, answers={**ANSWERS, "settings/schema": schema})
    program = tmp_path / "jumpseat"
    command = shlex.join([sys.executable, "-m", "tests.fakes.cli", json.dumps(scenario.command)])
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "--norc", "-c", SCRIPT, "bash", *words],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=30,
        cwd=REPOSITORY,
        check=True,
    )
    assert (done.stdout.split(), done.stderr) == (expected, "")


def test_fish_shows_descriptions_with_commas() -> None:
    assert 'string split --max 1 "," $completion' in Fish.source_template
