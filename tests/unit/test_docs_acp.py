"""The page about the Agent Client Protocol agrees with the agent."""

from __future__ import annotations

import json
import re

import pytest

from jumpseat.acp.commands import COMMANDS
from jumpseat.acp.handlers.auth import AGENT_METHOD
from tests.unit.pages import DOCS, Block, blocks, read

ACP = DOCS / "acp.md"


@pytest.mark.parametrize("block", blocks(ACP), ids=str)
def test_the_configuration_of_an_editor_starts_the_agent(block: Block) -> None:
    if block.language == "json":
        (agent,) = json.loads(block.text)["agent_servers"].values()
        assert [agent["command"], *agent["args"]] == ["jumpseat", "acp"]
        return
    strings = re.findall(r'"([^"]*)"', block.text)
    assert {"jumpseat", "acp"} <= set(strings)
    assert re.findall(r'auth_method = "([^"]*)"', block.text) in ([], [AGENT_METHOD])


def test_the_page_lists_every_command() -> None:
    assert re.findall(r"^\| `/(\w+)", read(ACP), re.MULTILINE) == list(COMMANDS)
