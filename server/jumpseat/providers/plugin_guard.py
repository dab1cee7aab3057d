# ruff: noqa: D102 - the interface documents what is overridden here
"""Wraps a plug-in's adapter and converts its defects to errors that name the plug-in.

`plugin_types.fault_in` checks attributes when the adapter is constructed; return values are checked here.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from jumpseat.adapters.base import (
    Account,
    Adapter,
    AuthMethod,
    AuthStatus,
    Capabilities,
    ChangesCapabilities,
    ChecksSetup,
    EditsInline,
    IdentifiesClient,
    KnowsModels,
    OnAuthChange,
    OnPrompt,
    Replan,
)
from jumpseat.adapters.base.optional import SharesModels
from jumpseat.chat import ChatError, ChatRequest, ModelInfo, ProtocolError, StreamEvent
from jumpseat.providers.plugin_types import (
    Fits,
    all_of,
    anything,
    fitting,
    is_a,
    is_auth_method,
    is_probed,
    or_none,
    require_event,
)

logger = logging.getLogger(__name__)

DEFECTS = (Exception, SystemExit)
"""Exceptions that are defects of a plug-in; `sys.exit` must not end the daemon."""

CLOSE_SECONDS = 5.0
"""Timeout for closing a plug-in's events; the turn then ends without them."""

T = TypeVar("T")


class _Guard:
    """Runs the code of one plug-in."""

    def __init__(self, provider: str, origin: str) -> None:
        """
        Args:
            provider: the configured provider's id, for errors.
            origin: the plug-in and its distribution, for errors and the log.
        """
        self._provider = provider
        self._origin = origin

    def read(self, name: str, call: Callable[[], T], fits: Fits, default: T) -> T:
        """The plug-in's value; if it fails, the default and a line in the log.

        For values that are read from every provider: a defect must not fail the chats of others.

        Raises:
            ChatError: as the plug-in raises it.
        """
        try:
            return fitting(name, call(), fits)
        except ChatError:
            raise
        except DEFECTS as error:
            self.log(name, error)
            return default

    async def wait(self, name: str, call: Callable[[], Awaitable[T]], fits: Fits) -> T:
        """The plug-in's result.

        Raises:
            ChatError: as the plug-in raises it; `ProtocolError` for other exceptions and results.
            NotImplementedError: by `list_models`, as the interface allows.
        """
        try:
            return fitting(name, await call(), fits)
        except DEFECTS as error:
            raise self.error(name, error) from error.__cause__

    def set(self, name: str, call: Callable[[], None]) -> None:
        """Set an attribute of the plug-in; a failure is logged."""
        try:
            call()
        except DEFECTS as error:
            logger.error("the %s does not accept %s", self._origin, name, exc_info=error)

    def error(self, name: str, error: BaseException) -> BaseException:
        """The error itself if the interface allows it, else one that names the plug-in."""
        if isinstance(error, ChatError | Replan):
            return error
        if isinstance(error, NotImplementedError) and name == "list_models":
            return error
        self.log(name, error)
        defect = ProtocolError(
            f"The {self._origin} has a defect and failed ({type(error).__name__}).",
            provider=self._provider,
            hint="Report it to the author of the plug-in; the daemon's log has the details.",
        )
        defect.__cause__ = error
        return defect

    def log(self, name: str, error: BaseException) -> None:
        """Log the traceback of a defect."""
        logger.error("%s of the %s failed", name, self._origin, exc_info=error)


class GuardedAccount(Account):
    """A plug-in's account."""

    def __init__(self, account: Account, provider: str, origin: str) -> None:
        """
        Args:
            account: the plug-in's own.
            provider: the configured provider's id.
            origin: the plug-in and its distribution.
        """
        super().__init__(provider)
        self._account = account
        self._guard = _Guard(provider, origin)

    @property
    def on_auth_change(self) -> OnAuthChange | None:
        return self._account.on_auth_change

    @on_auth_change.setter
    def on_auth_change(self, listener: OnAuthChange | None) -> None:
        self._guard.set("on_auth_change", lambda: setattr(self._account, "on_auth_change", listener))

    @property
    # A plug-in may have any value in this attribute, so it is read and checked at each use.
    def auth_method(self) -> AuthMethod:  # type: ignore[override]
        return self._guard.read("auth_method", lambda: self._account.auth_method, is_auth_method, "none")

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        return await self._guard.wait(
            "auth_status", lambda: self._account.auth_status(refresh=refresh), is_a(AuthStatus)
        )

    async def is_signed_in_for_this(self) -> bool:
        return await self._guard.wait(
            "is_signed_in_for_this", self._account.is_signed_in_for_this, is_a(bool)
        )

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        return await self._guard.wait("sign_in", lambda: self._account.sign_in(on_prompt), is_a(AuthStatus))

    async def sign_out(self) -> AuthStatus:
        return await self._guard.wait("sign_out", self._account.sign_out, is_a(AuthStatus))

    async def accept_terms(self, model: str) -> ModelInfo:
        return await self._guard.wait(
            "accept_terms", lambda: self._account.accept_terms(model), is_a(ModelInfo)
        )

    def watched_files(self) -> list[Path]:
        return self._guard.read("watched_files", self._account.watched_files, all_of(Path), [])

    async def files_changed(self) -> None:
        await self._guard.wait("files_changed", self._account.files_changed, anything)

    def report(self, status: AuthStatus) -> None:
        self._guard.read("report", lambda: self._account.report(status), anything, None)


def _forwarded(part: str, name: str) -> Any:
    """An attribute that the registry sets; None if the plug-in lacks the part."""

    def read(adapter: GuardedAdapter) -> Any:
        inner = getattr(adapter, part)
        return None if inner is None else getattr(inner, name)

    def write(adapter: GuardedAdapter, value: Any) -> None:
        inner = getattr(adapter, part)
        if inner is not None:
            adapter._guard.set(name, lambda: setattr(inner, name, value))

    return property(read, write)


class GuardedAdapter(Adapter):
    """A plug-in's adapter. Has every optional part; those that the plug-in lacks return nothing."""

    def __init__(self, adapter: Adapter, provider: str, origin: str) -> None:
        """
        Args:
            adapter: the plug-in's, without a fault by `fault_in`.
            provider: the configured provider's id.
            origin: the plug-in and its distribution.
        """
        super().__init__(provider)
        self._adapter = adapter
        self._guard = _Guard(provider, origin)
        self.traits = adapter.traits
        self.settings_rows = adapter.settings_rows
        # A class variable in the interface; here each wrapper has that of its plug-in.
        self.options = adapter.options  # type: ignore[misc]
        self.account = adapter.account and GuardedAccount(adapter.account, provider, origin)
        self._client = adapter if isinstance(adapter, IdentifiesClient) else None
        self._changing = adapter if isinstance(adapter, ChangesCapabilities) else None
        self._models = adapter if isinstance(adapter, KnowsModels) else None
        self._sharing = adapter if isinstance(adapter, SharesModels) else None
        self._editor = adapter if isinstance(adapter, EditsInline) else None
        self._setup = adapter if isinstance(adapter, ChecksSetup) else None

    @property
    def provider_name(self) -> str:
        return self._guard.read(
            "provider_name", lambda: self._adapter.provider_name, is_a(str), super().provider_name
        )

    @property
    # Plug-ins may change it while they run, so it is read and checked at each use.
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return self._guard.read(
            "capabilities", lambda: self._adapter.capabilities, is_a(Capabilities), Capabilities()
        )

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        events: Any = None
        try:
            events = self._adapter.stream(request)
            async for event in events:
                require_event(event)
                yield event
        except DEFECTS as error:
            raise self._guard.error("stream", error) from error.__cause__
        finally:
            await self._close(events)

    async def _close(self, events: object) -> None:
        close = getattr(events, "aclose", None) or getattr(events, "close", None)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                waiting = close() if close is not None else None
                if inspect.isawaitable(waiting):
                    await waiting
        except DEFECTS as error:
            # The turn has already ended, so this is only logged.
            self._guard.log("closing the stream", error)

    async def list_models(self) -> list[ModelInfo]:
        return await self._guard.wait("list_models", self._adapter.list_models, all_of(ModelInfo))

    async def recent_models(self) -> list[ModelInfo]:
        recent = self._adapter.list_models if self._sharing is None else self._sharing.recent_models
        return await self._guard.wait("list_models", recent, all_of(ModelInfo))

    async def count_tokens(self, request: ChatRequest) -> int:
        return await self._guard.wait(
            "count_tokens", lambda: self._adapter.count_tokens(request), lambda value: type(value) is int
        )

    def max_context_tokens(self, model: str) -> int | None:
        return self._guard.read(
            "max_context_tokens", lambda: self._adapter.max_context_tokens(model), or_none(int), None
        )

    async def probe(self) -> Capabilities | Mapping[str, bool] | None:
        return await self._guard.wait("probe", self._adapter.probe, is_probed)

    async def aclose(self) -> None:
        await self._guard.wait("aclose", self._adapter.aclose, anything)

    # -- optional parts

    client_info = _forwarded("_client", "client_info")
    on_capabilities_change = _forwarded("_changing", "on_capabilities_change")
    on_models_change = _forwarded("_sharing", "on_models_change")

    def heard_models(self) -> Sequence[ModelInfo]:
        if self._models is None:
            return ()
        return self._guard.read("heard_models", self._models.heard_models, all_of(ModelInfo), ())

    async def find_default_model(self) -> str | None:
        if self._models is None:
            return None
        return await self._guard.wait("find_default_model", self._models.find_default_model, or_none(str))

    def inline_output(self, text: str) -> str | None:
        editor = self._editor
        if editor is None:
            return None
        return self._guard.read("inline_output", lambda: editor.inline_output(text), or_none(str), None)

    def check(self) -> Sequence[str]:
        if self._setup is None:
            return ()
        return self._guard.read("check", self._setup.check, all_of(str), ())
