"""Imports between packages go down only, and each name is used only where it belongs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from jumpseat.rpc.methods import METHODS
from tests.unit import elisp_modules, lua_modules, typescript_modules
from tests.unit.layers import find_cycle, find_layer_faults
from tests.unit.package_rules import faults_of_package
from tests.unit.process_rules import AT_THE_EDGE, EXCEPTIONS, reads_of_the_process
from tests.unit.thread_rules import MAY_MAKE_THREADS, makes_threads

ROOT = Path(__file__).parents[2]
SOURCES = {"jumpseat": ROOT / "server", "jumpseat_client": ROOT / "client", "jumpseat_cli": ROOT / "client"}

ORDER = (
    "chat",
    "system",
    "config",
    "wire",
    "dialects",
    "http",
    "adapters",
    "providers",
    "conversations",
    "engine",
    "rpc",
    "hub",
)
"""Every package of the server, lowest first: one may import those before it, and itself."""

INDEPENDENT = ("chat", "system")
"""These packages import no other package of the server, not even a lower one."""

ABOVE_ALL = ("__main__", "testing")
LONGEST_MODULE = 400
SHARED_BY_ADAPTERS = ("base", "http")
"""The folders of `adapters/` that every provider may import; `http` may import `base`, `base` no other."""

LEAVES_OF_GITHUB = ("copilot", "language_server")
"""Two providers below `adapters/github/` that share the modules next to them, and nothing of each other."""

CLIENT_OF_A_LANGUAGE_SERVER = "jumpseat.adapters.github.language_server"
"""It sends its own server the methods that an editor sends the daemon."""

BASE_PROTOCOL = frozenset(method for method in METHODS if method.startswith("$/"))
"""The methods of LSP's base protocol: any module that speaks it may name them."""

LSP = BASE_PROTOCOL | {"initialize", "initialized", "shutdown", "exit", "workspace/didChangeConfiguration"}
USES_PRIVATE_NAMES_OF_PYGLS = "jumpseat.rpc.dispatcher"
"""The one module that imports more of pygls than `pygls.uris`; `test_pygls_seams.py` tests the names."""

CLIENT_MAY_IMPORT = ("jumpseat.wire", "jumpseat.system.child", "jumpseat.__version__")
CLI_ROOMS = {
    "terminal": (),
    "files": (),
    "configuration": (
        "jumpseat.adapters.local.install",
        "jumpseat.adapters.local.model",
        "jumpseat.chat",
        "jumpseat.config.redaction",
        "jumpseat.config.stored_keys",
        "jumpseat.providers.checkup",
        "jumpseat.providers.services",
        "jumpseat.system.environment",
    ),
    "daemon": (),
    "chat": (),
    "repl": ("jumpseat.system.paths",),
    "doctor": (
        "jumpseat.chat",
        "jumpseat.config.redaction",
        "jumpseat.hub.command",
        "jumpseat.providers.checkup",
        "jumpseat.system.environment",
        "jumpseat.system.keyring_storage",
        "jumpseat.system.paths",
        "jumpseat.system.secrets.redact",
    ),
    "command_line": (),
    "commands": (
        "jumpseat.hub.command",
        "jumpseat.hub.programs",
        "jumpseat.providers.services",
        "jumpseat.rpc.flags",
        "jumpseat.system.paths",
    ),
    "program": ("jumpseat.system.interrupts",),
    "__main__": ("jumpseat.hub.programs", "jumpseat.system.interrupts", "jumpseat.system.paths"),
}
"""The parts of the command line, lowest first, with what each imports of the server beside the client's."""

EDITORS = {"emacs": elisp_modules, "neovim": lua_modules, "vscode": typescript_modules}
"""The readers of the editors' code."""

_MODULE_IN_A_STRING = re.compile(r"jumpseat(_cli)?(\.\w+)+(:\w+)?")


def modules() -> Iterator[tuple[str, str]]:
    """Every module of the three packages: its dotted name and its text."""
    for package, directory in SOURCES.items():
        for path in sorted((directory / package).rglob("*.py")):
            parts = path.relative_to(directory).with_suffix("").parts
            yield ".".join(part for part in parts if part != "__init__"), path.read_text("utf-8")


def imported(name: str, tree: ast.Module) -> set[str]:
    """Every import of the module, also inside functions; a dotted path in a string counts."""
    found = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                found |= {alias.name for alias in node.names}
            case ast.ImportFrom():
                above = name.split(".")[: -node.level] if node.level else []
                base = ".".join([*above, *([node.module] if node.module else [])])
                found |= {f"{base}.{alias.name}" for alias in node.names}
            case ast.Constant(value=str(text)) if _MODULE_IN_A_STRING.fullmatch(text):
                found.add(text.replace(":", "."))
    return found


def faults(name: str, source: str) -> list[str]:
    """Every rule that a module breaks."""
    tree = ast.parse(source)
    imports = imported(name, tree)
    found = [f"is longer than {LONGEST_MODULE} lines"] if source.count("\n") > LONGEST_MODULE else []
    found += _foreign_libraries(name, imports)
    if name != USES_PRIVATE_NAMES_OF_PYGLS:
        found += [
            f"imports {each} of pygls"
            for each in sorted(imports)
            if _is_under(each, "pygls") and not _is_under(each, "pygls.uris")
        ]
    if name not in MAY_MAKE_THREADS:
        found += [f"makes threads: {each}" for each in dict.fromkeys(makes_threads(tree))]
    if name.split(".")[0] != "jumpseat":
        return found + _client_imports(name, imports)
    layer = _layer(name)
    if layer not in (*ORDER, *ABOVE_ALL, ""):
        return [*found, f"belongs to {layer}, which has no place in the order"]
    if layer in ORDER:
        found += _arrows_that_go_up(layer, imports)
        found += _method_names(name, tree, source) if layer != "rpc" else []
    if layer == "adapters":
        found += _other_adapters(name, imports)
    if layer not in AT_THE_EDGE:
        reads = dict.fromkeys(reads_of_the_process(tree))
        found += [f"reads the process: {each}" for each in reads if (name, each) not in EXCEPTIONS]
    return [*found, *faults_of_package(layer, tree, imports)]


def _layer(name: str) -> str:
    return f"{name}..".split(".")[1]


def _is_under(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _foreign_libraries(name: str, imports: set[str]) -> list[str]:
    places = {
        "httpx2": "jumpseat.http",
        "click": "jumpseat_cli",
        "rich": "jumpseat_cli",
        "tomlkit": "jumpseat_cli",
        "jsonschema": "jumpseat_cli",
        "prompt_toolkit": "jumpseat_cli.repl",
    }
    return [
        f"imports {library}, which only {place} may"
        for library, place in places.items()
        if any(_is_under(each, library) for each in imports) and not _is_under(name, place)
    ]


def _client_imports(name: str, imports: set[str]) -> list[str]:
    room = _layer(name) if _is_under(name, "jumpseat_cli") else None
    if room not in (*CLI_ROOMS, "", None):
        return [f"belongs to {room}, which has no place in the order"]
    allowed = (*CLIENT_MAY_IMPORT, *CLI_ROOMS.get(room or "", ()))
    if room is not None:
        allowed += ("jumpseat.system.threads",)
    found = [
        f"imports {each} of the server"
        for each in sorted(imports)
        if _is_under(each, "jumpseat") and each != "jumpseat" and not any(_is_under(each, a) for a in allowed)
    ]
    order = list(CLI_ROOMS)
    lower = order[: order.index(room) + (room != "commands")] if room else []
    return found + [
        f"imports {each}, which is not below {room or name}"
        for each in sorted(imports)
        if _is_under(each, "jumpseat_cli") and _layer(each) not in lower
    ]


def _arrows_that_go_up(layer: str, imports: set[str]) -> list[str]:
    lower = ORDER[: ORDER.index(layer)]
    allowed = (*lower, layer, "__version__", "")
    reached = {each for each in imports if _is_under(each, "jumpseat") and _layer(each) not in allowed}
    reached |= {each for each in imports if each.startswith(("jumpseat_cli", "jumpseat_client"))}
    found = [f"imports {each}, which is above {layer}" for each in sorted(reached)]
    if layer in INDEPENDENT:
        found += [
            f"imports {each}, but {layer} is independent" for each in sorted(imports) if _layer(each) in lower
        ]
    return found


def _other_adapters(name: str, imports: set[str]) -> list[str]:
    own = _folder(name)
    allowed = {own, *SHARED_BY_ADAPTERS} if own not in SHARED_BY_ADAPTERS else {own, "base"}
    reached = {_folder(each) for each in imports if _is_under(each, "jumpseat.adapters")} - {""}
    found = [f"imports the adapter {folder}" for folder in sorted(reached - allowed)]
    if own == "github":
        leaf = _folder(name, 3)
        reached = {_folder(each, 3) for each in imports if _is_under(each, "jumpseat.adapters.github")}
        found += [f"imports the adapter {each}" for each in LEAVES_OF_GITHUB if each in reached - {leaf}]
    return found


def _folder(name: str, depth: int = 2) -> str:
    return f"{name}....".split(".")[depth]


def _method_names(name: str, tree: ast.Module, source: str) -> list[str]:
    spoken = {"wire": BASE_PROTOCOL}.get(_layer(name), frozenset())
    if _is_under(name, CLIENT_OF_A_LANGUAGE_SERVER):
        spoken = LSP
    constants = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    return [
        f"knows the method {method}"
        for method in METHODS
        if method in constants or ("/" in method and method in source)
        if method not in spoken
    ]


def imports_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """The modules that each module imports."""
    return {
        name: {
            each if each in sources else each.rpartition(".")[0] for each in imported(name, ast.parse(source))
        }
        for name, source in sources.items()
    }


def classes_of_one_name(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Public classes that share their name with another, with the modules that define them."""
    places: dict[str, list[str]] = {}
    for module, source in sources.items():
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}


@pytest.mark.parametrize(("name", "source"), [pytest.param(*each, id=each[0]) for each in modules()])
def test_a_module_keeps_the_rules(name: str, source: str) -> None:
    assert faults(name, source) == []


def test_no_modules_import_each_other_in_a_cycle() -> None:
    assert find_cycle(imports_of(dict(modules()))) == []


def test_the_three_packages_do_not_import_each_other_in_a_cycle() -> None:
    imports: dict[str, set[str]] = {package: set() for package in SOURCES}
    for name, source in modules():
        reached = imported(name, ast.parse(source))
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


def test_no_two_public_classes_share_a_name() -> None:
    assert classes_of_one_name(dict(modules())) == {}


def test_two_public_classes_of_one_name_are_found() -> None:
    sources = {
        "jumpseat.chat.a": "class Turn: ...\nclass _Turn: ...",
        "jumpseat.rpc.b": "if True:\n    class Turn: ...\nclass _Turn: ...",
        "jumpseat_client.c": "class Other: ...",
    }

    assert classes_of_one_name(sources) == {"Turn": ["jumpseat.chat.a", "jumpseat.rpc.b"]}


def test_every_package_of_the_server_is_checked() -> None:
    seen = {_layer(name) for name, _ in modules() if name.startswith("jumpseat.")}

    assert seen - set(ABOVE_ALL) == set(ORDER)


def test_every_part_of_the_command_line_needs_what_it_may_import() -> None:
    used: dict[str, set[str]] = {room: set() for room in CLI_ROOMS}
    for name, source in modules():
        if name.startswith("jumpseat_cli."):
            used[_layer(name)] |= imported(name, ast.parse(source))
    unused = [
        (room, each)
        for room, allowed in CLI_ROOMS.items()
        for each in allowed
        if not any(_is_under(reached, each) for reached in used[room])
    ]

    assert unused == []


@pytest.mark.parametrize(
    ("name", "source", "fault"),
    [
        ("jumpseat.chat.blocks", "from jumpseat.config import Config", "above chat"),
        ("jumpseat.chat.blocks", "from ..config import Config", "above chat"),
        ("jumpseat.engine.turn", "def f():\n    import jumpseat.rpc.faults", "above engine"),
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
        ("jumpseat.rpc.session", "from pygls.server import JsonRPCServer", "of pygls"),
        ("jumpseat_cli.chat.answering", "from prompt_toolkit import prompt", "imports prompt_toolkit"),
        ("jumpseat_client.client", "import click", "imports click"),
        ("jumpseat_client.client", "import jumpseat_cli", "imports jumpseat_cli"),
        ("jumpseat_cli.shelf.stuff", "", "no place in the order"),
        ("jumpseat_cli.daemon.session", "from jumpseat_cli.chat.usage import usage_line", "not below daemon"),
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
        ("jumpseat.rpc.faults", "from jumpseat.wire import write_json\nimport jumpseat"),
        ("jumpseat.adapters.local.adapter", "from jumpseat.adapters.base import Adapter"),
        ("jumpseat.adapters.local.adapter", "from jumpseat.adapters.local.model import find"),
        ("jumpseat.adapters.openai.adapter", "from jumpseat.adapters.http.models import read_models"),
        ("jumpseat.adapters.github.language_server.server", "LAST = 'shutdown'"),
        ("jumpseat.http.client", "import httpx2"),
        ("jumpseat.http.failures", "HEADERS = ('x-github-request-id',)"),
        ("jumpseat.providers.registry", "from jumpseat.http import HttpClient"),
        ("jumpseat_client.client", "from jumpseat import __version__\nfrom jumpseat.wire import Peer"),
        ("jumpseat_client.process", "from jumpseat.system.child import Child"),
        ("jumpseat_cli.commands.daemon", "import click\nfrom jumpseat.rpc.flags import parser_of"),
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
def test_code_below_the_edge_does_not_read_the_process(source: str, read: str) -> None:
    assert f"reads the process: {read}" in faults("jumpseat.config.new", source)
    assert f"reads the process: {read}" not in faults("jumpseat.rpc.new", source)


def test_every_exception_to_that_rule_is_needed() -> None:
    reads = {(name, each) for name, source in modules() for each in reads_of_the_process(ast.parse(source))}
    assert EXCEPTIONS.keys() <= reads


def test_every_module_that_may_make_threads_does() -> None:
    assert {name for name, source in modules() if any(makes_threads(ast.parse(source)))} == set(
        MAY_MAKE_THREADS
    )
