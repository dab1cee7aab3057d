"""The interface of a tool server, such as the file tools, an MCP server, or a plug-in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, TypeAlias

from jumpseat.chat import FileDiff, InvalidRequestError, ResultPart, ToolKind
from jumpseat.system.environment import Environment
from jumpseat.tools.display import summarize_call
from jumpseat.tools.workspace import Workspace

__all__ = [
    "CallContext",
    "Preview",
    "ServerStatus",
    "ServerUnavailableError",
    "Tool",
    "ToolCall",
    "ToolError",
    "ToolOutput",
    "ToolServer",
]

ServerOrigin: TypeAlias = Literal["builtin", "user", "workspace"]
"""Who defined a server: jumpseat or a plug-in, the user's configuration, or a workspace."""

ServerState: TypeAlias = Literal["stopped", "starting", "running", "failed", "untrusted", "needs_sign_in"]

SignInState: TypeAlias = Literal["not_required", "configured", "signed_in", "signed_out", "expired"]
"""`configured`: the configuration has a credential. `expired`: the stored token is no longer accepted."""

ReportProgress: TypeAlias = Callable[[float, float | None, str | None], None]
"""Receives the progress of a call, the total if it is known, and a message if the server sent one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool of a server."""

    name: str
    """The server's own name for the tool."""

    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """The JSON Schema of the arguments."""

    title: str | None = None
    kind: ToolKind = "other"


@dataclass(frozen=True, slots=True)
class CallContext:
    """The context of the turn that a call belongs to."""

    environment: Environment
    """The environment of the client that started the turn."""

    workspace: Workspace
    """The folders that the tools may use, and the client's unsaved files."""

    conversation: str
    """A key that is the same for all turns of a conversation and its forks."""

    memory: dict[str, Any] = field(default_factory=dict, repr=False)
    """The servers' own data about the conversation, by the name of the server."""


@dataclass(frozen=True, slots=True)
class Preview:
    """A description of a call. The user sees it when asked for approval."""

    title: str
    """A description of the call without a full stop, such as `Edit src/main.py`.

    It is escaped before it is shown.
    """

    diff: Sequence[FileDiff] = ()
    is_outside: bool = False
    """Whether the call uses a path outside the workspace folders. Such a call always needs an approval."""

    subject: Any = None
    """The server's own data about the call, such as the resolved path.

    When the approved call runs, `ToolServer.call` can compare this data with the current state.
    """

    paths: Sequence[Path] = ()
    """The absolute paths of the files and folders that the call uses, so that an editor can show them."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call of one tool by the model."""

    tool: str
    """The server's own name for the tool."""

    arguments: Mapping[str, Any]
    context: CallContext
    report_progress: ReportProgress = field(default=lambda progress, total, message: None, repr=False)
    max_bytes: int = 64 * 1024
    """The size in bytes above which the text of the result is cut."""

    approved: Preview | None = None
    """The approved preview; None while the call is being previewed."""


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """The result of a call, for the model."""

    content: str | tuple[ResultPart, ...]
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class SignInPage:
    """A page in the browser on which the user signs in to a server."""

    verification_uri: str
    host: str
    """The host of the page, for the user to check."""

    expires_at: datetime


@dataclass(frozen=True, slots=True)
class ServerSignIn:
    """The state of the sign-in to a server."""

    state: SignInState
    host: str | None = None
    """The host on which the user signs in, if it is known."""

    expires_at: datetime | None = None
    """When the token expires, unless it is refreshed earlier."""


class ToolError(Exception):
    """A call failed. The message is a sentence for the model, and becomes the result of the call."""


class ServerUnavailableError(Exception):
    """A server cannot be started or reached. The message is a sentence for the user."""


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """The state of a server."""

    state: ServerState
    definition: str
    """The server's command line or URL, to show to the user.

    Value sources appear as written. Secrets never appear.
    """

    fingerprint: str | None = None
    """Identifies the definition in `set_trust`; None if this type of server never needs the user's trust."""

    error: str | None = None


class ToolServer(ABC):
    """A tool server. Several turns may use it at the same time.

    A plug-in defines a subclass, and a function that receives the client's `Environment` and returns an
    instance. An entry point in the group `jumpseat.tools` names the function.
    """

    def __init__(self, name: str, origin: ServerOrigin = "builtin") -> None:
        """
        Args:
            name: the name used in selectors: letters, digits, dots, hyphens and underscores.
            origin: who defined the server.
        """
        self.name = name
        self.origin: ServerOrigin = origin
        self.on_change: Callable[[], None] = lambda: None
        """Called when the state or the tools have changed."""

    @abstractmethod
    async def list_tools(self) -> Sequence[Tool]:
        """Return the tools for a turn; start the server or connect to it if necessary.

        Raises:
            ServerUnavailableError: the server cannot be used.
        """

    @abstractmethod
    async def call(self, call: ToolCall) -> ToolOutput:
        """Run a call to its end. If the task is cancelled, stop the work.

        Raises:
            ToolError: the call failed.
        """

    @property
    def known_tools(self) -> Sequence[Tool]:
        """The tools that were listed last. Reading this property does not start the server."""
        return ()

    @property
    def identity(self) -> str:
        """A text that changes with the server's definition.

        A remembered decision applies only to a server with the same text.
        """
        return self.name

    @property
    def status(self) -> ServerStatus:
        """The state of the server."""
        return ServerStatus("running", self.name)

    async def prepare(self) -> None:  # noqa: B027 - most servers know their state
        """Update `status` and `known_tools` without starting the server."""

    def is_available(self, context: CallContext) -> bool:
        """Whether the server has tools for a turn with this context."""
        return True

    async def preview(self, call: ToolCall) -> Preview:
        """Check a call and describe it for the user, before the user is asked.

        Raises:
            ToolError: the call cannot succeed, so nobody has to be asked.
        """
        return Preview(summarize_call(self.name, call.tool, call.arguments))

    def begin_turn(self, context: CallContext) -> ToolServer:
        """Return the object that one turn uses until it calls `end_turn`; by default, this server."""
        return self

    async def end_turn(self) -> None:  # noqa: B027 - most servers do not depend on turns
        """Release everything that the turn needed."""

    async def restart(self) -> None:  # noqa: B027 - most servers are always running
        """Start the server again, and forget its failures. If it fails again, `status` has the error."""

    async def set_trust(self, fingerprint: str, *, trusted: bool) -> None:
        """Trust the definition with this fingerprint from now on, or withdraw the trust.

        Raises:
            InvalidRequestError: the server does not need to be trusted, or its definition has changed.
            RequestError: the client has no workspace folder.
            StateError: the decision cannot be stored.
        """
        raise InvalidRequestError.at("server", "must be a server of the workspace")

    async def read_sign_in(self) -> ServerSignIn:
        """Return the state of the sign-in, without sending a request.

        Raises:
            ChatError: the definition of the server cannot be resolved.
            StateError: the stored credential cannot be read.
        """
        return ServerSignIn("not_required")

    async def sign_in(self, on_page: Callable[[SignInPage], None]) -> ServerSignIn:
        """Wait until the user has signed in, if that is required. Cancelling the wait ends the sign-in.

        Args:
            on_page: called with the sign-in page, and again if the page changes.

        Raises:
            ChatError: the sign-in failed, or is not possible for this server.
            StateError: the credential cannot be stored.
        """
        return await self.read_sign_in()

    async def sign_out(self) -> ServerSignIn:
        """Delete the stored credential.

        Raises:
            ChatError: the server has no sign-in, or the credential could not be removed from its file.
            StateError: the stored credentials cannot be changed.
        """
        return await self.read_sign_in()

    async def retire(self) -> None:
        """Release everything, as `aclose` does, because the definition of the server has changed."""
        await self.aclose()

    async def aclose(self) -> None:  # noqa: B027 - most servers have nothing to release
        """Release everything that this client's use of the server needs."""
