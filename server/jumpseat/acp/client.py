"""The state of one client of the Agent Client Protocol."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from jumpseat.acp.conversation import AcpConversation
from jumpseat.chat import InvalidRequestError
from jumpseat.connections.faults import WireError
from jumpseat.connections.session import Session

AUTH_REQUIRED = -32000
RESOURCE_NOT_FOUND = -32002
_AUTHENTICATION = 1000
"""The code of an authentication error in `connections/faults.py`."""


class UnknownSessionError(Exception):
    """No open or kept conversation has this id."""


@dataclass(frozen=True, slots=True)
class ClientAbilities:
    """The optional parts of the protocol that the client supports."""

    reads_files: bool = False
    writes_files: bool = False
    booleans: bool = False
    """Whether config options may be of the type `boolean`."""

    notices: bool = False
    opens_urls: bool = False
    """Whether elicitation may ask the user to open a page."""

    terminal_sign_in: bool = False

    @classmethod
    def from_wire(cls, capabilities: Mapping[str, Any]) -> ClientAbilities:
        """Read the client's capabilities. Those that are missing, null or false count as absent."""

        def has(*path: str) -> bool:
            value: Any = capabilities
            for key in path:
                value = value.get(key) if isinstance(value, dict) else None
            return value is not None and value is not False

        return cls(
            reads_files=has("fs", "readTextFile"),
            writes_files=has("fs", "writeTextFile"),
            booleans=has("session", "configOptions", "boolean"),
            notices=has("session", "notices"),
            opens_urls=has("elicitation", "url"),
            terminal_sign_in=has("auth", "terminal"),
        )


@dataclass(slots=True)
class AcpClient(Session):
    """A client with its open conversations."""

    abilities: ClientAbilities = field(default_factory=ClientAbilities)
    open_conversations: dict[str, AcpConversation] = field(default_factory=dict)
    """The open conversations by id."""

    pending_sign_in: asyncio.Future[None] | None = None
    """The result of a sign-in that still waits for the user, although its request was already answered."""

    _releases: set[asyncio.Task[None]] = field(default_factory=set)
    """The tasks that release servers of conversations."""

    @property
    def keeps(self) -> bool:
        """Whether conversations are kept."""
        return self.registry.config.conversations.keep

    def conversation(self, conversation_id: str) -> AcpConversation:
        """Return an open conversation.

        Raises:
            UnknownSessionError: the conversation is not open.
        """
        found = self.open_conversations.get(conversation_id)
        if found is None:
            raise UnknownSessionError(conversation_id)
        return found

    def update(self, conversation_id: str, variant: str, /, **fields: Any) -> None:
        """Send a `session/update`."""
        update = {"sessionUpdate": variant, **fields}
        self.outbox.notify("session/update", {"sessionId": conversation_id, "update": update})

    def notify(self, conversation_id: str, severity: Literal["warning", "error"], title: str) -> None:
        """Send a notice, if the client shows notices."""
        if self.abilities.notices:
            self.update(conversation_id, "notice", severity=severity, title=title)

    def cancel_prompt(self, conversation: AcpConversation) -> None:
        """Cancel the running prompt of a conversation, if there is one."""
        turn = conversation.turn
        if turn is None or turn.entry.finished.is_set():
            return
        turn.is_cancelled = True
        # Before the handler has started, `cancel` would answer the request with an error. Therefore, the
        # handler checks `is_cancelled` when it starts, and responds that the prompt was cancelled.
        if turn.has_started:
            self.cancel(turn.request_id)

    def release_servers(self, conversation: AcpConversation) -> None:
        """Release the servers of a closed conversation. Other conversations may use the same processes."""
        for server in conversation.servers.values():
            task = asyncio.ensure_future(server.aclose())
            self._releases.add(task)
            task.add_done_callback(self._releases.discard)

    async def aclose(self) -> None:
        """Close the connection, and release the servers of all conversations."""
        await Session.aclose(self)
        for conversation in self.open_conversations.values():
            self.release_servers(conversation)
        if self._releases:
            await asyncio.wait(self._releases)

    def encode_error(self, exception: BaseException) -> WireError:
        """Return the wire error for an exception. Users see only the message, so it includes the hint."""
        if isinstance(exception, UnknownSessionError):
            message = f"There is no session with the id {str(exception)[:128]!r}."
            return WireError(RESOURCE_NOT_FOUND, message, {"kind": "request", "retryable": False})
        error = Session.encode_error(self, exception)
        hint = error.data.get("hint")
        code = AUTH_REQUIRED if error.code == _AUTHENTICATION else error.code
        return WireError(code, f"{error.message} {hint}" if hint else error.message, error.data)


def absolute_path(key: str, path: str) -> Path:
    """Return a path from the client's params.

    Raises:
        InvalidRequestError: the path is not absolute.
    """
    if not Path(path).is_absolute():
        raise InvalidRequestError.at(key, "must be an absolute path")
    return Path(path)
