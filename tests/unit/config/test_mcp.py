"""The tables `[mcp.NAME]`: their schema, their faults, and servers in an overlay."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import Config, load_config
from jumpseat.config.values import Values
from jumpseat.system.environment import environment_of_process

FILE = """
[tools]
allow = ["trusted/*"]
[mcp.github]
url = "https://mcp.example/${team}/"
headers = { Authorization = "env:GH_MCP", X-Team = "${team}" }
env = { team = "blue" }
[mcp.db]
command = ["npx", "-y", "db-mcp@1.2.3"]
env = { DB_URL = "env:DB_URL" }
"""


def load(home: Path, text: str, overlay: Any = None) -> Config:
    (home / "config.toml").write_text(text, "utf-8")
    return load_config(None, overlay, environment=environment_of_process())


@pytest.mark.requirement("12:mcp-config")
def test_a_table_names_a_program_or_a_url(home: Path) -> None:
    config = load(home, FILE)

    assert config.mcp["db"].command == ["npx", "-y", "db-mcp@1.2.3"]
    assert (config.mcp["db"].scope, config.mcp["db"].start_seconds, config.mcp["db"].idle_minutes) == (
        "user",
        30.0,
        10.0,
    )
    assert config.mcp["github"].url == "https://mcp.example/${team}/"
    assert not config.mcp["github"].is_from_client


@pytest.mark.requirement("12:mcp-config")
@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ("[mcp.a]\n", "mcp.a: must have either command"),
        ('[mcp.a]\ncommand = ["x"]\nurl = "https://x.example"\n', "mcp.a: must have either command"),
        ('[mcp.a]\ncommand = "x"\n', "mcp.a.command: must be an array"),
        ("[mcp.a]\ncommand = []\n", "mcp.a.command: must not be empty"),
        ('[mcp.a]\ncommand = [" "]\n', "mcp.a: must have a program"),
        ('[mcp.a]\nurl = "ftp://x"\n', "mcp.a.url: must be an address that begins with http"),
        (
            '[mcp.a]\ncommand = ["x"]\nheaders = { A = "b" }\n',
            "mcp.a: cannot have headers together with command",
        ),
        ('[mcp.a]\nurl = "https://x.example"\ncwd = "."\n', "mcp.a: cannot have cwd together with url"),
        ('[mcp.a]\ncommand = ["x"]\nscope = "all"\n', "mcp.a.scope: must be one of 'user', 'workspace' or"),
        ('[mcp."a b"]\ncommand = ["x"]\n', "mcp.a b: is not a valid name of a server"),
        ('[mcp.files]\ncommand = ["x"]\n', "mcp.files: is the name of the built-in file tools"),
        ('[mcp.a]\ncommand = ["x"]\nstart_seconds = 0\n', "mcp.a.start_seconds: must be greater than 0"),
    ],
)
def test_a_fault_affects_only_its_server(home: Path, table: str, fault: str) -> None:
    config = load(home, f'{table}[mcp.b]\ncommand = ["y"]\n')

    ((found,),) = config.faults_of_mcp.values()
    assert fault in str(found)
    assert list(config.mcp) == ["b"]


@pytest.mark.requirement("12:mcp-config")
async def test_values_are_resolved_and_errors_name_the_key_of_the_server(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = load(home, FILE).mcp["github"].value_table
    values = Values("mcp:github", table)
    with pytest.raises(ConfigError) as caught:
        await values.fill_headers()
    assert caught.value.message == (
        "mcp.github.headers.Authorization is env:GH_MCP, but the environment variable GH_MCP is not set."
    )

    monkeypatch.setenv("GH_MCP", "Bearer one-two-three")
    table = load(home, FILE).mcp["github"].value_table
    values = Values("mcp:github", table)
    assert await values.fill_url("url", table.url or "") == "https://mcp.example/blue/"
    assert await values.fill_headers() == {"authorization": "Bearer one-two-three", "x-team": "blue"}


@pytest.mark.requirement("12:mcp-environment")
def test_the_representation_of_a_table_does_not_show_secrets(home: Path) -> None:
    secret = "canary-4711"
    text = (
        f'[mcp.a]\nurl = "https://x.example/{secret}"\nheaders = {{ A = "{secret}" }}\ntoken = "{secret}"\n'
    )

    assert secret not in repr(load(home, text).mcp)


@pytest.mark.requirement("12:mcp-environment")
def test_variables_with_secrets_of_servers_are_withheld_from_commands(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GH_MCP", "Bearer one-two-three")
    config = load(home, FILE)

    assert "GH_MCP" in config.environment.withheld


@pytest.mark.requirement("12:mcp-overlay")
def test_an_overlay_adds_servers_with_literal_values(home: Path) -> None:
    server = {"command": ["./run.sh", "--port", "1"], "env": {"A": "b"}, "cwd": None, "headers": {}}
    config = load(home, FILE, {"mcp": {"local": server}})

    assert config.mcp["local"].is_from_client
    assert config.mcp["local"].env == {"A": "b"}
    assert not config.mcp["db"].is_from_client


@pytest.mark.requirement("12:mcp-overlay", "12:overlay-rules")
@pytest.mark.parametrize(
    ("servers", "key"),
    [
        ({"github": {"url": "https://evil.example"}}, "mcp.github"),
        ({"github": {"idle_minutes": 1}}, "mcp.github"),
        ({"broken": {"command": ["x"]}}, "mcp.broken"),
        ({"GitHub": {"command": ["x"]}}, "mcp.'GitHub'"),
        ({"g1thub": {"command": ["x"]}}, "mcp.'g1thub'"),
        ({"trusted": {"command": ["x"]}}, "mcp.trusted"),
        ({"files": {"command": ["x"]}}, "mcp.files"),
        ({"a": {"command": ["x"], "env": {"A": "env:SECRET"}}}, "mcp.a.env.A"),
        ({"a": {"command": ["x", "${SECRET}"]}}, "mcp.a.command.1"),
        ({"a": {"url": "https://x.example", "headers": {"A": "cmd:id"}}}, "mcp.a.headers.A"),
        ({"a": {"command": ["x"], "inherit": ["SECRET"]}}, "mcp.a.inherit"),
        ({"a": {"url": "https://x.example", "ca_file": "/x"}}, "mcp.a.ca_file"),
        ({"a": {"url": "https://x.example", "proxy": "http://x"}}, "mcp.a.proxy"),
        ({"a": {"command": 1}}, "mcp.a.command"),
        ({"a": 1}, "mcp.a"),
        (1, "mcp"),
    ],
)
def test_a_forbidden_or_invalid_server_of_an_overlay_is_reported_by_its_key(
    home: Path, servers: Any, key: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        load(home, f"{FILE}[mcp.broken]\n", {"mcp": servers})

    # A space or a colon follows the key, depending on the error.
    assert f"{key} " in caught.value.message.replace(": ", " ")


@pytest.mark.requirement("12:mcp-overlay")
async def test_a_value_of_an_overlay_is_never_read_as_the_name_of_a_variable(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "canary-4711")
    config = load(home, FILE, {"mcp": {"local": {"command": ["x"], "env": {"A": "SECRET"}}}})
    values = Values("mcp:local", config.mcp["local"].value_table)

    assert (await values.resolve("env.A", "SECRET")).reveal() == "SECRET"
