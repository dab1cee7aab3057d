"""A tool server that breaks a rule fails the contract suite, with a sentence that names the rule."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from jumpseat.chat import TextBlock
from jumpseat.system.environment import Environment
from jumpseat.testing import ToolServerContract
from jumpseat.tools.server import Preview, Tool, ToolCall, ToolError, ToolOutput, ToolServer
from tests.unit.tools.scripted_server import ScriptedServer

pytestmark = pytest.mark.requirement("adapters:tool-server-suite")

DIG = Tool(name="dig", description="Digs.", parameters={"type": "object"})


class Sound(ScriptedServer):
    """Passes the suite, unless a test changes it."""

    def __init__(self, *tools: Tool) -> None:
        super().__init__(tools=tools or (DIG,))

    async def preview(self, call: ToolCall) -> Preview:
        if call.tool not in {tool.name for tool in self.tools}:
            raise ToolError("There is no such tool.")
        return await super().preview(call)


class Untitled(Sound):
    async def preview(self, call: ToolCall) -> Preview:
        return Preview(" ")


class Forgetful(Sound):
    known_tools = ()


class Crashing(Sound):
    async def preview(self, call: ToolCall) -> Preview:
        raise KeyError(call.tool)


class Failing(Sound):
    async def call(self, call: ToolCall) -> ToolOutput:
        return ToolOutput("no", is_error=True)


class Wordy(Sound):
    async def call(self, call: ToolCall) -> ToolOutput:
        return ToolOutput((TextBlock("text"),))


class Stubborn(Sound):
    async def call(self, call: ToolCall) -> ToolOutput:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return ToolOutput("too late")
        return ToolOutput("never")


class Hasty(Sound):
    """Answers even the call that must be endless."""


class Leaky(Sound):
    async def call(self, call: ToolCall) -> ToolOutput:
        self.left = asyncio.create_task(asyncio.Event().wait())
        return ToolOutput("ok")


def contract_of(make: Callable[[], ToolServer], **hooks: Any) -> ToolServerContract:
    """Return the suite for a server."""

    class Contract(ToolServerContract):
        def make_server(self, environment: Environment) -> ToolServer:
            return make()

    contract = Contract()
    for name, value in {"calls": {"dig": {}}, **hooks}.items():
        setattr(contract, name, value)
    return contract


CHECKS = [name for name in vars(ToolServerContract) if name.startswith("test_")]


# The check that is left out needs an `endless_call`.
@pytest.mark.parametrize("check", [each for each in CHECKS if each != "test_a_cancelled_call_ends"])
def test_a_sound_server_passes(check: str) -> None:
    getattr(contract_of(Sound), check)()


@pytest.mark.parametrize(
    ("make", "check", "message"),
    [
        (
            lambda: Sound(Tool(name="a", description="", parameters={"type": "object"})),
            "offered",
            "description",
        ),
        (
            lambda: Sound(Tool(name="a", description="x", parameters={"type": "array"})),
            "offered",
            "of the type",
        ),
        (lambda: Sound(DIG, DIG), "offered", "the same name"),
        (lambda: Sound(Tool(name="a\n", description="x")), "offered", "is not a name"),
        (lambda: ScriptedServer(tools=()), "offered", "no tools"),
        (Forgetful, "known_tools", "known_tools differs"),
        (Untitled, "sample_calls", "no title"),
        (Failing, "sample_calls", "failed: 'no'"),
        (Wordy, "sample_calls", "text only"),
        (Crashing, "wrong_call", "not a ToolError"),
        (Leaky, "sample_calls", "left behind"),
    ],
)
def test_a_server_that_breaks_a_rule_fails_with_a_sentence(
    make: Callable[[], ToolServer], check: str, message: str
) -> None:
    (name,) = [each for each in CHECKS if check in each]
    with pytest.raises(AssertionError, match=message):
        getattr(contract_of(make), name)()


@pytest.mark.parametrize(
    ("make", "message"), [(Stubborn, "swallowed the cancellation"), (Hasty, "ended by itself")]
)
def test_a_call_that_cannot_be_cancelled_fails(make: Callable[[], ToolServer], message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        contract_of(make, endless_call=("dig", {})).test_a_cancelled_call_ends()
