"""The contract that every tool server must pass.

To test a plug-in, subclass `ToolServerContract`:

    class TestShed(ToolServerContract):
        calls = {"dig": {"depth": 2}}  # Calls that succeed.
        endless_call = ("wait", {})  # A call that is cancelled.

        def make_server(self, environment: Environment) -> ToolServer:
            return Shed(environment)
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from jumpseat.chat import TextBlock
from jumpseat.system.environment import Environment, environment_of_process
from jumpseat.testing.laws import check
from jumpseat.testing.stage import TIDY_SECONDS, run_as_test
from jumpseat.tools.server import CallContext, Tool, ToolCall, ToolError, ToolOutput, ToolServer
from jumpseat.tools.workspace import Workspace
from jumpseat.wire import write_json

CONVERSATIONS = 20
"""The number of conversations in which all sample calls run at the same time."""


class ToolServerContract:
    """The base class of a tool server's tests. pytest collects the checks from a subclass named `Test…`.

    Only `make_server` is required; checks that need a missing hook are skipped with the reason.
    """

    calls: ClassVar[Mapping[str, Mapping[str, Any]]] = {}
    """Arguments with which the server's tools succeed, by the name of the tool."""

    endless_call: ClassVar[tuple[str, Mapping[str, Any]] | None] = None
    """The tool and arguments of a call that runs until it is cancelled."""

    folders: ClassVar[Sequence[Path]] = ()
    """The workspace folders of the calls."""

    def make_server(self, environment: Environment) -> ToolServer:
        """Return a new server.

        Args:
            environment: the client's environment.
        """
        raise NotImplementedError(f"{type(self).__name__} must define make_server(environment).")

    @asynccontextmanager
    async def open_server(self) -> AsyncIterator[ToolServer]:
        """Yield a server, and close it at the end."""
        server = self.make_server(environment_of_process())
        try:
            yield server
        finally:
            await server.aclose()

    def make_call(self, tool: str, arguments: Mapping[str, Any], conversation: str = "c") -> ToolCall:
        """Return a call, as the daemon makes it."""
        context = CallContext(environment_of_process(), Workspace(self.folders), conversation)
        return ToolCall(tool, arguments, context)

    @run_as_test
    async def test_every_tool_can_be_offered_to_a_model(self) -> None:
        """Check names, descriptions and schemas."""
        async with self.open_server() as server:
            tools = await server.list_tools()
            check(bool(tools), "the server has no tools.")
            names = [tool.name for tool in tools]
            check(len(set(names)) == len(names), f"two tools have the same name: {names}.")
            for tool in tools:
                _check_tool(tool)

    @run_as_test
    async def test_the_known_tools_are_those_that_were_listed(self) -> None:
        """Check that the tools can be shown to the user without starting the server again."""
        async with self.open_server() as server:
            listed = await server.list_tools()
            check(
                list(server.known_tools) == list(listed),
                "known_tools differs from the tools that list_tools has returned.",
            )

    @run_as_test
    async def test_the_sample_calls_succeed(self) -> None:
        """Preview and run each of `calls`."""
        self._need_calls()
        async with self.open_server() as server:
            await server.list_tools()
            for tool, arguments in self.calls.items():
                call = self.make_call(tool, arguments)
                preview = await server.preview(call)
                check(bool(preview.title.strip()), f"the preview of {tool} has no title.")
                output = await server.call(replace(call, approved=preview))
                _check_output(tool, output)
                check(not output.is_error, f"the call of {tool} failed: {output.content!r}")

    @run_as_test
    async def test_a_wrong_call_fails_with_a_sentence(self) -> None:
        """Call an unknown tool, then call each tool except that of `endless_call` with unknown arguments.

        A tool may ignore unknown arguments. But if a call fails, it must raise a `ToolError` with a message.
        """
        async with self.open_server() as server:
            tools = [tool.name for tool in await server.list_tools()]
            endless = {self.endless_call[0]} if self.endless_call else set()
            for tool in ("a tool that does not exist", *(each for each in tools if each not in endless)):
                await _check_wrong_call(server, self.make_call(tool, {"\u0000nobody expects this": [None]}))

    @run_as_test
    async def test_calls_run_at_the_same_time(self) -> None:
        """Run all sample calls in each of several conversations."""
        self._need_calls()
        async with self.open_server() as server:
            await server.list_tools()
            calls = [
                self.make_call(tool, arguments, f"conversation {number}")
                for number in range(CONVERSATIONS)
                for tool, arguments in self.calls.items()
            ]
            outputs = await asyncio.gather(*(_run(server, call) for call in calls))
            for call, output in zip(calls, outputs, strict=True):
                _check_output(call.tool, output)

    @run_as_test
    async def test_a_cancelled_call_ends(self) -> None:
        """Cancel `endless_call`, and check that it leaves nothing behind."""
        if self.endless_call is None:
            pytest.skip("this contract has no `endless_call`")
        async with self.open_server() as server:
            await server.list_tools()
            running = asyncio.create_task(_run(server, self.make_call(*self.endless_call)))
            done, _ = await asyncio.wait([running], timeout=0.05)
            check(not done, "`endless_call` ended by itself.")
            running.cancel()
            done, _ = await asyncio.wait([running], timeout=TIDY_SECONDS)
            check(bool(done), f"the cancelled call still runs after {TIDY_SECONDS:g} s.")
            check(running.cancelled(), "the cancelled call swallowed the cancellation.")

    def _need_calls(self) -> None:
        if not self.calls:
            pytest.skip("this contract has no `calls`")


async def _run(server: ToolServer, call: ToolCall) -> ToolOutput:
    """Preview a call and run it, as the daemon does if a rule allows the call."""
    return await server.call(replace(call, approved=await server.preview(call)))


def _check_tool(tool: Tool) -> None:
    check(bool(tool.name) and tool.name.isprintable(), f"{tool.name!r} is not a name.")
    check(bool(tool.description.strip()), f"{tool.name} has no description, so no model can use it well.")
    write_json(tool.parameters)
    kind = tool.parameters.get("type")
    check(kind == "object", f"the schema of {tool.name} is of the type {kind!r}, not object.")


def _check_output(tool: str, output: ToolOutput) -> None:
    check(isinstance(output, ToolOutput), f"{tool} returned {output!r}, which is not a ToolOutput.")
    parts = output.content
    if not isinstance(parts, str):
        check(bool(parts), f"the output of {tool} has no parts.")
        is_text = all(isinstance(part, TextBlock) for part in parts)
        check(not is_text, f"the output of {tool} consists of text only; return a string.")


async def _check_wrong_call(server: ToolServer, call: ToolCall) -> None:
    try:
        output = await _run(server, call)
    except ToolError as error:
        check(bool(str(error).strip()), f"the error of {call.tool} has no message.")
    except Exception as error:
        raise AssertionError(
            f"{call.tool} fails with {type(error).__name__}, which is not a ToolError: {error}"
        ) from error
    else:
        _check_output(call.tool, output)
