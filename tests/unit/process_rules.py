"""Find code that reads the environment variables, the directory or the home of the daemon's own process.

Only the edge of the server may do that. One process serves clients that were started in different places, so
all other code reads the `jumpseat.system.environment.Environment` of a client.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from tests.unit.syntax import nodes

AT_THE_EDGE = ("connections", "rpc", "acp", "hub", "testing", "__main__", "")

_NAMES = frozenset(
    {
        "environ", "environb", "getenv", "getenvb", "getcwd", "getcwdb", "cwd", "expanduser", "expandvars",
        "abspath", "realpath", "gettempdir", "getproxies", "getproxies_environment", "proxy_bypass",
        "set_default_verify_paths", "load_default_certs", "create_default_context", "platformdirs",
        "places_of_process", "environment_of_process", "_config_file", "_state_dir", "_data_dir",
    }
)  # fmt: skip
"""Functions and values, of any library, that depend on the process."""

_WITHOUT_ARGUMENTS = frozenset({"absolute", "resolve", "home"})
"""Methods of `Path` that read the directory of the process for a relative path, or its home for `~`."""

_NEEDS: Mapping[str, str] = {
    "which": "path",
    "mkdtemp": "dir",
    "mkstemp": "dir",
    "TemporaryDirectory": "dir",
    "NamedTemporaryFile": "dir",
    "Popen": "env",
    "subprocess_exec": "env",
    "create_subprocess_exec": "env",
    "create_ssl_context": "trust_env",
    "AsyncClient": "trust_env",
}
"""Functions that read the process unless this keyword is given."""

_OF_SUBPROCESS = ("run", "call", "check_call", "check_output")

EXCEPTIONS: Mapping[tuple[str, str], str] = {
    ("jumpseat.system.paths", "environ"): "describes the process for the edge",
    ("jumpseat.system.paths", "expanduser"): "describes the process for the edge",
    ("jumpseat.system.paths", "absolute()"): "describes the process for the edge",
    ("jumpseat.system.paths", "platformdirs"): "describes the process for the edge",
    ("jumpseat.system.paths", "places_of_process"): "describes the process for the edge",
    ("jumpseat.system.paths", "_config_file"): "describes the process for the edge",
    ("jumpseat.system.paths", "_state_dir"): "describes the process for the edge",
    ("jumpseat.system.paths", "_data_dir"): "describes the process for the edge",
    ("jumpseat.system.environment", "environ"): "describes the process for the edge",
    ("jumpseat.system.environment", "cwd"): "describes the process for the edge",
    ("jumpseat.system.environment", "places_of_process"): "describes the process for the edge",
    ("jumpseat.system.environment", "environment_of_process"): "describes the process for the edge",
    ("jumpseat.adapters.base", "environment_of_process"): "passes the name on, for tests of plug-ins",
    ("jumpseat.system.child", "environ"): "the directory of Windows; clients do not share a process there",
    ("jumpseat.system.child", "run without env"): "taskkill of Windows, which needs no variable of a client",
    ("jumpseat.system.replacing", "resolve()"): "the daemon's path is absolute",
    ("jumpseat.system.state_file", "resolve()"): "the path is absolute",
    ("jumpseat.conversations.directories", "realpath"): "the path is absolute",
    ("jumpseat.context.rules", "realpath"): "the path is absolute",
    ("jumpseat.conversations.index_tables", "cwd"): "a field with the name that it has on the wire",
    ("jumpseat.conversations.rows", "cwd"): "a field with the name that it has on the wire",
    ("jumpseat.tools.files.locations", "realpath"): "the path is absolute",
    ("jumpseat.config.mcp", "cwd"): "a key of the configuration",
    ("jumpseat.tools.mcp.definition", "cwd"): "a key of the configuration",
    ("jumpseat.tools.mcp.trust", "realpath"): "the path is absolute",
    ("jumpseat.adapters.github.sign_in.editors", "resolve()"): "the path is absolute",
    ("jumpseat.adapters.local.shared_server", "resolve()"): "the path is absolute",
}
"""A module and what it reads (as `reads_of_the_process` describes it), with the reason why it may."""


def reads_of_the_process(tree: ast.Module) -> Iterator[str]:
    """Describe everything in a module that reads the process, for example `environ` or `run without env`."""
    for node in nodes(tree):
        match node:
            case ast.Attribute(attr=name) | ast.Name(id=name) if name in _NAMES:
                yield name
            case ast.FunctionDef(name=name) if name in _NAMES:
                yield name
            case ast.Import(names=names) | ast.ImportFrom(names=names):
                yield from (each.name for each in names if each.name in _NAMES)
            case ast.Call(func=function):
                yield from _of_call(node, function)
            case _:
                pass


def _of_call(call: ast.Call, function: ast.expr) -> Iterator[str]:
    name = getattr(function, "attr", None) or getattr(function, "id", "")
    given = {keyword.arg for keyword in call.keywords}
    if name in _WITHOUT_ARGUMENTS and isinstance(function, ast.Attribute) and not call.args and not given:
        yield f"{name}()"
    needed = _NEEDS.get(name)
    if isinstance(function, ast.Attribute) and ast.unparse(function.value) == "subprocess":
        needed = "env" if name in (*_OF_SUBPROCESS, "Popen") else None
    # `environment.which` searches the client's own path.
    is_of_the_client = ast.unparse(function) in ("environment.which", "config.origin.environment.which")
    if needed is not None and needed not in given and not is_of_the_client:
        yield f"{name} without {needed}"
    if "env" in given and name == "start" and "directory" not in given:
        yield "start without directory"
