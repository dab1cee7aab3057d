"""The asyncio client. Each chat sends its whole conversation."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from jumpseat.wire import RequestId
from jumpseat_client.connection import DaemonConnection, OnNotification, OnProgress, OnRequest
from jumpseat_client.requests import Requests
from jumpseat_client.stream import ChatStream

if TYPE_CHECKING:
    from jumpseat_client.approvals import ApprovalTasks
    from jumpseat_client.tools import OnApproval

START_TIMEOUT = 30.0
"""Seconds for the daemon to start and answer `initialize`. The start is slow if the disk cache is cold."""

REQUEST_TIMEOUT = 120.0
"""Seconds for the result of a request other than a chat. The daemon may have to query providers first."""

PROTOCOL_VERSION = 1


def default_command(*, shared: bool = False) -> list[str]:
    """Return this installation's command line for `serve`, or for `attach` if `shared` is true."""
    # Without -P, a `socket.py` in the working directory would shadow the standard library's module.
    return [sys.executable, "-P", "-m", "jumpseat", "attach" if shared else "serve"]


def _check_types(command: Any, **mappings: Any) -> None:
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
    for name, value in mappings.items():
        if value is not None and not isinstance(value, Mapping):
            raise TypeError(f"{name} must be a mapping such as a dict, not {value!r}")


def _merge(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of `base` with `more` merged into it; nested mappings are merged too."""
    merged = dict(base)
    for key, value in more.items():
        is_nested = isinstance(value, Mapping) and isinstance(merged.get(key), Mapping)
        merged[key] = _merge(merged[key], value) if is_nested else value
    return merged


def _to_folder(folder: str | os.PathLike[str]) -> str:
    """Return a `file:` URI unchanged, and a path as an absolute path."""
    name = os.fspath(folder)
    return name if name.startswith("file:") else str(Path(name).absolute())


def _to_uri(folder: str | os.PathLike[str]) -> str:
    """Return the `file:` URI of a directory, which may be given as a path or as a URI."""
    name = _to_folder(folder)
    return name if name.startswith("file:") else Path(name).as_uri()


class Client(Requests):
    """A client that has its own daemon or uses the shared one. It is open within an `async with` block."""

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        *,
        env: Mapping[str, str] | None,
        options: Mapping[str, Any],
        client_name: str,
        capabilities: Mapping[str, Any],
        workspace_folders: Sequence[str],
        on_notification: OnNotification | None,
        on_request: OnRequest | None,
        on_approval: OnApproval | None,
        start_timeout: float,
        timeout: float | None,
    ) -> None:
        self._command = [os.fspath(part) for part in command]
        self._env = env
        self._options = dict(options)
        self._timeout = timeout
        self._client_name = client_name
        self._start_timeout = start_timeout
        self._capabilities = capabilities
        self._workspace_folders = workspace_folders
        self._on_notification = on_notification
        self._on_request = on_request
        self._on_approval = on_approval
        self._connection: DaemonConnection | None = None
        self._asking: asyncio.Lock
        """Held while a synchronous `on_approval` runs, so that the user is asked one question at a time."""

        self.server_info: Mapping[str, Any] = {}
        """The daemon's `serverInfo`."""
        self.server_capabilities: Mapping[str, Any] = {}
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
        capabilities: Mapping[str, Any] | None = None,
        workspace_folders: Iterable[str | os.PathLike[str]] = (),
        on_notification: OnNotification | None = None,
        on_request: OnRequest | None = None,
        on_approval: OnApproval | None = None,
        start_timeout: float = START_TIMEOUT,
        timeout: float | None = REQUEST_TIMEOUT,
    ) -> Client:
        """Return a client. Entering its `async with` block starts the daemon, or attaches to the shared one.

        Args:
            command: program and arguments; None for this installation's `jumpseat serve`.
            shared: use the daemon that all the user's clients share (`jumpseat attach`). This cannot be
                combined with `command`.
            env: the daemon's whole environment; None to inherit this process's environment.
            config: values that override the configuration file (`initializationOptions.config`).
            coalesce_ms: milliseconds in which a chat sends at most one delta; 0 for no delay.
            client_name: the program's name, for providers, kept conversations and the log.
            capabilities: further capabilities of the program, as in LSP's `initialize`. Requests that the
                daemon sends because of them go to `on_request`.
            workspace_folders: the directories, as paths or `file:` URIs, for chats that do not pass
                their own, and for MCP servers that run in the workspace.
            on_notification: called with the method and params of each notification, except deltas and
                progress.
            on_request: answers the daemon's requests; if None, they are all refused.
            on_approval: decides whether a call of one of the daemon's tools may run, and returns a bool or a
                `ToolDecision`. It may be an async function; any other function runs in a worker thread. If it
                raises an exception, the call is denied. If None, every call that needs a decision is denied.
            start_timeout: seconds for the start and the handshake.
            timeout: seconds for the result of a request other than a chat; None for no limit.

        After the block has ended, the client can be used in another `async with` block, even if the daemon
        has died.
        """
        _check_types(command, env=env, config=config, capabilities=capabilities)
        if shared and command is not None:
            raise ValueError(
                "shared=True cannot be combined with a command; to share the daemon of another installation, "
                'pass only the command, such as ["/path/to/jumpseat", "attach"]'
            )
        options: dict[str, Any] = {"protocolVersions": [PROTOCOL_VERSION]}
        if config:
            options["config"] = dict(config)
        if coalesce_ms:
            options["coalesceMs"] = coalesce_ms
        declared: dict[str, Any] = {"window": {"workDoneProgress": True}}
        if on_approval is not None:
            declared["experimental"] = {"jumpseat": {"approveTools": True}}
        return cls(
            default_command(shared=shared) if command is None else command,
            env=env,
            options=options,
            client_name=client_name,
            capabilities=_merge(declared, capabilities or {}),
            workspace_folders=[*map(_to_uri, workspace_folders)],
            on_notification=on_notification,
            on_request=on_request,
            on_approval=on_approval,
            start_timeout=start_timeout,
            timeout=timeout,
        )

    async def __aenter__(self) -> Self:
        """
        Raises:
            StartFailed: the daemon could not be started, or did not answer in time.
            DaemonDied: the daemon ended before it answered.
            RequestFailed: the daemon answered with an error, for example because of the configuration.
        """
        connection = DaemonConnection(self._on_notification, self._on_request)
        answer = await connection.open(
            self._command,
            self._env,
            timeout=self._start_timeout,
            client_name=self._client_name,
            capabilities=self._capabilities,
            workspace_folders=self._workspace_folders,
            options=self._options,
        )
        self.server_info = answer.get("serverInfo", {})
        self.server_capabilities = answer.get("capabilities", {}).get("experimental", {}).get("jumpseat", {})
        self._connection = connection
        self._asking = asyncio.Lock()  # A lock belongs to the event loop in which it was first used.
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._require_connection().close()

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
            RequestTimeout: the daemon did not answer in time; the request was cancelled.
            DaemonDied: the daemon has ended.
        """
        connection = self._require_connection()
        return await connection.request(method, params, self._timeout if timeout == "default" else timeout)

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        """Send any notification.

        Raises:
            DaemonDied: the daemon has ended.
        """
        self._require_connection().notify(method, params)

    def chat(
        self,
        messages: str | Sequence[Mapping[str, Any]],
        *,
        model: str | None = None,
        system: str | None = None,
        tools: Sequence[Mapping[str, Any]] | None = None,
        tool_choice: str | Mapping[str, Any] | None = None,
        daemon_tools: Sequence[str] | None = None,
        max_rounds: int | None = None,
        workspace_folders: Sequence[str | os.PathLike[str]] | None = None,
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
            daemon_tools: selectors of tools that the daemon runs, such as `files/*`. The `on_approval` of
                `spawn` decides about calls that need an approval.
            max_rounds: the most requests to the provider in the turn; can only lower the configured limit.
            workspace_folders: the directories, as paths or `file:` URIs, that the file tools may use.
            stream: False for a chat without deltas; every tool call that needs an approval is then denied.
            keep: keep the turn in the user's store. The result's `conversationId` names the conversation,
                which `get_conversation` returns.
            workspace_rules: add the text of `AGENTS.md`, `CLAUDE.md` and `.github/copilot-instructions.md` to
                the system prompt. These files, which other people may have written, are read from the first
                workspace folder or, if there is none, from the working directory.
            on_progress: called with a sentence, and a percentage or None, while the turn waits for
                something other than the answer, such as a model that is being loaded.
            timeout: seconds for the whole turn; None for no limit. A turn that takes longer is cancelled and
                raises `RequestTimeout`.
            model, system, tools, tool_choice, max_tokens, max_tokens_default, stop_sequences, output_mode,
                thinking, settings, turn_id, conversation_id, initiator: see `docs/protocol/chat.md`.
        """
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        params: dict[str, Any] = {
            "messages": list(messages),
            "model": model,
            "system": system,
            "tools": tools,
            "toolChoice": tool_choice,
            "daemonTools": None if daemon_tools is None else list(daemon_tools),
            "maxRounds": max_rounds,
            "workspaceFolders": None
            if workspace_folders is None
            else list(map(_to_folder, workspace_folders)),
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
        return self._make_stream("chat/start", params, on_progress, timeout)

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
        """Return a turn that rewrites text: `(await client.edit(code, "Add types").response()).replacement`.

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
        return self._make_stream("edit/start", params, on_progress, timeout)

    def _make_stream(
        self, method: str, params: Mapping[str, Any], on_progress: OnProgress | None, timeout: float | None
    ) -> ChatStream:
        present = {key: value for key, value in params.items() if value is not None}
        connection = self._require_connection()

        def start(chat: ChatStream) -> tuple[RequestId, asyncio.Future[Any]]:
            return connection.start_turn(method, chat, present, on_progress)

        return ChatStream(
            start, connection.cancel, connection.to_client_error, timeout, self._make_approval_tasks()
        )

    def _make_approval_tasks(self) -> ApprovalTasks | None:
        if self._on_approval is None:
            return None
        # Deferred: most programs do not use the daemon's tools.
        from jumpseat_client.approvals import ApprovalTasks

        decide = partial(self.request, "tools/decide")
        return ApprovalTasks(self._on_approval, decide, self._asking)

    def _require_connection(self) -> DaemonConnection:
        if self._connection is None:
            raise RuntimeError("the client is used outside its `async with` block")
        return self._connection
