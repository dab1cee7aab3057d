"""Check one module against the column _never_ of the package table in `server/README.md`."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from jumpseat.providers.kinds import KINDS
from tests.unit.syntax import nodes

PROVIDER_NAMES = frozenset({*KINDS, "github"})
NAMES_NO_PROVIDER = (
    "chat",
    "config",
    "http",
    "conversations",
    "context",
    "tools",
    "engine",
    "connections",
    "rpc",
    "acp",
    "hub",
)
KNOWS_NO_JSON_RPC = (
    "chat",
    "config",
    "dialects",
    "http",
    "providers",
    "conversations",
    "context",
    "tools",
    "engine",
)

_NETWORK = ("asyncio.open_connection", "http.client", "httpcore2", "socket", "ssl", "urllib.request")
_FILES = ("os", "pathlib", "shutil", "subprocess", "tempfile")

NEVER_IMPORTED: Mapping[str, tuple[str, ...]] = {
    "chat": (*_NETWORK, *_FILES, "asyncio", "threading"),
    "config": _NETWORK,
    "dialects": (*_NETWORK, *_FILES, "asyncio", "jumpseat.config", "jumpseat.system", "keyring"),
    "providers": (*_NETWORK, "jumpseat.http"),
    "conversations": (
        *_NETWORK,
        "asyncio",
        "jumpseat.adapters",
        "jumpseat.http",
        "jumpseat.providers",
        "jumpseat.wire",
    ),
    "context": (
        *_NETWORK,
        "jumpseat.adapters",
        "jumpseat.conversations",
        "jumpseat.dialects",
        "jumpseat.providers",
        "jumpseat.wire",
    ),
    "tools": (
        *_NETWORK,
        "jumpseat.adapters",
        "jumpseat.dialects",
        "jumpseat.providers",
        "jumpseat.wire",
        "lsprotocol",
        "pygls",
    ),
    "engine": (*_NETWORK, "jumpseat.http", "jumpseat.wire", "lsprotocol", "pygls"),
    "connections": (*_NETWORK, "jumpseat.http"),
    "rpc": (*_NETWORK, "jumpseat.http"),
    "acp": (*_NETWORK, "jumpseat.http"),
    "hub": ("jumpseat.adapters", "jumpseat.dialects", "jumpseat.http"),
}
"""The modules that a package must not import. The same applies to their submodules."""

BUT_FOR: Mapping[str, tuple[str, ...]] = {
    "dialects": ("jumpseat.system.lazy_package.make_lazy_getattr", "jumpseat.system.secrets.redact"),
    "providers": (
        # The registry owns the shared client and passes it to adapters. It makes no request.
        "jumpseat.http.HttpClient",
        # These functions check the values of a provider's table. They make no request.
        "jumpseat.http.is_loopback",
        "jumpseat.http.network.check_certificates",
        "jumpseat.http.network.check_proxy",
    ),
    "tools": ("jumpseat.wire.write_json",),
    "engine": ("jumpseat.wire.write_json", "os.path"),
}
"""The exceptions to `NEVER_IMPORTED`."""

SPEAKS_MCP = "jumpseat.tools.mcp"
"""A client of MCP servers. MCP uses JSON-RPC, one message per line; the SDK implements most of that."""

ONLY_FOR_MCP = ("jumpseat.wire.Invalid", "jumpseat.wire.line_child.LineChild")

_WORD = re.compile(r"[a-z]+|[A-Z][a-z]*")
_JSON_RPC = re.compile(r"json[-_ ]?rpc", re.IGNORECASE)
_HEADER_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)+-?")
"""The name of an HTTP header, which `http/` may contain even if it includes the name of a vendor."""

_NO_PROVIDERS = ("LocalProtocolError", "local variables", ".github/copilot-instructions.md")
"""Texts that contain a provider's name but mean something else: an error, Emacs variables, a file."""


def faults_of_package(name: str, layer: str, tree: ast.Module, imports: set[str]) -> Iterator[str]:
    """Describe every import and name in a module that its package must never have."""
    texts = _texts(tree)
    speaks_mcp = _is_under(name, SPEAKS_MCP)
    if speaks_mcp:
        imports = imports - {*ONLY_FOR_MCP}
    for each in sorted(imports):
        forbidden = any(_is_under(each, name) for name in NEVER_IMPORTED.get(layer, ()))
        if forbidden and each not in BUT_FOR.get(layer, ()):
            yield f"imports {each}, which {layer} never does"
    if layer == "chat" and any(isinstance(node, ast.Name) and node.id == "open" for node in nodes(tree)):
        yield "opens a file, which chat never does"
    if layer in NAMES_NO_PROVIDER:
        texts -= {*_NO_PROVIDERS}
        if layer == "http":
            texts = {text for text in texts if not _HEADER_NAME.fullmatch(text)}
        words = {word.lower() for text in texts for word in _WORD.findall(text)}
        yield from (f"names the provider {word}" for word in sorted(words & PROVIDER_NAMES))
    if layer in KNOWS_NO_JSON_RPC and not speaks_mcp and any(_JSON_RPC.search(text) for text in texts):
        yield "names JSON-RPC"


def _is_under(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def _texts(tree: ast.Module) -> set[str]:
    """Return the identifiers and strings, except docstrings and the strings that document an assignment."""
    prose = {id(node.value) for node in nodes(tree) if isinstance(node, ast.Expr)}
    texts: set[str] = set()
    for node in nodes(tree):
        match node:
            case ast.Constant(value=str(text)) if id(node) not in prose:
                texts.add(text)
            case ast.Name(id=text) | ast.Attribute(attr=text) | ast.arg(arg=text) | ast.alias(name=text):
                texts.add(text)
            case ast.FunctionDef(name=text) | ast.AsyncFunctionDef(name=text) | ast.ClassDef(name=text):
                texts.add(text)
            case ast.keyword(arg=str(text)):
                texts.add(text)
            case _:
                pass
    return texts
