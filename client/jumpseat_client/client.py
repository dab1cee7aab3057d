"""The asyncio client. Each chat sends every message of its conversation."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self

from jumpseat.wire import RequestId
from jumpseat_client.connection import DaemonConnection, OnNotification, OnProgress, OnRequest
from jumpseat_client.requests import Requests
from jumpseat_client.stream import ChatStream

START_TIMEOUT = 30.0
"""Seconds for the daemon to start and answer `initialize`; it needs several if the disk cache is cold."""

REQUEST_TIMEOUT = 120.0
"""Seconds for the result of a request other than a chat; to list models, the daemon sends requests itself."""

PROTOCOL_VERSION = 1


def default_command(*, shared: bool = False) -> list[str]:
    """Return the command line of this installation's daemon, or of the one that all clients share."""
    # Without -P, a `socket.py` in the working directory would replace Python's.
    return [sys.executable, "-P", "-m", "jumpseat", "attach" if shared else "serve"]


def _check_types(command: Any, env: Any, config: Any) -> None:
    if command is not None and (
        isinstance(command, str | bytes)
        or not isinstance(command, Sequence)
        or not command
        or not all(isinstance(part, str | os.PathLike) for part in command)
    ):
        raise TypeError(
            "command must be a list of the program and its arguments, "
            f'such as ["jumpseat", "serve"], not {command!r}'
        )
    for name, value in (("env", env), ("config", config)):
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a mapping such as a dict, not {value!r}")


class Client(Requests):
    """A daemon, or a session of the shared one, that lasts as long as the `async with` block."""

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None,
        options: Mapping[str, Any],
        client_name: str,
        on_notification: OnNotification | None,
        on_request: OnRequest | None,
        start_timeout: float,
        timeout: float | None,
    ) -> None:
        self._command = [os.fspath(part) for part in command]
        self._env = env
        self._options = dict(options)
        self._timeout = timeout
        self._client_name = client_name
        self._start_timeout = start_timeout
        self._on_notification = on_notification
        self._on_request = on_request
        self._connection: DaemonConnection | None = None
        self.server_info: Mapping[str, Any] = {}
        """The daemon's `serverInfo`."""
        self.capabilities: Mapping[str, Any] = {}
        """`capabilities.experimental.jumpseat` from the daemon's answer to `initialize`."""

    @classmethod
    def spawn(
        cls,
        command: Sequence[str | os.PathLike[str]] | None = None,
        *,
        shared: bool = False,
        env: Mapping[str, str] | None = None,
        config: Mapping[str, Any] | None = None,
        coalesce_ms: int = 0,
        client_name: str = "jumpseat-client",
        on_notification: OnNotification | None = None,
        on_request: OnRequest | None = None,
        start_timeout: float = START_TIMEOUT,
        timeout: float | None = REQUEST_TIMEOUT,
    ) -> Client:
        """Return a client that starts or attaches to its daemon when its `async with` block is entered.

        Args:
            command: program and arguments; None for this installation's `jumpseat serve`.
            shared: use the daemon that all the user's clients share (`jumpseat attach`); not with `command`.
            env: the daemon's whole environment; None to inherit this process's environment.
            config: merged over the configuration file (`initializationOptions.config`).
            coalesce_ms: milliseconds in which a chat sends at most one delta; 0 for no delay.
            client_name: the program's name, for providers and the log.
            on_notification: called with the method and params of each notification, except deltas and
                progress.
            on_request: answers the daemon's requests; if None, they are all refused.
            start_timeout: seconds for the start and the handshake.
            timeout: seconds for the result of a request other than a chat; None for no limit.

        The block can be entered again after it was left, even if the daemon has died.
        """
        _check_types(command, env, config)
        if shared and command is not None:
            raise ValueError(
                "shared selects the default command; to share another one, pass its `attach` as the command"
            )
        options: dict[str, Any] = {"protocolVersions": [PROTOCOL_VERSION]}
        if config:
            options["config"] = dict(config)
        if coalesce_ms:
            options["coalesceMs"] = coalesce_ms
        return cls(
            default_command(shared=shared) if command is None else command,
            env=env,
            options=options,
            client_name=client_name,
            on_notification=on_notification,
            on_request=on_request,
            start_timeout=start_timeout,
            timeout=timeout,
        )

    async def __aenter__(self) -> Self:
        """
        Raises:
            StartFailed: the daemon could not be started, or did not answer in time.
            DaemonDied: it ended before it answered.
            RequestFailed: it refused, for example because of the configuration.
        """
        connection = DaemonConnection(self._on_notification, self._on_request)
        answer = await connection.open(
            self._command,
            self._env,
            timeout=self._start_timeout,
            client_name=self._client_name,
            options=self._options,
        )
        self.server_info = answer.get("serverInfo", {})
        self.capabilities = answer.get("capabilities", {}).get("experimental", {}).get("jumpseat", {})
        self._connection = connection
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._open.close()

    async def request(
        self,
        method: str,
        params: Mapping[str, Any] | None = None,
        *,
        timeout: float | Literal["default"] | None = "default",
    ) -> Any:
        """Send any request and return its result.

        Args:
            timeout: seconds, or None for no limit; "default" is the `timeout` of `spawn`.

        Raises:
            RequestFailed: the daemon answered with an error.
            RequestTimeout: it did not answer in time; the request was cancelled.
            DaemonDied: it has ended.
        """
        return await self._open.request(method, params, self._timeout if timeout == "default" else timeout)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification.

        Raises:
            DaemonDied: the daemon has ended.
        """
        self._open.notify(method, params)

    def chat(
        self,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        model: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        max_tokens: int | None = None,
        max_tokens_default: Literal["model"] | None = None,
        stop_sequences: Sequence[str] | None = None,
        stream: bool = True,
        output_mode: str | Mapping[str, Any] | None = None,
        thinking: Literal["off", "minimal", "low", "medium", "high", "max"] | None = None,
        settings: Mapping[str, Any] | None = None,
        turn_id: str | None = None,
        conversation_id: str | None = None,
        keep: bool = False,
        initiator: Literal["user", "agent"] | None = None,
        workspace_rules: bool = False,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
    ) -> ChatStream:
        """Return one turn of a conversation; use `async for delta in client.chat("Why?")`, or `.response()`.

        Args:
            messages: a question, or the whole conversation in wire form, oldest message first.
            stream: False for a chat without deltas.
            keep: keep the turn in the user's store. The result's `conversationId` names the conversation,
                which `get_conversation` returns.
            workspace_rules: add the text of `AGENTS.md`, `CLAUDE.md` and `.github/copilot-instructions.md` in
                the working directory to the system prompt. Somebody else may have written them.
            on_progress: called with a sentence, and a percentage or None, while the turn waits for
                something other than the answer, such as a model that is being loaded.
            timeout: seconds for the whole turn; a longer one is cancelled and raises `RequestTimeout`.
            model, system, tools, tool_choice, max_tokens, max_tokens_default, stop_sequences, output_mode,
                thinking, settings, turn_id, conversation_id, initiator: see section 2 of the protocol page.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        params: dict[str, Any] = {
            "messages": list(messages),
            "model": model,
            "system": system,
            "tools": tools,
            "toolChoice": tool_choice,
            "maxTokens": max_tokens,
            "maxTokensDefault": max_tokens_default,
            "stopSequences": stop_sequences,
            "stream": None if stream else False,
            "outputMode": output_mode,
            "thinking": thinking,
            "settings": settings,
            "turnId": turn_id,
            "conversationId": conversation_id,
            "keep": keep or None,
            "initiator": initiator,
            "workspaceRules": workspace_rules or None,
        }
        return self._turn("chat/start", params, on_progress, timeout)

    def edit(
        self,
        /,
        target: str | Mapping[str, Any],
        instruction: str,
        *,
        model: str | None = None,
        system: str | None = None,
        max_tokens: int | None = None,
        stream: bool = True,
        turn_id: str | None = None,
        workspace_rules: bool = False,
        on_progress: OnProgress | None = None,
        timeout: float | None = None,
        **more: Any,
    ) -> ChatStream:
        """Rewrite a piece of text: `(await client.edit(code, "Add types").response()).replacement`.

        Args:
            target: the text, or a context block, which can also name the file, the language and the range.
            instruction: how to rewrite it.
            model, system, max_tokens, stream, turn_id, workspace_rules, on_progress, timeout: as for `chat`.
            more: any other param of `edit/start`, under its wire name.
        """
        block = {"text": target} if isinstance(target, str) else target
        params: dict[str, Any] = {
            "target": {"type": "context", **block},
            "instruction": instruction,
            "model": model,
            "system": system,
            "maxTokens": max_tokens,
            "stream": None if stream else False,
            "turnId": turn_id,
            "workspaceRules": workspace_rules or None,
            **more,
        }
        return self._turn("edit/start", params, on_progress, timeout)

    def _turn(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None, timeout: float | None
    ) -> ChatStream:
        present = {key: value for key, value in params.items() if value is not None}
        connection = self._open

        def start(chat: ChatStream) -> tuple[RequestId, asyncio.Future[Any]]:
            return connection.start_turn(method, chat, present, on_progress)

        return ChatStream(start, connection.cancel, connection.to_client_error, timeout)

    @property
    def _open(self) -> DaemonConnection:
        if self._connection is None:
            raise RuntimeError("the client is used outside its block")
        return self._connection
