"""`jumpseat tools` and `jumpseat mcp` with a scripted daemon."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.scenario import Scenario
from tests.fakes.terminal import Terminal, list_visible_lines
from tests.unit.cli.commands.test_chat_inputs import CommandLine, jumpseat
from tests.unit.cli.test_program import argv

pytestmark = pytest.mark.timeout(60)
__all__ = ["jumpseat"]  # Pytest finds this fixture by its name.


def tool(name: str, decision: str = "ask", **more: Any) -> dict[str, Any]:
    server, _, own = name.partition("/")
    row = {"server": server, "tool": own, "description": f"Does {own}.", "parameters": {}}
    return {**row, "decision": decision, "tokens": 50, **more}


def server(name: str, state: str = "running", origin: str = "user", **more: Any) -> dict[str, Any]:
    return {"name": name, "origin": origin, "state": state, "definition": f"run {name}", **more}


LISTED = {
    "tools": [
        tool("files/read", "allow", description="Reads a file.\nIn parts."),
        tool("files/edit"),
        tool("db/drop", "deny", description="Drops\x1b[2J a table."),
    ],
    "servers": [
        server("files", origin="builtin"),
        server("db", fingerprint="f0"),
        server("web", "failed", error="It ended with code 1.\nOops"),
        server("idle", "stopped"),
        server("mail", "needs_sign_in"),
        server("theirs", "untrusted", "workspace", fingerprint="f1"),
    ],
}
WITH_OVERLAY = "If a workspace defines it, add --overlay FILE."
SIGNED_OUT = {"provider": "mcp:mail", "state": "signed_out"}
SIGNED_IN = {"provider": "mcp:mail", "state": "signed_in", "host": "mail.example"}


def script(jumpseat: CommandLine, **answers: Any) -> None:
    """Use a daemon with these answers. Each name is a method with an underscore in place of the slash."""
    given = {method.replace("_", "/"): answer for method, answer in answers.items()}
    jumpseat.use_scenario(Scenario(jumpseat.folder, answers={"tools/list": LISTED, **given}))


def test_tools_are_lines_with_tabs_in_a_pipe(jumpseat: CommandLine) -> None:
    script(jumpseat)
    code, out, error = jumpseat("tools")

    assert code == 0
    assert out.splitlines() == [
        "files/read\tallow\t50\tReads a file.",
        "files/edit\task\t50\tDoes edit.",
        "db/drop\tdeny\t50\tDrops a table.",
    ]
    assert error.splitlines() == [
        "Their definitions cost about 100 tokens in each request.",
        "web has failed: It ended with code 1. Oops",
        "mail needs a sign-in: jumpseat mcp login mail",
        "theirs is not trusted. To see and trust it: jumpseat mcp trust --overlay FILE theirs",
        "Stopped until a chat uses them: idle. To start them now: jumpseat tools list --refresh idle",
    ]
    assert jumpseat.scenario.read_messages("tools/list")[0]["params"] == {"refresh": False}


@pytest.mark.parametrize(
    ("words", "names", "code"),
    [
        (("files",), ["files/read", "files/edit"], 0),
        (("*/drop", "files/r*"), ["files/read"], 0),
        (("db/drop,files/edit",), ["files/edit", "db/drop"], 0),
        (("web",), [], 1),
        (("none/*",), [], 1),
    ],
)
def test_tools_are_selected_by_selectors(
    jumpseat: CommandLine, words: tuple[str, ...], names: list[str], code: int
) -> None:
    script(jumpseat)
    found, out, _ = jumpseat("tools", "list", "--json", "--refresh", *words)
    document = json.loads(out)

    assert found == code
    assert [f"{row['server']}/{row['tool']}" for row in document["tools"]] == names
    assert document["servers"] == LISTED["servers"]
    assert jumpseat.scenario.read_messages("tools/list")[0]["params"] == {"refresh": True}


def test_servers_without_tools_are_explained_if_they_are_selected(jumpseat: CommandLine) -> None:
    script(jumpseat)
    code, out, error = jumpseat("tools", "list", "web")

    assert (code, out) == (1, "")
    assert error.splitlines() == [
        "web has failed: It ended with code 1. Oops",
        "jumpseat: There are no tools that match web/*.",
        "hint: List all: jumpseat tools",
    ]


def test_tools_of_a_server_that_never_ran_can_be_listed_after_a_start(jumpseat: CommandLine) -> None:
    script(jumpseat)

    assert jumpseat("tools", "list", "idle") == (
        1,
        "",
        "Stopped until a chat uses them: idle. To start them now: jumpseat tools list --refresh idle\n"
        "jumpseat: There are no tools that match idle/*.\n",
    )


@pytest.mark.parametrize("command", [("tools",), ("mcp",)])
def test_a_list_without_servers_says_how_to_add_one(jumpseat: CommandLine, command: tuple[str, ...]) -> None:
    script(jumpseat, tools_list={"tools": [], "servers": []})
    _, out, error = jumpseat(*command)

    assert (out, "[mcp.NAME]" in error) == ("", True)


@pytest.mark.parametrize("command", ["tools", "mcp"])
def test_a_list_fits_a_terminal_of_80_columns(jumpseat: CommandLine, command: str) -> None:
    script(jumpseat)
    code, output = Terminal(argv(jumpseat.scenario, command)).finish()

    assert code == 0
    assert ("files/read" if command == "tools" else "needs_sign_in") in output
    assert max(map(len, list_visible_lines(output))) <= 80


def test_mcp_servers_come_from_the_configuration(jumpseat: CommandLine) -> None:
    script(jumpseat)
    code, out, _ = jumpseat("mcp", "list")

    assert code == 0
    assert out.splitlines() == [
        "db\trunning\tuser\trun db\t",
        "web\tfailed\tuser\trun web\tIt ended with code 1. Oops",
        "idle\tstopped\tuser\trun idle\t",
        "mail\tneeds_sign_in\tuser\trun mail\t",
        "theirs\tuntrusted\tworkspace\trun theirs\t",
    ]
    _, out, _ = jumpseat("mcp", "--json")
    assert [row["name"] for row in json.loads(out)["servers"]] == ["db", "web", "idle", "mail", "theirs"]


@pytest.mark.parametrize(
    ("row", "code", "text"),
    [
        (server("db"), 0, "db is running.\n"),
        (server("db", "failed", error="No such program."), 1, "jumpseat: db has failed: No such program.\n"),
        (server("db", "needs_sign_in"), 1, "jumpseat: db needs a sign-in: jumpseat mcp login db\n"),
    ],
)
def test_a_restart_reports_the_new_state(
    jumpseat: CommandLine, row: dict[str, Any], code: int, text: str
) -> None:
    script(jumpseat, mcp_restart=row)

    assert jumpseat("mcp", "restart", "db") == (code, "", text)
    assert jumpseat.scenario.read_messages("mcp/restart")[0]["params"] == {"server": "db"}
    found, out, _ = jumpseat("mcp", "restart", "--json", "db")
    assert (found, json.loads(out)) == (code, row)


@pytest.mark.parametrize("command", ["restart", "login"])
def test_a_mistyped_server_is_named_with_the_nearest(jumpseat: CommandLine, command: str) -> None:
    script(jumpseat)

    assert jumpseat("mcp", command, "dbs") == (
        1,
        "",
        "jumpseat: There is no MCP server dbs.\nhint: Did you mean db?\n",
    )


def test_the_working_directory_is_the_workspace_unless_it_was_removed(
    jumpseat: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    found = []
    for remove in (False, True):
        if remove:
            folder.rmdir()
        script(jumpseat)
        assert jumpseat("mcp")[0] == 0
        found.append(jumpseat.scenario.read_messages("initialize")[-1]["params"]["workspaceFolders"])

    assert found == [[{"uri": folder.as_uri(), "name": "work"}], []]


def test_without_a_terminal_a_server_is_not_trusted(jumpseat: CommandLine) -> None:
    script(jumpseat, mcp_trust=server("theirs", "stopped", "workspace", fingerprint="f1"))
    code, _, error = jumpseat("mcp", "trust", "theirs")

    assert code == 2
    assert error.startswith("theirs runs: run theirs\njumpseat: Without a terminal, jumpseat cannot ask.\n")
    assert jumpseat.scenario.read_messages("mcp/trust") == []


@pytest.mark.parametrize(("option", "trusted"), [("--yes", True), ("--withdraw", False)])
def test_trust_is_given_and_withdrawn_with_the_fingerprint(
    jumpseat: CommandLine, option: str, trusted: bool
) -> None:
    script(jumpseat, mcp_trust=server("theirs", "stopped", "workspace", fingerprint="f1"))
    code, _, _ = jumpseat("mcp", "trust", option, "theirs")

    assert code == 0
    assert jumpseat.scenario.read_messages("mcp/trust")[0]["params"] == {
        "server": "theirs",
        "fingerprint": "f1",
        "trusted": trusted,
    }


@pytest.mark.parametrize(("keys", "code", "times"), [(b"y\r", 0, 1), (b"n\r", 1, 0)])
def test_trust_asks_on_a_terminal(jumpseat: CommandLine, keys: bytes, code: int, times: int) -> None:
    script(jumpseat, mcp_trust=server("theirs", "stopped", "workspace", fingerprint="f1"))
    terminal = Terminal(argv(jumpseat.scenario, "mcp", "trust", "theirs"))
    terminal.read_until(lambda output: b"[y/N]" in output)
    assert b"theirs runs: run theirs" in terminal.output
    terminal.type(keys)

    assert terminal.finish()[0] == code
    assert len(jumpseat.scenario.read_messages("mcp/trust")) == times


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("db", "db needs no trust: your own configuration defines it."),
        ("their", "There is no MCP server their.\nhint: Did you mean theirs? " + WITH_OVERLAY),
        ("archive", "There is no MCP server archive.\nhint: " + WITH_OVERLAY),
    ],
)
def test_only_a_server_of_a_workspace_can_be_trusted(jumpseat: CommandLine, name: str, message: str) -> None:
    script(jumpseat)

    assert jumpseat("mcp", "trust", "--yes", name) == (1, "", f"jumpseat: {message}\n")
    assert jumpseat.scenario.read_messages("mcp/trust") == []


def test_a_login_is_the_sign_in_of_the_server(jumpseat: CommandLine) -> None:
    script(jumpseat, auth_status=SIGNED_OUT, auth_signIn=SIGNED_IN)
    code, out, error = jumpseat("mcp", "login", "mail")

    assert (code, out, error) == (0, "", "Signed in to mail.example.\n")
    assert jumpseat.scenario.read_messages("auth/signIn")[0]["params"] == {
        "provider": "mcp:mail",
        "openBrowser": False,
    }


def test_a_login_shows_the_page_and_its_host(jumpseat: CommandLine) -> None:
    page = {
        "provider": "mcp:mail",
        "verificationUri": "https://mail.example/authorize?x",
        "host": "mail.example",
    }
    prompt = {"method": "auth/prompt", "params": page}
    script(jumpseat, auth_status=SIGNED_OUT, auth_signIn={"notify": [prompt], "result": SIGNED_IN})
    _, _, error = jumpseat("mcp", "login", "mail")

    assert error.splitlines() == [
        "Open this page of mail.example to sign in: https://mail.example/authorize?x",
        "Signed in to mail.example.",
    ]


@pytest.mark.parametrize(("has_overlay", "option"), [(False, ""), (True, "--overlay FILE ")])
def test_a_login_names_an_existing_sign_in(
    jumpseat: CommandLine, tmp_path: Path, has_overlay: bool, option: str
) -> None:
    overlay = tmp_path / "project.toml"
    overlay.write_text("", "utf-8")
    script(jumpseat, auth_status=SIGNED_IN)
    code, _, error = jumpseat("mcp", "login", *(["--overlay", str(overlay)] if has_overlay else []), "mail")

    assert code == 0
    assert error == (
        f"Already signed in to mail.example.\nTo sign in again: jumpseat mcp login {option}--again mail\n"
    )
