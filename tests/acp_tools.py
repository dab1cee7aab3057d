"""Scripts tool calls in sessions of the Agent Client Protocol, and answers the agent's requests."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.acp import AcpAgent, AcpExchange, script_answers, sent_messages

Json = dict[str, Any]
Answer = Callable[[Json], Any]
"""A function that returns the client's result for a request of the agent."""

REFUSED, SILENT = object(), object()
"""Values that an `Answer` returns to respond with an error, or not to respond at all."""


def call(name: str, call_id: str = "c1", **arguments: Any) -> FakeCall:
    """Return a tool call of the model."""
    return FakeCall(call_id, name, [json.dumps(arguments)])


def script_calls(upstream: FakeUpstream, *rounds: FakeCall) -> None:
    """Script the answers of the model in a turn: one with each call, then one with text."""
    for each in rounds:
        upstream.script(Reply.events(completion_stream(tool_calls=[each])), path="/v1/chat/completions")
    script_answers(upstream, "Done.")


def call_to_write(text: str = "1\n", path: str = "new.txt", call_id: str = "c1") -> FakeCall:
    """Return a call that creates a file, which needs an approval."""
    return call("files__write", call_id, path=path, text=text)


def choose(option: str) -> Answer:
    """Return a function that answers for a user who always chooses this option."""
    return lambda request: {"outcome": {"outcome": "selected", "optionId": option}}


async def serve(agent: AcpAgent, prompt: int, answer: Answer) -> tuple[AcpExchange, list[Json]]:
    """Answer the agent's requests until a prompt ends. Return the exchange of the prompt, and the requests.

    Args:
        agent: the agent.
        prompt: the id of the prompt's request.
        answer: returns the result for a request, `REFUSED` or `SILENT`.
    """
    requests: list[Json] = []
    messages: list[Json] = []
    while "method" in (message := await agent.read()):
        messages.append(message)
        if "id" in message:
            requests.append(message)
            result = answer(message)
            if result is REFUSED:
                error = {"code": -32601, "message": "unknown"}
                agent.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            elif result is not SILENT:
                agent.answer(message, result)
    assert message["id"] == prompt, message
    return AcpExchange(message, messages), requests


async def ask(agent: AcpAgent, session: str, answer: Answer) -> tuple[AcpExchange, list[Json]]:
    """Send a prompt, and answer the agent's requests until the prompt ends, like `serve`."""
    return await serve(agent, agent.start_prompt(session, "Go."), answer)


def states(exchange: AcpExchange) -> list[tuple[str, str]]:
    """Return the id of the call and the status in each update that has a status, in order."""
    updates = [each["params"]["update"] for each in exchange.messages if each["method"] == "session/update"]
    return [
        (update["toolCallId"], update["status"])
        for update in updates
        if update["sessionUpdate"] in ("tool_call", "tool_call_update") and "status" in update
    ]


def results(upstream: FakeUpstream) -> list[str]:
    """Return the tool results in the last chat that reached the provider."""
    return [message["content"] for message in sent_messages(upstream) if message["role"] == "tool"]


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())
