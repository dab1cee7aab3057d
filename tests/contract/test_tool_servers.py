"""The tool servers pass the contract suite of jumpseat.testing."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import pytest

from jumpseat.system.environment import Environment
from jumpseat.testing import ToolServerContract
from jumpseat.tools.files.server import FileTools
from jumpseat.tools.server import ToolServer
from tests.fakes import tool_plugin

pytestmark = pytest.mark.requirement("adapters:tool-server-suite")


class TestFiles(ToolServerContract):
    """The file tools, in this checkout."""

    folders = (Path(__file__).parents[2],)
    calls: ClassVar = {
        "read": {"path": "pyproject.toml", "endLine": 3},
        "list": {"path": "tests/contract"},
        "search": {"path": "tests/contract", "pattern": "ToolServerContract"},
    }

    def make_server(self, environment: Environment) -> ToolServer:
        return FileTools(environment, environment.places.config_file)


class TestPlugin(ToolServerContract):
    """The plug-in of the protocol tests."""

    calls: ClassVar = {"echo": {"text": "hello"}}
    endless_call = ("wait", {})

    def make_server(self, environment: Environment) -> ToolServer:
        return tool_plugin.create(environment)
