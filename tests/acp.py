"""Runs `jumpseat acp` as a process and exchanges lines of JSON with it.

Every message of the process must match the schema of the Agent Client Protocol.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jsonschema
from pydantic import TypeAdapter

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import WAIT_SECONDS, Daemon, running_daemon
from tests.hub import Hub

ACP = (sys.executable, "-m", "jumpseat", "acp")

SDK = Path(__file__).parent / "tools" / "acp" / "node_modules" / "@agentclientprotocol" / "sdk"
"""The directory of the TypeScript SDK, which contains the newest schema. Exists only if it is installed."""

DEFINITIONS: Mapping[str, str] = {
    "initialize": "InitializeResponse",
    "authenticate": "AuthenticateResponse",
    "logout": "LogoutResponse",
    "session/new": "NewSessionResponse",
    "session/load": "LoadSessionResponse",
    "session/resume": "ResumeSessionResponse",
    "session/list": "ListSessionsResponse",
    "session/delete": "DeleteSessionResponse",
    "session/close": "CloseSessionResponse",
    "session/prompt": "PromptResponse",
    "session/set_config_option": "SetSessionConfigOptionResponse",
    "session/update": "SessionNotification",
    "session/request_permission": "RequestPermissionRequest",
    "fs/read_text_file": "ReadTextFileRequest",
    "fs/write_text_file": "WriteTextFileRequest",
    "elicitation/create": "CreateElicitationRequest",
    "elicitation/complete": "CompleteElicitationNotification",
    "$/cancel_request": "CancelRequestNotification",
}
"""The definition in the schema for each method.

It describes the result of a method that the client calls, and the params of a method that the agent calls.
"""

NEWER = ("notice",)
"""The variants of `session/update` that the Python SDK does not know yet."""


@functools.cache
def schema() -> dict[str, Any] | None:
    """Return the official JSON schema; None if the TypeScript SDK is not installed."""
    path = SDK / "schema" / "v1" / "schema.json"
    return json.loads(path.read_bytes()) if path.is_file() else None


@functools.cache
def validator_of(definition: str) -> Any:
    """Return the validator for a definition of the JSON schema; None if there is no schema."""
    whole = schema()
    if whole is None:
        return None
    assert definition in whole["$defs"], definition
    return jsonschema.Draft202012Validator({"$defs": whole["$defs"], "$ref": f"#/$defs/{definition}"})


def check(method: str, value: Any) -> None:
    """Fail unless the agent's result or params match the definition for this method."""
    import acp.schema  # Deferred: it takes half a second, and every test process imports this module.

    update = value.get("update") if isinstance(value, dict) else None
    if not isinstance(update, dict) or update.get("sessionUpdate") not in NEWER:
        TypeAdapter(getattr(acp.schema, DEFINITIONS[method])).validate_python(value)
    if (validator := validator_of(DEFINITIONS[method])) is not None:
        validator.validate(value)


@dataclass
class AcpExchange:
    """The response to a request, and the agent's other messages before it."""

    response: dict[str, Any]
    messages: list[dict[str, Any]]

    @property
    def result(self) -> Any:
        """The result. Fails the test with the error if there is none."""
        assert "result" in self.response, self.response
        return self.response["result"]

    @property
    def error(self) -> dict[str, Any]:
        """The error. Fails the test with the result if there is none."""
        assert "error" in self.response, self.response
        error: dict[str, Any] = self.response["error"]
        return error

    def updates(self, variant: str) -> list[dict[str, Any]]:
        """Return the updates of a variant."""
        updates = [each["params"]["update"] for each in self.messages if each["method"] == "session/update"]
        return [update for update in updates if update["sessionUpdate"] == variant]

    def text(self, variant: str = "agent_message_chunk") -> str:
        """Return the joined text of the chunks of a variant."""
        return "".join(update["content"]["text"] for update in self.updates(variant))


@dataclass
class AcpAgent:
    """A process of `jumpseat acp`."""

    daemon: Daemon
    directory: Path
    methods: dict[Any, str] = field(default_factory=dict)
    """The methods of the requests that were sent, by id."""

    _next_id: int = 0

    def send_bytes(self, data: bytes) -> None:
        self.daemon.send_bytes(data)

    def send(self, *messages: Any) -> None:
        """Write messages, each on a line, with a single write."""
        self.send_bytes(b"".join(json.dumps(message).encode() + b"\n" for message in messages))

    def start(self, method: str, params: Any) -> int:
        """Send a request and return its id."""
        self._next_id += 1
        self.methods[self._next_id] = method
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def answer(self, request: dict[str, Any], result: Any) -> None:
        """Answer a request of the agent."""
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def notify(self, method: str, params: Any) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    async def read(self) -> dict[str, Any]:
        """Read the next message, which must match the schema."""
        async with asyncio.timeout(WAIT_SECONDS):
            assert self.daemon.process.stdout is not None
            line = await self.daemon.process.stdout.readuntil(b"\n")
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        if "method" in message:
            check(message["method"], message["params"])
        elif "result" in message:
            check(self.methods[message["id"]], message["result"])
        elif (validator := validator_of("Error")) is not None:
            validator.validate(message["error"])
        return message

    async def read_until(self, request_id: int | None) -> AcpExchange:
        """Read up to the response with this id. Fail if there is a response to another request."""
        messages = []
        while True:
            message = await self.read()
            if "method" not in message:
                assert message["id"] == request_id, message
                return AcpExchange(message, messages)
            messages.append(message)

    async def read_request(self, method: str) -> dict[str, Any]:
        """Read up to a request or notification of the agent with this method."""
        while (message := await self.read()).get("method") != method:
            assert "method" in message, message
        return message

    async def read_update(self, variant: str) -> dict[str, Any]:
        """Read up to an update of this variant."""
        while True:
            message = await self.read_request("session/update")
            update: dict[str, Any] = message["params"]["update"]
            if update["sessionUpdate"] == variant:
                return update

    async def request(self, method: str, params: Any) -> AcpExchange:
        """Send a request and wait for its response."""
        return await self.read_until(self.start(method, params))

    async def initialize(self, **capabilities: Any) -> Any:
        """Do the handshake and return its result."""
        params = {
            "protocolVersion": 1,
            "clientCapabilities": capabilities,
            "clientInfo": {"name": "tests", "version": "0"},
        }
        return (await self.request("initialize", params)).result

    async def new_session(self, **params: Any) -> str:
        """Begin a conversation, wait for its commands and return its id."""
        exchange = await self.request("session/new", {"cwd": str(self.directory), "mcpServers": [], **params})
        await self.read_update("available_commands_update")
        return str(exchange.result["sessionId"])

    async def reopen(self, method: str, session: str) -> AcpExchange:
        """Load or resume a conversation, and wait for its commands."""
        params = {"sessionId": session, "cwd": str(self.directory), "mcpServers": []}
        exchange = await self.request(method, params)
        await self.read_update("available_commands_update")
        return exchange

    async def set_option(self, session: str, key: str, value: Any, **more: Any) -> AcpExchange:
        """Set a config option."""
        params = {"sessionId": session, "configId": key, "value": value, **more}
        return await self.request("session/set_config_option", params)

    def start_prompt(self, session: str, *content: Any) -> int:
        """Send a prompt of texts and other content, and return the id of the request."""
        blocks = [{"type": "text", "text": each} if isinstance(each, str) else each for each in content]
        return self.start("session/prompt", {"sessionId": session, "prompt": blocks})

    async def prompt(self, session: str, *content: Any) -> AcpExchange:
        """Send a prompt and wait for its response."""
        return await self.read_until(self.start_prompt(session, *content))

    async def exit_code(self) -> int:
        """Close stdin and wait for the end of the process."""
        self.daemon.close_stdin()
        return await self.daemon.exit_code()


@contextlib.asynccontextmanager
async def running_agent(
    hub: Hub,
    directory: Path,
    *,
    config: str = "",
    env: Mapping[str, str] | None = None,
    flags: Sequence[str] = (),
) -> AsyncIterator[AcpAgent]:
    """Run `jumpseat acp` for a client in this directory.

    Args:
        hub: the shared daemon that serves the client.
        directory: the working directory of the process and of its conversations.
        config: the text of the configuration file; empty to leave the file as it is.
        env: additional environment variables.
        flags: the flags of the command.
    """
    if config:
        (hub.home / "config.toml").write_text(config)
    variables = {"HOME": str(hub.home), **(env or {})}
    async with running_daemon(hub.home, *flags, command=ACP, env=variables, cwd=directory) as daemon:
        yield AcpAgent(daemon, directory)


def option(options: list[Any], key: str) -> Any:
    """Return the config option with this id."""
    (found,) = [each for each in options if each["id"] == key]
    return found


def provider_table(base_url: str, **more: Any) -> str:
    """Return the table of the provider `fake` with the models `m` and `n`, for a configuration file."""
    lines = [
        "[providers.fake]",
        'kind = "openai"',
        f'base_url = "{base_url}"',
        'default_model = "m"',
        'models = ["m", "n"]',
        *(f"{key} = {json.dumps(value)}" for key, value in more.items()),
    ]
    return "\n".join(lines) + "\n"


def script_answers(upstream: FakeUpstream, *texts: str) -> None:
    """Script one answer of the model for each text."""
    for text in texts:
        upstream.script(Reply.events(completion_stream([text])), path="/v1/chat/completions")


def sent_messages(upstream: FakeUpstream) -> list[Any]:
    """Return the messages of the last chat that reached the provider."""
    bodies = [json.loads(each.body) for each in upstream.requests if each.method == "POST"]
    messages: list[Any] = bodies[-1]["messages"]
    return messages
