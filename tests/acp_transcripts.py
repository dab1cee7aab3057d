"""Replays what editors sent to an agent of the Agent Client Protocol.

A transcript is a text file. The first character of each line says what the line is:

    #  a comment that names the source
    >  a message that the client sends; `{session}`, `{kept}` and `{directory}` stand for values of the run
    <  a message that the agent must have sent before the client sends its next one
    =  the words `new process`: the client ends the agent's process and starts another one

A message of the agent is described by `result ID`, `error CODE ID`, `update VARIANT`, or `request METHOD` for
any other request or notification. The agent may send more messages than the transcript lists.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.acp import AcpAgent

TRANSCRIPTS = Path(__file__).parent / "protocol" / "acp_transcripts"


@dataclass
class Replay:
    """The replay of a transcript, with one or more processes of the agent."""

    start: Callable[[], AbstractAsyncContextManager[AcpAgent]]
    """Starts a process of the agent."""

    kept: str = ""
    """The value of `{kept}`: an earlier session, which the transcript loads."""

    on_message: Callable[[dict[str, Any]], None] = lambda message: None
    """Called with each message of the agent."""

    on_prompt: Callable[[bool], None] = lambda is_cancelled: None
    """Called before each prompt is sent; the argument says whether the client will cancel the prompt."""

    on_end: Callable[[AcpAgent], Awaitable[object]] | None = None
    """Called before the client ends a process of the agent."""

    session: str = ""
    """The value of `{session}`: the last session that the agent began."""

    received: list[dict[str, Any]] = field(default_factory=list)
    """The messages of the agent that no line of the transcript has required so far."""

    async def run(self, name: str) -> None:
        """Replay a transcript. Fail if the agent does not send a message that the transcript lists."""
        lines = (TRANSCRIPTS / f"{name}.txt").read_text("utf-8").splitlines()
        steps = [line for line in lines if not line.startswith("#")]
        while steps:
            end = steps.index("= new process") if "= new process" in steps else len(steps)
            async with self.start() as agent:
                await self._run_process(agent, steps[:end])
                if self.on_end is not None:
                    await self.on_end(agent)
                assert await agent.exit_code() == 0
            steps = steps[end + 1 :]

    async def _run_process(self, agent: AcpAgent, steps: Sequence[str]) -> None:
        for number, step in enumerate(steps):
            kind, text = step[0], step[2:]
            if kind == "<":
                await self._expect(agent, text)
                continue
            assert kind == ">", step
            values = {"session": self.session, "kept": self.kept, "directory": str(agent.directory)}
            for name, value in values.items():
                text = text.replace(f"{{{name}}}", value)
            message = json.loads(text)
            if message.get("method") == "session/prompt":
                self.on_prompt(_is_cancelled(message["id"], steps[number + 1 :]))
            if "method" in message and "id" in message:
                agent.methods[message["id"]] = message["method"]
            agent.send_bytes(text.encode() + b"\n")

    async def _expect(self, agent: AcpAgent, what: str) -> None:
        """Take the message with this description out of `received`. Read more messages until it is there."""
        while True:
            found = next((each for each in self.received if _describe(each) == what), None)
            if found is not None:
                self.received.remove(found)
                return
            message = await agent.read()
            described = _describe(message)
            assert not described.startswith("error") or described == what, message
            self.on_message(message)
            result = message.get("result")
            if isinstance(result, dict) and "sessionId" in result:
                self.session = result["sessionId"]
            self.received.append(message)


def _describe(message: dict[str, Any]) -> str:
    """Return the description of a message that a line of a transcript contains."""
    if message.get("method") == "session/update":
        return f"update {message['params']['update']['sessionUpdate']}"
    if "method" in message:
        return f"request {message['method']}"
    if "error" in message:
        return f"error {message['error']['code']} {message['id']}"
    return f"result {message['id']}"


def _is_cancelled(request_id: Any, steps: Sequence[str]) -> bool:
    """Whether the client cancels a prompt before its result."""
    for step in steps:
        if step == f"< result {request_id}":
            return False
        if step.startswith(">") and json.loads(step[2:]).get("method") == "session/cancel":
            return True
    return False
