"""`jumpseat config` as a real process."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.timeout(60), pytest.mark.requirement("7:file-errors"), pytest.mark.slow]

WRONG = """\
default_provider = "unknown"
[providers.good]
kind = "openai"
api_kye = "canary"
[providers.typo]
kind = "opneai"
[providers.bad]
kind = "openai"
timeout = 0
[settings]
max_tokens = "many"
[settings.providers.good]
temperature = 3
[settings.providers.gone]
temperature = 1
"""


def jumpseat(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "jumpseat", *map(str, arguments)],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=30,
        check=False,
    )


def test_the_configuration_path_is_the_one_that_the_daemon_uses(home: Path) -> None:
    assert jumpseat("config", "path").stdout == f"{home / 'config.toml'}\n"


def test_every_error_and_every_warning_is_a_line_with_its_place(home: Path) -> None:
    file = home / "config.toml"
    file.write_text(WRONG, "utf-8")
    done = jumpseat("config", "check")

    assert done.returncode == 1
    assert "canary" not in done.stdout + done.stderr
    reported = [line.replace(f"{file}:", "") for line in done.stdout.splitlines()]
    starts = [
        "error: 1: default_provider: there is no such provider",
        "error: 6: providers.typo.kind: there is no kind 'opneai'",
        "error: 9: providers.bad.timeout: must be greater than 0",
        "error: 11: settings.max_tokens: must be an integer of at least 1",
        "error: 13: settings.providers.good.temperature: must be at most 2",
        "error: 14: settings.providers.gone: is not a provider",
        "warning: 4: providers.good.api_kye: unknown key, which is ignored; did you mean api_key?",
    ]
    assert len(reported) == len(starts)
    assert all(line.startswith(start) for line, start in zip(reported, starts, strict=True)), reported


def test_the_faults_are_available_as_json(tmp_path: Path, home: Path) -> None:
    file = tmp_path / "other.toml"
    file.write_text("default_model = 1\n[providers.x]\nkind = 2\n", "utf-8")
    done = jumpseat("config", "check", "--json", "--config", file)

    assert done.returncode == 1
    assert json.loads(done.stdout) == {
        "file": str(file),
        "exists": True,
        "errors": [
            {
                "line": 1,
                "key": "default_model",
                "message": f"{file}:1: default_model: must be a string",
            },
            {
                "line": 3,
                "key": "providers.x.kind",
                "message": f"{file}:3: providers.x.kind: must be a string",
            },
        ],
        "warnings": [],
    }


@pytest.mark.parametrize("text", ['[providers.x]\nkind = "openai"\napi_kye = 1\n', "", None])
def test_warnings_and_a_missing_file_are_not_failures(home: Path, text: str | None) -> None:
    if text is not None:
        (home / "config.toml").write_text(text, "utf-8")
    done = jumpseat("config", "check")

    assert done.returncode == 0
    assert ("warning: " in done.stdout) == bool(text)
    assert ("does not exist yet" in done.stderr) == (text is None)


def test_a_file_that_is_not_toml_is_reported_with_line_and_column(home: Path) -> None:
    (home / "config.toml").write_text("a = 1\nb = = 2\n", "utf-8")
    done = jumpseat("config", "check")

    assert done.returncode == 1
    assert "is not valid TOML" in done.stdout
    assert "line 2, column 5" in done.stdout
