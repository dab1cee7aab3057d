"""The rules for which modules a Python module may import and which protocol methods it may mention.

Also the functions that find these imports and methods.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Mapping
from pathlib import Path

from jumpseat.acp.contract import ACP_METHODS
from jumpseat.rpc.methods import METHODS
from tests.unit.package_rules import SPEAKS_MCP, faults_of_package
from tests.unit.process_rules import AT_THE_EDGE, EXCEPTIONS, reads_of_the_process
from tests.unit.syntax import nodes, parse
from tests.unit.thread_rules import MAY_MAKE_THREADS, find_thread_makers

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
    "context",
    "tools",
    "engine",
    "connections",
    "rpc",
    "acp",
    "hub",
)
"""Every package of the server, lowest first. A package may import only itself and earlier packages."""

SIBLINGS = {"rpc", "acp"}
"""The two front ends. Neither imports the other."""

INDEPENDENT = ("chat", "system")
"""These packages import no other package of the server, not even a lower one."""

ABOVE_ALL = ("__main__", "testing")
MAX_MODULE_LINES = 400
SHARED_BY_ADAPTERS = ("base", "http")
"""The folders of `adapters/` that every adapter may import. `http` may import `base`, but not the reverse."""

LEAVES_OF_GITHUB = ("copilot", "language_server")
"""Two folders below `adapters/github/`. Both may import the modules beside them, but not each other."""

CLIENT_OF_A_LANGUAGE_SERVER = "jumpseat.adapters.github.language_server"
"""This package is a client of a language server, so it may mention methods that editors call."""

BASE_PROTOCOL = frozenset(method for method in METHODS if method.startswith("$/"))
"""The methods of LSP's base protocol, which any module that implements this protocol may mention."""

METHODS_OF_MCP = frozenset({"initialize", "tools/list"})
"""Methods that have the same name in the Model Context Protocol and in our protocol."""

LSP = BASE_PROTOCOL | {"initialize", "initialized", "shutdown", "exit", "workspace/didChangeConfiguration"}
USES_PRIVATE_NAMES_OF_PYGLS = "jumpseat.connections.dispatcher"
"""The only module that may import more of pygls than `pygls.uris`. It also uses private names of pygls."""

CLIENT_MAY_IMPORT = (
    "jumpseat.wire",
    "jumpseat.system.child",
    "jumpseat.system.threads",
    "jumpseat.__version__",
)
CLI_PARTS = {
    "terminal": ("jumpseat.tools.display",),
    "files": ("jumpseat.system.replacing",),
    "configuration": (
        "jumpseat.adapters.local.install",
        "jumpseat.adapters.local.model",
        "jumpseat.chat",
        "jumpseat.config.editing",
        "jumpseat.config.redaction",
        "jumpseat.config.sources",
        "jumpseat.config.stored_keys",
        "jumpseat.providers.checkup",
        "jumpseat.providers.keys",
        "jumpseat.providers.services",
        "jumpseat.system.environment",
        "jumpseat.system.secrets",
    ),
    "daemon": (),
    "chat": ("jumpseat.tools.selectors",),
    "repl": ("jumpseat.system.paths", "jumpseat.system.replacing", "jumpseat.tools.selectors"),
    "doctor": (
        "jumpseat.chat",
        "jumpseat.config.editing",
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
        "jumpseat.connections.flags",
        "jumpseat.system.paths",
        "jumpseat.tools.selectors",
    ),
    "program": ("jumpseat.system.interrupts",),
    "__main__": (
        "jumpseat.connections.flags",
        "jumpseat.hub.programs",
        "jumpseat.system.interrupts",
        "jumpseat.system.paths",
    ),
}
"""The parts of the command line, lowest first, with what each may import of the server."""

_MODULE_IN_A_STRING = re.compile(r"jumpseat(_cli)?(\.\w+)+(:\w+)?")


@functools.cache
def modules() -> Mapping[str, str]:
    """Return the texts of all modules of the three packages, by their dotted names."""
    found = {}
    for package, directory in SOURCES.items():
        for path in sorted((directory / package).rglob("*.py")):
            parts = path.relative_to(directory).with_suffix("").parts
            found[".".join(part for part in parts if part != "__init__")] = path.read_text("utf-8")
    return found


def find_imports(name: str, tree: ast.Module) -> set[str]:
    """Return every import of a module, also inside functions. A dotted path in a string is an import too."""
    found = set()
    for node in nodes(tree):
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
    """Return a description of every rule that a module breaks."""
    tree = parse(source)
    imports = find_imports(name, tree)
    found = [f"is longer than {MAX_MODULE_LINES} lines"] if source.count("\n") > MAX_MODULE_LINES else []
    found += _foreign_libraries(name, imports)
    if name != USES_PRIVATE_NAMES_OF_PYGLS:
        found += [
            f"imports {each} of pygls"
            for each in sorted(imports)
            if is_under(each, "pygls") and not is_under(each, "pygls.uris")
        ]
    if name not in MAY_MAKE_THREADS:
        found += [f"makes threads: {each}" for each in dict.fromkeys(find_thread_makers(tree))]
    if name.split(".")[0] != "jumpseat":
        return found + _client_imports(name, imports)
    layer = layer_of(name)
    if layer not in (*ORDER, *ABOVE_ALL, ""):
        return [*found, f"belongs to {layer}, which has no place in the order"]
    if layer in ORDER:
        found += _arrows_that_go_up(layer, imports)
        found += _method_names(name, tree, source) if layer != "rpc" else []
    if layer == "adapters":
        found += _other_adapters(name, imports)
    if layer not in AT_THE_EDGE:
        reads = dict.fromkeys(reads_of_the_process(tree))
        found += [
            f"depends on the environment, directory or home of the process: {each}"
            for each in reads
            if (name, each) not in EXCEPTIONS
        ]
    return [*found, *faults_of_package(name, layer, tree, imports)]


def layer_of(name: str) -> str:
    return f"{name}..".split(".")[1]


def is_under(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _foreign_libraries(name: str, imports: set[str]) -> list[str]:
    places = {
        "httpx2": ("jumpseat.http",),
        "mcp": ("jumpseat.tools.mcp",),
        "mcp_types": ("jumpseat.tools.mcp",),
        "anyio": ("jumpseat.tools.mcp",),
        "click": ("jumpseat_cli",),
        "rich": ("jumpseat_cli",),
        "tomlkit": ("jumpseat.config.editing", "jumpseat_cli.configuration"),
        "jsonschema": ("jumpseat_cli",),
        "justhtml": ("jumpseat.context.html_program",),
        "prompt_toolkit": ("jumpseat_cli.repl",),
    }
    return [
        f"imports {library}, which only {' and '.join(allowed)} may"
        for library, allowed in places.items()
        if any(is_under(each, library) for each in imports)
        and not any(is_under(name, place) for place in allowed)
    ]


def _client_imports(name: str, imports: set[str]) -> list[str]:
    part = layer_of(name) if is_under(name, "jumpseat_cli") else None
    if part not in (*CLI_PARTS, "", None):
        return [f"belongs to {part}, which has no place in the order"]
    allowed = (*CLIENT_MAY_IMPORT, *CLI_PARTS.get(part or "", ()))
    found = [
        f"imports {each} of the server"
        for each in sorted(imports)
        if is_under(each, "jumpseat") and each != "jumpseat" and not any(is_under(each, a) for a in allowed)
    ]
    order = list(CLI_PARTS)
    # The modules of a part may import each other, except those of `commands`.
    lower = order[: order.index(part) + (part != "commands")] if part else []
    return found + [
        f"imports {each}, which is not below {part or name}"
        for each in sorted(imports)
        if is_under(each, "jumpseat_cli") and layer_of(each) not in lower
    ]


def _arrows_that_go_up(layer: str, imports: set[str]) -> list[str]:
    lower = tuple(each for each in ORDER[: ORDER.index(layer)] if {each, layer} != SIBLINGS)
    allowed = (*lower, layer, "__version__", "")
    reached = {each for each in imports if is_under(each, "jumpseat") and layer_of(each) not in allowed}
    reached |= {each for each in imports if each.startswith(("jumpseat_cli", "jumpseat_client"))}
    found = [f"imports {each}, which is above {layer}" for each in sorted(reached)]
    if layer in INDEPENDENT:
        found += [
            f"imports {each}, but {layer} is independent"
            for each in sorted(imports)
            if layer_of(each) in lower
        ]
    return found


def _other_adapters(name: str, imports: set[str]) -> list[str]:
    own = _folder(name)
    allowed = {own, *SHARED_BY_ADAPTERS} if own not in SHARED_BY_ADAPTERS else {own, "base"}
    reached = {_folder(each) for each in imports if is_under(each, "jumpseat.adapters")} - {""}
    found = [f"imports the adapter {folder}" for folder in sorted(reached - allowed)]
    if own == "github":
        leaf = _folder(name, 3)
        reached = {_folder(each, 3) for each in imports if is_under(each, "jumpseat.adapters.github")}
        found += [f"imports the adapter {each}" for each in LEAVES_OF_GITHUB if each in reached - {leaf}]
    return found


def _folder(name: str, depth: int = 2) -> str:
    return f"{name}....".split(".")[depth]


def _method_names(name: str, tree: ast.Module, source: str) -> list[str]:
    spoken = {"wire": BASE_PROTOCOL | {"$/cancel_request"}, "acp": frozenset(ACP_METHODS)}.get(
        layer_of(name), frozenset()
    )
    if is_under(name, CLIENT_OF_A_LANGUAGE_SERVER):
        spoken = LSP
    if is_under(name, SPEAKS_MCP):
        spoken = METHODS_OF_MCP
    constants = {node.value for node in nodes(tree) if isinstance(node, ast.Constant)}
    return [
        f"knows the method {method}"
        for method in {**METHODS, **ACP_METHODS}
        if method in constants or ("/" in method and method in source)
        if method not in spoken
    ]


def imports_of(sources: Mapping[str, str]) -> dict[str, set[str]]:
    """Return the modules that each module imports."""
    return {
        name: {
            each if each in sources else each.rpartition(".")[0] for each in find_imports(name, parse(source))
        }
        for name, source in sources.items()
    }


def classes_of_one_name(sources: Mapping[str, str]) -> dict[str, list[str]]:
    """Return each name that several public classes share, with the modules that define these classes."""
    places: dict[str, list[str]] = {}
    for module, source in sources.items():
        for node in nodes(parse(source)):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(module)
    return {name: modules for name, modules in places.items() if len(modules) > 1}
