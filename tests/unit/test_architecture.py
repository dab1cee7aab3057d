"""Imports between packages go down only, and each name is used only where it belongs."""

from __future__ import annotations

import pytest

from tests.unit import elisp_modules, lua_modules, typescript_modules
from tests.unit.import_rules import (
    ABOVE_ALL,
    CLI_PARTS,
    ORDER,
    SOURCES,
    classes_of_one_name,
    faults,
    find_imports,
    imports_of,
    is_under,
    layer_of,
    modules,
)
from tests.unit.layers import find_cycle, find_layer_faults
from tests.unit.process_rules import EXCEPTIONS, reads_of_the_process
from tests.unit.syntax import parse
from tests.unit.thread_rules import MAY_MAKE_THREADS, find_thread_makers

EDITORS = {"emacs": elisp_modules, "neovim": lua_modules, "vscode": typescript_modules}
"""The module that reads the code of each editor's plug-in."""


@pytest.mark.parametrize(("name", "source"), [pytest.param(*each, id=each[0]) for each in modules().items()])
def test_a_module_obeys_the_rules(name: str, source: str) -> None:
    assert faults(name, source) == []


def test_modules_do_not_import_each_other_in_a_cycle() -> None:
    assert find_cycle(imports_of(modules())) == []


def test_the_three_packages_do_not_import_each_other_in_a_cycle() -> None:
    imports: dict[str, set[str]] = {package: set() for package in SOURCES}
    for name, source in modules().items():
        reached = find_imports(name, parse(source))
        imports[name.split(".")[0]] |= {each.split(".")[0] for each in reached}

    assert find_cycle(imports) == []
    assert imports["jumpseat"].isdisjoint(SOURCES.keys() - {"jumpseat"})


def test_a_cycle_of_modules_is_found() -> None:
    sources = {
        "jumpseat.chat.a": "def f():\n    from jumpseat.chat.b import g",
        "jumpseat.chat.b": "from jumpseat.chat import c",
        "jumpseat.chat.c": "from jumpseat.chat.a import f",
    }

    assert set(find_cycle(imports_of(sources))) == sources.keys()


@pytest.mark.parametrize("editor", EDITORS)
def test_the_files_of_an_editor_import_lower_ones_only(editor: str) -> None:
    code = EDITORS[editor]

    assert find_cycle(code.read_imports()) == []
    assert find_layer_faults(code.read_imports(), code.read_layers(), code.ORDER) == []


def test_public_classes_have_unique_names() -> None:
    assert classes_of_one_name(modules()) == {}


def test_two_public_classes_of_one_name_are_found() -> None:
    sources = {
        "jumpseat.chat.a": "class Turn: ...\nclass _Turn: ...",
        "jumpseat.rpc.b": "if True:\n    class Turn: ...\nclass _Turn: ...",
        "jumpseat_client.c": "class Other: ...",
    }

    assert classes_of_one_name(sources) == {"Turn": ["jumpseat.chat.a", "jumpseat.rpc.b"]}


def test_every_package_of_the_server_is_checked() -> None:
    seen = {layer_of(name) for name in modules() if name.startswith("jumpseat.")}

    assert seen - set(ABOVE_ALL) == set(ORDER)


def test_every_part_of_the_command_line_needs_what_it_may_import() -> None:
    used: dict[str, set[str]] = {part: set() for part in CLI_PARTS}
    for name, source in modules().items():
        if name.startswith("jumpseat_cli."):
            used[layer_of(name)] |= find_imports(name, parse(source))
    unused = [
        (part, each)
        for part, allowed in CLI_PARTS.items()
        for each in allowed
        if not any(is_under(reached, each) for reached in used[part])
    ]

    assert unused == []


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("jumpseat.chat.blocks", "from jumpseat.config import Config", "above chat"),
        ("jumpseat.chat.blocks", "from ..config import Config", "above chat"),
        ("jumpseat.engine.turn", "def f():\n    import jumpseat.connections.faults", "above engine"),
        ("jumpseat.engine.turn", "import jumpseat_client", "above engine"),
        ("jumpseat.config.load", "KIND = 'jumpseat.adapters.local.adapter:LocalAdapter'", "above config"),
        ("jumpseat.chat.blocks", "from pathlib import Path", "which chat never does"),
        ("jumpseat.chat.transcript.parse", "def f(name):\n    return open(name)", "opens a file"),
        ("jumpseat.chat.errors", "HINT = 'Send it as JSON-RPC.'", "names JSON-RPC"),
        ("jumpseat.chat.events", "copilot_notice = 1", "the provider copilot"),
        ("jumpseat.config.load", "import urllib.request", "which config never does"),
        ("jumpseat.dialects.responses.encode", "import socket", "which dialects never does"),
        ("jumpseat.dialects.opaque", "from jumpseat.config import resolve", "which dialects never does"),
        ("jumpseat.dialects.opaque", "from jumpseat.system.secrets import Secret", "which dialects never"),
        ("jumpseat.http.failures", "if provider == 'anthropic': ...", "the provider anthropic"),
        ("jumpseat.providers.lists", "from jumpseat.http import get_json", "which providers never does"),
        ("jumpseat.context.rules", "from jumpseat.providers import Registry", "which context never does"),
        ("jumpseat.tools.host", "from jumpseat.wire.line_child import LineChild", "which tools never does"),
        ("jumpseat.tools.host", "JSONRPC_VERSION = '2.0'", "names JSON-RPC"),
        ("jumpseat.tools.mcp.server", "from jumpseat.wire import Peer", "which tools never does"),
        ("jumpseat.tools.host", "from mcp.client.session import ClientSession", "imports mcp"),
        ("jumpseat.engine.retry", "from jumpseat.http import HttpCall", "which engine never does"),
        ("jumpseat.engine.retry", "from jumpseat.wire import Peer", "which engine never does"),
        ("jumpseat.engine.retry", "JSONRPC_VERSION = '2.0'", "names JSON-RPC"),
        ("jumpseat.rpc.encode", "from jumpseat.http import HttpCall", "which rpc never does"),
        ("jumpseat.rpc.serve", "from jumpseat.hub.attach import main", "above rpc"),
        ("jumpseat.hub.hub", "from jumpseat.http import HttpCall", "which hub never does"),
        ("jumpseat.hub.hub", "if provider == 'copilot': ...", "the provider copilot"),
        ("jumpseat.hub.attach", "MESSAGE = {'exit': 1}", "the method exit"),
        ("jumpseat.config.schema", "class ProviderConfig:\n    github_url: str", "the provider github"),
        ("jumpseat.config.overlay", "if kind == 'copilot': ...", "the provider copilot"),
        ("jumpseat.config.reading", "FORMS = {'ollama': 1}", "the provider ollama"),
        ("jumpseat.system.state_file", "from jumpseat.chat import ConfigError", "but system is independent"),
        ("jumpseat.system.state_file", "from jumpseat.config import Config", "above system"),
        ("jumpseat.shelf.stuff", "", "no place in the order"),
        ("jumpseat.adapters.openai.adapter", "from jumpseat.adapters import local", "the adapter local"),
        ("jumpseat.adapters.base.interface", "import jumpseat.adapters.http.endpoint", "the adapter http"),
        ("jumpseat.adapters.http.endpoint", "import jumpseat.adapters.openai.adapter", "the adapter openai"),
        ("jumpseat.adapters.github.errors", "import jumpseat.adapters.github.copilot.models", "copilot"),
        (
            "jumpseat.adapters.openai.adapter",
            "from jumpseat.adapters.local.install import x",
            "the adapter local",
        ),
        ("jumpseat.providers.names", "import httpx2", "imports httpx2"),
        (
            "jumpseat.adapters.openai.adapter",
            "def f():\n    from httpx2 import AsyncClient",
            "imports httpx2",
        ),
        ("jumpseat.rpc.serve", "import rich.console", "imports rich"),
        ("jumpseat.config.load", "def f():\n    import tomlkit", "imports tomlkit"),
        ("jumpseat.context.pages", "def f():\n    import justhtml", "imports justhtml"),
        ("jumpseat.connections.session", "from pygls.server import JsonRPCServer", "of pygls"),
        ("jumpseat_cli.chat.answering", "from prompt_toolkit import prompt", "imports prompt_toolkit"),
        ("jumpseat_client.client", "import click", "imports click"),
        ("jumpseat_client.client", "import jumpseat_cli", "imports jumpseat_cli"),
        ("jumpseat_cli.shelf.stuff", "", "no place in the order"),
        (
            "jumpseat_cli.daemon.session",
            "from jumpseat_cli.chat.usage import format_usage",
            "not below daemon",
        ),
        ("jumpseat_cli.program", "PLACE = 'jumpseat_cli.__main__:main'", "not below program"),
        ("jumpseat_cli.commands.edit", "from jumpseat_cli.commands.keys import keys", "not below commands"),
        ("jumpseat_cli.daemon.session", "import jumpseat.system.paths", "of the server"),
        ("jumpseat_client.client", "from jumpseat.chat import Message", "of the server"),
        ("jumpseat_client.client", "from jumpseat.rpc import serve", "of the server"),
        ("jumpseat_client.client", "from jumpseat.system.paths import Places", "of the server"),
        ("jumpseat_cli.chat.answering", "from jumpseat.engine import run_turn", "of the server"),
        ("jumpseat.engine.plan", "if provider == 'copilot': ...", "the provider copilot"),
        ("jumpseat.rpc.encode", "def for_ollama(): ...", "the provider ollama"),
        ("jumpseat.rpc.encode", "HINT = 'Run `jumpseat local install`.'", "the provider local"),
        ("jumpseat.engine.plan", "class OpenaiPlan: ...", "the provider openai"),
        ("jumpseat.engine.turn", "# answers chat/start", "the method chat/start"),
        ("jumpseat.wire.peer", "LAST = 'shutdown'", "the method shutdown"),
        ("jumpseat.adapters.github.copilot.adapter", "LAST = 'shutdown'", "the method shutdown"),
        ("jumpseat.adapters.github.language_server.server", "A = 'chat/start'", "the method chat/start"),
        (
            "jumpseat.adapters.github.language_server.models",
            "import jumpseat.adapters.github.copilot.models",
            "the adapter copilot",
        ),
        ("jumpseat.chat.fold", "x = 1\n" * 401, "longer than 400"),
        ("jumpseat.engine.turn", "import threading\nthreading.Thread(target=f)", "makes threads: Thread"),
        ("jumpseat_cli.chat", "import asyncio\nasyncio.to_thread(f)", "makes threads: to_thread"),
        ("jumpseat.http.client", "from concurrent.futures import ThreadPoolExecutor", "ThreadPoolExecutor"),
    ],
)
def test_every_rule_can_fail(name: str, source: str, fault: str) -> None:
    assert any(fault in each for each in faults(name, source))


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("jumpseat.connections.faults", "from jumpseat.wire import write_json\nimport jumpseat"),
        ("jumpseat.adapters.local.adapter", "from jumpseat.adapters.base import Adapter"),
        ("jumpseat.adapters.local.adapter", "from jumpseat.adapters.local.model import find"),
        ("jumpseat.adapters.openai.adapter", "from jumpseat.adapters.http.models import read_models"),
        ("jumpseat.adapters.github.language_server.server", "LAST = 'shutdown'"),
        ("jumpseat.http.client", "import httpx2"),
        ("jumpseat.config.editing", "def f():\n    import tomlkit"),
        ("jumpseat.http.failures", "HEADERS = ('x-github-request-id',)"),
        ("jumpseat.providers.registry", "from jumpseat.http import HttpClient"),
        ("jumpseat_client.client", "from jumpseat import __version__\nfrom jumpseat.wire import Peer"),
        ("jumpseat_client.process", "from jumpseat.system.child import Child"),
        ("jumpseat_cli.commands.daemon", "import click\nfrom jumpseat.connections.flags import build_parser"),
        ("jumpseat.engine.turn", '"""Nothing local to a provider is known here."""\nlocals()'),
    ],
)
def test_allowed_code_has_no_fault(name: str, source: str) -> None:
    assert faults(name, source) == []


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("import os\nos.environ.get('X')", "environ"),
        ("from os import getcwd", "getcwd"),
        ("from pathlib import Path\nPath('~/x').expanduser()", "expanduser"),
        ("from pathlib import Path\nPath('x').absolute()", "absolute()"),
        ("from pathlib import Path\nPath.home()", "home()"),
        ("import shutil\nshutil.which('gh')", "which without path"),
        ("import subprocess\nsubprocess.run(['gh'])", "run without env"),
        ("import tempfile\ntempfile.mkdtemp()", "mkdtemp without dir"),
        ("from urllib.request import getproxies", "getproxies"),
        ("from jumpseat.system.paths import places_of_process", "places_of_process"),
        ("from jumpseat.system.paths import _config_file", "_config_file"),
        ("from jumpseat.system import paths\npaths._state_dir()", "_state_dir"),
        ("from jumpseat.system.paths import _data_dir", "_data_dir"),
        ("child.start(['gh'], env={})", "start without directory"),
    ],
)
def test_only_code_at_the_edge_may_depend_on_the_environment_of_the_process(source: str, read: str) -> None:
    assert f"depends on the environment, directory or home of the process: {read}" in faults(
        "jumpseat.config.new", source
    )
    assert f"depends on the environment, directory or home of the process: {read}" not in faults(
        "jumpseat.rpc.new", source
    )


def test_every_exception_for_code_below_the_edge_is_needed() -> None:
    reads = {
        (name, each) for name, source in modules().items() for each in reads_of_the_process(parse(source))
    }
    assert EXCEPTIONS.keys() <= reads


def test_every_module_that_may_make_threads_makes_threads() -> None:
    assert {name for name, source in modules().items() if any(find_thread_makers(parse(source)))} == set(
        MAY_MAKE_THREADS
    )
