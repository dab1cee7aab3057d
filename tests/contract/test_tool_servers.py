"""The servers of tools pass the contract suite of jumpseat.testing."""

from __future__ import annotations

from typing import ClassVar

import pytest

from jumpseat.system.environment import Environment
from jumpseat.testing import ToolServerContract
from jumpseat.tools.server import ToolServer
from tests.fakes import tool_plugin

pytestmark = pytest.mark.requirement("adapters:tool-server-suite")


class TestPlugin(ToolServerContract):
    """The plug-in of the protocol tests."""

    calls: ClassVar = {"echo": {"text": "hello"}}
    endless_call = ("wait", {})

    def make_server(self, environment: Environment) -> ToolServer:
        return tool_plugin.create(environment)
