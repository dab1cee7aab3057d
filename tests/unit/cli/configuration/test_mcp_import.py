"""`jumpseat tools import`: the servers of other programs become tables, and no secret is printed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from jumpseat_cli import program
from jumpseat_cli.configuration.mcp_files import find_usual_files, read_servers

CANARY = "canary4711canary4711x"
"""A value that must never be printed. It looks like a secret, because only such arguments are hidden."""

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def file(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Set another home directory, and return the path of the file to import."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    return tmp_path / "mcp.json"


def write(file: Path, servers: dict[str, Any], key: str = "mcpServers", **more: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({key: servers, **more}), "utf-8")


def run(capsys: Capture, *arguments: str) -> tuple[int, str, str]:
    """Run the command; return the exit code, stdout and stderr."""
    code = program.run(["tools", "import", *arguments])
    return code, *capsys.readouterr()


def tables(out: str) -> dict[str, Any]:
    """Return the tables of the servers in the output, which is TOML."""
    found: dict[str, Any] = tomllib.loads(out).get("mcp", {})
    return found


def convert(file: Path, capsys: Capture, **entry: Any) -> tuple[dict[str, Any], str]:
    """Import one server; return its table and the whole output."""
    write(file, {"db": entry})
    _, out, error = run(capsys, str(file))
    assert CANARY not in out + error
    return tables(out).get("db", {}), out


def test_a_program_with_variables_becomes_a_command_with_value_sources(file: Path, capsys: Capture) -> None:
    entry = {
        "command": "npx",
        "args": ["-y", "db-mcp@1.2.3", "--port", "8080"],
        "env": {"DB_URL": f"postgres://u:{CANARY}@h/d", "LOG_LEVEL": "debug", "DB_PASSWORD": "true"},
    }
    write(file, {"db": entry})
    code, out, error = run(capsys, str(file))

    assert code == 0
    assert tables(out) == {
        "db": {
            "command": ["npx", "-y", "db-mcp@1.2.3", "--port", "8080"],
            "env": {"DB_URL": "env:DB_URL", "LOG_LEVEL": "debug", "DB_PASSWORD": "env:DB_PASSWORD"},
        }
    }
    assert out.splitlines()[:2] == [
        f"# db, from {file}",
        "# Set the environment variable DB_URL to the value of DB_URL in that file.",
    ]
    assert error.splitlines() == [
        "Set these environment variables, or use other value sources: DB_URL, DB_PASSWORD.",
        "Then: jumpseat tools list --refresh db",
    ]
    assert CANARY not in out + error


@pytest.mark.parametrize(
    "value",
    [
        "hunter2", CANARY, f"Bearer {CANARY}", "p@ssw0rd!", f"/{CANARY}", "correct horse battery",
        "file:///etc/passwd", "cmd:rm -rf x", "env:OTHER", "python:a.b:c", "keyring:a/b",
        "schema:x", "${name}",
    ],
)  # fmt: skip
def test_a_value_that_may_be_secret_or_a_source_is_never_a_literal(
    file: Path, capsys: Capture, value: str
) -> None:
    table, out = convert(file, capsys, command="x", env={"A": value, "B": "1"})

    assert table["env"]["A"] in ("env:A", "env:name")
    assert table["env"]["B"] == "1"
    if value != "${name}":
        assert value not in out


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--api-key", CANARY], ["--api-key", "***"]),
        ([f"--api-key={CANARY}"], ["--api-key=***"]),
        (["--password", "short"], ["--password", "***"]),
        (["--token=short"], ["--token=***"]),
        ([CANARY], ["***"]),
        ([f"sk-proj-{CANARY}"], ["***"]),
        (["--header", "Authorization: Bearer short"], ["--header", "Authorization: ***"]),
        (["X-Team: blue"], ["X-Team: blue"]),
        ([f"https://u:{CANARY}@h/p"], ["https://u:***@h/p"]),
        ([f"https://h/mcp/{CANARY}/x"], ["https://h/mcp/***/x"]),
        (["https://h/x?api_key=short"], ["https://h/x?api_key=***"]),
        (["DB_PASSWORD=short"], ["DB_PASSWORD=***"]),
        (
            ["git+https://github.com/a/b@0123456789abcdef0123456789abcdef01234567"],
            ["git+https://github.com/a/b@0123456789abcdef0123456789abcdef01234567"],
        ),
        (["@modelcontextprotocol/server-files@2025.8.21"], ["@modelcontextprotocol/server-files@2025.8.21"]),
        (["pkg@0123456789abcdef0123456789abcdef01234567"], ["pkg@0123456789abcdef0123456789abcdef01234567"]),
        (["skilled-worker-server", "npm-registry-mcp"], ["skilled-worker-server", "npm-registry-mcp"]),
        (["--auth", "--verbose"], ["--auth", "--verbose"]),
    ],
    ids=str,
)  # fmt: skip
def test_secrets_in_arguments_are_hidden_and_named(
    file: Path, capsys: Capture, args: list[str], expected: list[str]
) -> None:
    table, out = convert(file, capsys, command="x", args=args)

    assert table["command"] == ["x", *expected]
    assert ("# *** stands for a secret in the arguments" in out) == ("***" in "".join(expected))


def test_values_of_docker_arguments_move_to_the_environment(file: Path, capsys: Capture) -> None:
    args = ["run", "-i", "-e", f"GITHUB_TOKEN={CANARY}", "--env", "MODE=debug", "-e", "PLAIN", "image"]
    table, _ = convert(file, capsys, command="docker", args=args)

    assert table["command"] == [
        "docker",
        "run",
        "-i",
        "-e",
        "GITHUB_TOKEN",
        "--env",
        "MODE",
        "-e",
        "PLAIN",
        "image",
    ]
    assert table["env"] == {"GITHUB_TOKEN": "env:GITHUB_TOKEN", "MODE": "debug"}


def test_a_remote_server_becomes_a_url_with_headers(file: Path, capsys: Capture) -> None:
    headers = {"Authorization": f"Bearer {CANARY}", "X-Mode": "production", "X-Key": "${env:OTHER}"}
    table, out = convert(file, capsys, type="http", url=f"https://h/mcp?token={CANARY}", headers=headers)

    assert table == {
        "url": "https://h/mcp?token=***",
        "headers": {"Authorization": "env:DB_AUTHORIZATION", "X-Mode": "production", "X-Key": "env:OTHER"},
    }
    assert "# *** stands for a secret in the address." in out


def test_inputs_and_directories_of_vs_code_are_explained(file: Path, capsys: Capture) -> None:
    servers = {
        "fs": {
            "command": "${userHome}/bin/fs",
            "args": ["${workspaceFolder}/src", "${input:extra}"],
            "env": {"API_TOKEN": "${input:token}", "HALF": "x${env:Y}", "AUTH": "Bearer ${input:token}"},
            "envFile": ".env",
        }
    }
    inputs = [{"id": "token", "type": "promptString", "description": "Your token\n\x1b[2J"}]
    write(file, servers, "servers", inputs=inputs)
    code, out, _ = run(capsys, str(file))

    assert code == 0
    assert tables(out)["fs"] == {
        "command": ["${userHome}/bin/fs", "./src", "${input:extra}"],
        "env": {"API_TOKEN": "env:API_TOKEN", "HALF": "env:HALF", "AUTH": "env:AUTH"},
        "cwd": ".",
        "scope": "workspace",
    }
    for comment in (
        "Set the environment variable API_TOKEN to the value of API_TOKEN: Your token",
        "Set the environment variable HALF to the value of HALF, with the parts in ${…} filled in.",
        "Set the environment variable AUTH to the value of AUTH, with the parts in ${…} filled in: Your",
        "Replace ${input:extra}: jumpseat does not fill in arguments.",
        "It also reads variables from the file .env.",
    ):
        assert f"# {comment}" in out


@pytest.mark.parametrize(
    ("entry", "comment", "has_table"),
    [
        ({"command": "x", "disabled": True}, "It is disabled there, so it was left out.", False),
        ({"type": "stdio"}, "It has neither a command nor a url, so it was left out.", False),
        ({"type": "sse", "url": "https://h/mcp"}, "It uses the old transport SSE", True),
        ({"url": "https://h/sse"}, "It uses the old transport SSE", True),
        ({"command": "x", "alwaysAllow": ["y"]}, "Some of its tools are approved there.", True),
    ],
)
def test_parts_that_cannot_be_imported_are_named(
    file: Path, capsys: Capture, entry: dict[str, Any], comment: str, has_table: bool
) -> None:
    table, out = convert(file, capsys, **entry)

    assert (bool(table), f"# {comment}" in out) == (has_table, True)


def test_names_are_made_valid_and_unique(file: Path, home: Path, capsys: Capture) -> None:
    (home / "config.toml").write_text('[mcp.mine]\ncommand = ["x"]\n', "utf-8")
    servers = {name: {"command": name} for name in ("my db", "my.db", "files", "mine", "…")}
    write(file, {**servers, "same": {"command": "my db"}})
    code, out, _ = run(capsys, str(file))

    assert code == 0
    assert {name: table["command"] for name, table in tables(out).items()} == {
        "my-db": ["my db"],
        "my-db-2": ["my.db"],
        "files-2": ["files"],
        "server": ["…"],
    }
    assert f"# mine, from {file}, is already in your configuration, so it was left out." in out


def test_hidden_characters_are_escaped(file: Path, capsys: Capture) -> None:
    table, out = convert(file, capsys, command="x\u202e", args=["\u200b\x1b[2J"])

    assert table["command"] == ["x\u202e", "\u200b\x1b[2J"]
    assert re.search("[\u200b\u202e\x1b]", out) is None


def test_comments_and_trailing_commas_are_accepted(file: Path, capsys: Capture) -> None:
    file.write_text(
        """\ufeff// My servers
        {"servers": { /* one */ "db": {"command": "x", "args": ["a // b", "c,]", ], // two
        }, }, }""",
        "utf-8",
    )
    _, out, _ = run(capsys, str(file))

    assert tables(out) == {"db": {"command": ["x", "a // b", "c,]"]}}


def test_the_settings_of_vs_code_are_read(file: Path, capsys: Capture) -> None:
    write(file, {"servers": {"db": {"command": "x"}}, "inputs": []}, "mcp")

    assert tables(run(capsys, str(file))[1]) == {"db": {"command": ["x"]}}


def test_json_has_the_tables_and_their_comments(file: Path, capsys: Capture) -> None:
    write(file, {"db": {"command": "x", "env": {"A_KEY": CANARY}}, "off": {"command": "y", "disabled": True}})
    code, out, error = run(capsys, "--json", str(file))
    first, second = json.loads(out)["servers"]

    assert (code, error) == (0, "")
    assert (first["name"], first["table"]) == ("db", {"command": ["x"], "env": {"A_KEY": "env:A_KEY"}})
    assert first["variables"] == ["A_KEY"]
    assert (second["table"], second["comments"][-1]) == ({}, "It is disabled there, so it was left out.")
    assert CANARY not in out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ("[]", "has no table of MCP servers"),
        ('{"mcpServers": {}}', "There are no MCP servers in"),
        ("\xff", "is not UTF-8 text"),
    ],
)
def test_other_files_are_refused(file: Path, capsys: Capture, content: str, message: str) -> None:
    file.write_bytes(content.encode("latin-1"))
    code, out, error = run(capsys, str(file))

    assert (code, out, message in error) == (1, "", True)


def test_files_of_the_user_are_imported_and_those_of_a_project_are_not(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    config, user = tmp_path / "config", tmp_path / "user"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(config))
    project = tmp_path / "project"
    monkeypatch.setattr("sys.platform", "linux")
    for number, path in enumerate(
        (
            config / "Code" / "User" / "mcp.json",
            user / ".cursor" / "mcp.json",
            config / "Claude" / "claude_desktop_config.json",
            project / ".vscode" / "mcp.json",
            project / ".cursor" / "mcp.json",
        )
    ):
        write(path, {f"s{number}": {"command": f"c{number}"}})
    monkeypatch.chdir(project)

    assert [path.parent.name for path in find_usual_files()] == ["User", ".cursor", "Claude"]
    assert sorted(tables(run(capsys)[1])) == ["s0", "s1", "s2"]
    assert read_servers(project / ".vscode" / "mcp.json")[0].name == "s3"


def test_without_files_in_the_usual_places_the_import_fails_with_a_hint(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    code, out, error = run(capsys)

    assert (code, out) == (1, "")
    assert "hint: Name a file: jumpseat tools import .vscode/mcp.json" in error
