"""The lean import of lsprotocol, in fresh interpreters: which classes it builds, and when it is not used."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version

from jumpseat.connections.lean_lsprotocol import BUILT, TRIED_VERSION


def run(code: str) -> str:
    """Run code in a new interpreter, and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    return done.stdout.strip()


def test_the_installed_version_is_the_one_that_was_tried() -> None:
    """With another lsprotocol, the daemon works but starts slower. Try it, then update TRIED_VERSION."""
    assert version("lsprotocol") == TRIED_VERSION


def test_only_the_error_classes_are_built_and_attrs_is_restored() -> None:
    output = run(
        "import attrs; before = attrs.define, attrs.field\n"
        "from jumpseat.connections.lean_lsprotocol import import_lean\n"
        "assert import_lean() and (attrs.define, attrs.field) == before\n"
        "from lsprotocol import types\n"
        "built = [n for n, c in vars(types).items() if isinstance(c, type) and attrs.has(c)]\n"
        "print(sorted(built), types.ResponseError(code=1, message='no').message, types.CANCEL_REQUEST)\n"
    )
    assert output == f"{sorted(BUILT)} no $/cancelRequest"


def test_pygls_dispatches_with_the_lean_import() -> None:
    output = run(
        "from jumpseat.connections.lean_lsprotocol import import_lean; import_lean()\n"
        "from jumpseat.connections.dispatcher import Dispatcher\n"
        "from jumpseat.connections.method import MethodCall, Method\n"
        "from jumpseat.connections.param_model import NoParams\n"
        "answers = []\n"
        "methods = [Method('add', lambda session, call: 1 + 1)]\n"
        "dispatcher = Dispatcher(None, methods, lambda key, outcome: answers.append((key, outcome.result)))\n"
        "dispatcher.run_request(7, 'add', MethodCall(NoParams(), 7))\n"
        "print(answers)\n"
    )
    assert output == "[(7, 2)]"


def test_another_version_is_imported_whole() -> None:
    output = run(
        "import attrs\n"
        "from jumpseat.connections import lean_lsprotocol\n"
        "lean_lsprotocol.TRIED_VERSION = '0'\n"
        "print(lean_lsprotocol.import_lean())\n"
        "from lsprotocol import types\n"
        "print(attrs.has(types.InitializeParams))\n"
    )
    assert output.split() == ["False", "True"]


def test_a_module_that_is_already_imported_is_unchanged() -> None:
    output = run(
        "from lsprotocol import types\n"
        "from jumpseat.connections.lean_lsprotocol import import_lean\n"
        "print(import_lean(), types.Position(1, 2).line)\n"
    )
    assert output == "False 1"
