"""The cost of imports, measured by the modules that a fresh interpreter has loaded afterwards."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.daemon import environment_of, frame
from tests.fakes.scenario import Scenario, answer_steps

IMPORT_SCRIPT = """\
import sys
before = set(sys.modules)
import {module}
loaded = {{name.partition(".")[0] for name in set(sys.modules) - before}}
print(*sorted(loaded - sys.stdlib_module_names))
"""


def third_party_modules_after_importing(module: str, directory: Path) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", IMPORT_SCRIPT.format(module=module)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=directory,
    )
    return set(done.stdout.split())


def test_importing_jumpseat_loads_nothing_else(tmp_path: Path) -> None:
    assert third_party_modules_after_importing("jumpseat", tmp_path) == {"jumpseat"}


@pytest.mark.parametrize("module", ["jumpseat.rpc.serve", "jumpseat_client.client"])
def test_the_daemon_and_the_client_do_not_load_http_terminal_or_models(module: str, tmp_path: Path) -> None:
    loaded = third_party_modules_after_importing(module, tmp_path)

    assert loaded & {"httpx2", "httpx", "click", "rich", "xllamacpp", "keyring", "filelock", "yaml"} == set()
    assert module.partition(".")[0] in loaded


def test_a_client_starts_its_daemon_before_it_imports_pydantic(tmp_path: Path) -> None:
    loaded = third_party_modules_after_importing("jumpseat_cli.chat.answering", tmp_path)

    assert loaded == {"jumpseat", "jumpseat_cli", "jumpseat_client"}


def test_the_file_tools_load_git_only_in_the_process_of_a_search(tmp_path: Path) -> None:
    assert "dulwich" not in third_party_modules_after_importing("jumpseat.tools.files.server", tmp_path)
    assert "pydantic" not in third_party_modules_after_importing(
        "jumpseat.tools.files.scan_process", tmp_path
    )


def test_the_package_chat_needs_no_third_party_library(tmp_path: Path) -> None:
    assert third_party_modules_after_importing("jumpseat.chat", tmp_path) == {"jumpseat"}


START_SCRIPT = """\
import contextlib, sys
opened = []
sys.addaudithook(lambda event, args: opened.append(str(args[0])) if event == "open" else None)
import jumpseat.rpc.serve, jumpseat.connections.process
from jumpseat.chat import ConfigError
from jumpseat.config import load_config
from jumpseat.providers import BUILT_IN, KINDS, Registry
from jumpseat.system.environment import environment_of_process
environment = environment_of_process()
registry = Registry(load_config(None, {overlay}, environment=environment, built_in=BUILT_IN, kinds=KINDS))
with contextlib.suppress(ConfigError):
    registry.adapter("fake")
print(*sorted(name for name in sys.modules if name.startswith("jumpseat.")))
print(*(path for path in opened if "entry_points" in path))
"""


def modules_and_entry_points_of_a_start(kind: str, directory: Path) -> tuple[set[str], list[str]]:
    overlay = {"providers": {"fake": {"kind": kind, "base_url": "http://127.0.0.1:9"}}}
    done = subprocess.run(
        [sys.executable, "-c", START_SCRIPT.format(overlay=overlay)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=directory,
        env={**os.environ, "JUMPSEAT_HOME": str(directory), "PYDANTIC_DISABLE_PLUGINS": "__all__"},
    )
    modules, entry_points = done.stdout.split("\n")[:2]
    return set(modules.split()), entry_points.split()


@pytest.mark.requirement("7:plugins")
def test_a_daemon_without_plug_ins_does_not_load_their_hooks(tmp_path: Path) -> None:
    modules, entry_points = modules_and_entry_points_of_a_start("openai", tmp_path)

    assert entry_points == []
    assert "jumpseat.adapters.openai.adapter" in modules
    assert "jumpseat.adapters.http.hooks" not in modules
    # Only the specs of the kinds in use are imported: the kind of the table, and the built-in kinds.
    specs = {name.split(".")[-2] for name in modules if name.endswith(".spec")}
    assert specs == {"base", "openai", "copilot", "local"}
    # An unknown kind is searched for in the entry points, so this test would notice a search.
    _, searched = modules_and_entry_points_of_a_start("unknown", tmp_path)
    assert searched != []


REPLY_SCRIPT = """\
import json, os, sys
import jumpseat.rpc.serve as serve
leave = os._exit
def tell(code):
    print(json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True)
    leave(code)
os._exit = tell
serve.main(["--log-level", "error"])
"""


def test_a_first_reply_imports_little(tmp_path: Path) -> None:
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {}},
        {"jsonrpc": "2.0", "id": 2, "method": "providers/list"},
    ]
    done = subprocess.run(
        [sys.executable, "-c", REPLY_SCRIPT],
        input=b"".join(map(frame, messages)),
        capture_output=True,
        timeout=60,
        check=False,
        env={**os.environ, **environment_of(tmp_path)},
    )
    modules = set(json.loads(done.stderr.splitlines()[-1]))

    assert "jumpseat.connections.process" in modules, done.stderr
    slow = {"sqlite3", "http.client", "httpx2", "difflib"}
    assert slow & modules == set()
    # The first reply does not need the store of conversations or the dialects.
    for later in ("conversations.store", "conversations.state", "http.exchange", "dialects.assembly"):
        assert f"jumpseat.{later}" not in modules


QUESTION_SCRIPT = """\
import json, os, sys
leave = os._exit
def tell(code):
    print(json.dumps(sorted(sys.modules)), file=sys.stderr, flush=True)
    leave(code)
os._exit = tell
from jumpseat_client import client
command = json.loads(sys.argv[1])
client.default_command = lambda **_: command
sys.argv[:] = ["jumpseat", *sys.argv[2:]]
from jumpseat_cli.__main__ import main
main()
"""


@pytest.mark.parametrize("arguments", [("chat", "Hi"), ("Why is it?",)], ids=str)
def test_a_question_does_not_load_conversations_or_the_terminal(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    command = json.dumps(Scenario.chat(tmp_path, answer_steps("Hello")).command)
    done = subprocess.run(
        [sys.executable, "-c", QUESTION_SCRIPT, command, *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    modules = set(json.loads(done.stderr))

    assert done.stdout == "Hello\n"
    assert "jumpseat_cli.chat.answering" in modules
    assert {name for name in modules if name.startswith("jumpseat_cli.repl")} == set()
    assert {"prompt_toolkit", "rich", "difflib"} & modules == set()


HELP_SCRIPT = """\
import sys
from jumpseat_cli.program import jumpseat
jumpseat.main(["chat", "--help"], standalone_mode=False)
import jumpseat_cli.chat.answering, jumpseat_cli.chat.question, jumpseat_cli.daemon.conversations
print("loaded:", *(name for name in sys.modules if name.startswith("jumpseat_cli.")))
print("libraries:", *{"rich", "prompt_toolkit", "tomlkit", "pydantic", "jsonschema"} & set(sys.modules))
"""


def test_a_question_imports_only_its_command_and_click(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HELP_SCRIPT],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
        cwd=tmp_path,
    )
    *_, loaded, libraries = done.stdout.splitlines()
    names = {name.removeprefix("jumpseat_cli.") for name in loaded.split()[1:]}

    assert {name for name in names if name.startswith("commands.")} == {"commands.chat"}
    assert names.isdisjoint(
        {"files.attachments", "repl", "chat.usage", "terminal.markdown", "terminal.tables"}
    )
    assert libraries.split() == ["libraries:"]


SERVERS_SCRIPT = """\
import sys
from jumpseat.config.config import Config
print({"jumpseat.config.mcp", "mcp"} & set(sys.modules))
Config.model_validate({"tools": {}})
print({"jumpseat.config.mcp", "mcp"} & set(sys.modules))
Config.model_validate({"mcp": {"a": {"command": ["x"]}}})
print({"jumpseat.config.mcp", "mcp"} & set(sys.modules))
"""


def test_a_configuration_without_mcp_servers_does_not_load_their_model(tmp_path: Path) -> None:
    script = [sys.executable, "-c", SERVERS_SCRIPT]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=True, cwd=tmp_path)

    assert done.stdout.splitlines() == ["set()", "set()", "{'jumpseat.config.mcp'}"]
