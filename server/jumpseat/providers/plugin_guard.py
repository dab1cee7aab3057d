# ruff: noqa: D102 - the interface documents what is overridden here
"""Wraps a plug-in's adapter and converts its defects to errors that name the plug-in.

Attributes are checked when the adapter is constructed (`fault_in`), return values when they are returned.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar, get_args

from jumpseat.adapters.base import (
    Account,
    Adapter,
    AuthStatus,
    Capabilities,
    ChangesCapabilities,
    ChatTraits,
    ChecksSetup,
    EditsInline,
    IdentifiesClient,
    KnowsModels,
    OnAuthChange,
    OnPrompt,
    Replan,
    SettingRow,
)
from jumpseat.adapters.base.optional import SharesModels
from jumpseat.chat import (
    ChatError,
    ChatRequest,
    ModelInfo,
    ProtocolError,
    StreamEvent,
    TextDeltaEvent,
    ThinkingDeltaEvent,
    ToolUseDeltaEvent,
)

logger = logging.getLogger(__name__)

_EVENTS = get_args(StreamEvent)

DEFECTS = (Exception, SystemExit)
"""Exceptions that are defects of a plug-in; `sys.exit` must not end the daemon."""

CLOSE_SECONDS = 5.0
"""Timeout for closing a plug-in's events; the turn then ends without them."""

T = TypeVar("T")
Fits = Callable[[Any], bool]


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
            return _fitting(name, call(), fits)
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
            return _fitting(name, await call(), fits)
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

    async def auth_status(self, *, refresh: bool = False) -> AuthStatus:
        return await self._guard.wait(
            "auth_status", lambda: self._account.auth_status(refresh=refresh), _is(AuthStatus)
        )

    async def is_signed_in_for_this(self) -> bool:
        return await self._guard.wait("is_signed_in_for_this", self._account.is_signed_in_for_this, _is(bool))

    async def sign_in(self, on_prompt: OnPrompt) -> AuthStatus:
        return await self._guard.wait("sign_in", lambda: self._account.sign_in(on_prompt), _is(AuthStatus))

    async def sign_out(self) -> AuthStatus:
        return await self._guard.wait("sign_out", self._account.sign_out, _is(AuthStatus))

    async def accept_terms(self, model: str) -> ModelInfo:
        return await self._guard.wait(
            "accept_terms", lambda: self._account.accept_terms(model), _is(ModelInfo)
        )

    def watched_files(self) -> list[Path]:
        return self._guard.read("watched_files", self._account.watched_files, _all_of(Path), [])

    async def files_changed(self) -> None:
        await self._guard.wait("files_changed", self._account.files_changed, _anything)

    def report(self, status: AuthStatus) -> None:
        self._guard.read("report", lambda: self._account.report(status), _anything, None)


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
            "provider_name", lambda: self._adapter.provider_name, _is(str), super().provider_name
        )

    @property
    # Plug-ins may change it while they run, so it is read and checked at each use.
    def capabilities(self) -> Capabilities:  # type: ignore[override]
        return self._guard.read(
            "capabilities", lambda: self._adapter.capabilities, _is(Capabilities), Capabilities()
        )

    async def stream(self, request: ChatRequest) -> AsyncIterator[StreamEvent]:
        events: Any = None
        try:
            events = self._adapter.stream(request)
            async for event in events:
                _require_event(event)
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
        return await self._guard.wait("list_models", self._adapter.list_models, _all_of(ModelInfo))

    async def recent_models(self) -> list[ModelInfo]:
        recent = self._adapter.list_models if self._sharing is None else self._sharing.recent_models
        return await self._guard.wait("list_models", recent, _all_of(ModelInfo))

    async def count_tokens(self, request: ChatRequest) -> int:
        return await self._guard.wait(
            "count_tokens", lambda: self._adapter.count_tokens(request), lambda value: type(value) is int
        )

    def max_context_tokens(self, model: str) -> int | None:
        return self._guard.read(
            "max_context_tokens", lambda: self._adapter.max_context_tokens(model), _or_none(int), None
        )

    async def probe(self) -> Capabilities | Mapping[str, bool] | None:
        return await self._guard.wait("probe", self._adapter.probe, _is_probed)

    async def aclose(self) -> None:
        await self._guard.wait("aclose", self._adapter.aclose, _anything)

    # -- optional parts

    client_info = _forwarded("_client", "client_info")
    on_capabilities_change = _forwarded("_changing", "on_capabilities_change")
    on_models_change = _forwarded("_sharing", "on_models_change")

    def heard_models(self) -> Sequence[ModelInfo]:
        if self._models is None:
            return ()
        return self._guard.read("heard_models", self._models.heard_models, _all_of(ModelInfo), ())

    async def find_default_model(self) -> str | None:
        if self._models is None:
            return None
        return await self._guard.wait("find_default_model", self._models.find_default_model, _or_none(str))

    def inline_output(self, text: str) -> str | None:
        editor = self._editor
        if editor is None:
            return None
        return self._guard.read("inline_output", lambda: editor.inline_output(text), _or_none(str), None)

    def check(self) -> Sequence[str]:
        if self._setup is None:
            return ()
        return self._guard.read("check", self._setup.check, _all_of(str), ())


def fault_in(adapter: object) -> str | None:
    """Why an object is not an adapter, as the end of a sentence that begins with the plug-in.

    Raises:
        Exception: as a property of the plug-in raises it.
    """
    if not isinstance(adapter, Adapter):
        return f"made {type(adapter).__name__}, which is not a subclass of jumpseat.adapters.base.Adapter"
    wrong = [name for name, fits in _DECLARED.items() if not fits(getattr(adapter, name))]
    return f"has {wrong[0]} of another type than the interface's" if wrong else None


def _fitting(name: str, value: T, fits: Fits) -> T:
    """The value, if its type is that of the interface.

    Raises:
        TypeError: the type is wrong.
    """
    if fits(value):
        return value
    if inspect.iscoroutine(value):
        value.close()  # Otherwise Python warns that it was never awaited.
    raise TypeError(f"{name} gave {type(value).__name__}")


def _require_event(event: object) -> None:
    """Raise a TypeError for an object that is not an event, and for a delta without text."""
    if not isinstance(event, _EVENTS):
        raise TypeError(f"stream yielded {type(event).__name__}, which is not an event")
    match event:
        case (
            TextDeltaEvent(text=piece)
            | ThinkingDeltaEvent(text=piece)
            | ToolUseDeltaEvent(argument_delta=piece)
        ):
            if not isinstance(piece, str):
                raise TypeError(f"stream yielded a delta of {type(piece).__name__}")
        case _:
            pass


def _anything(value: object) -> bool:
    return True


def _is(*types: type) -> Fits:
    return lambda value: isinstance(value, types)


def _or_none(*types: type) -> Fits:
    return lambda value: value is None or isinstance(value, types)


def _all_of(*types: type) -> Fits:
    return lambda value: isinstance(value, list | tuple) and all(isinstance(each, types) for each in value)


def _is_probed(value: Any) -> bool:
    if value is None or isinstance(value, Capabilities):
        return True
    names = {field.name for field in fields(Capabilities)}
    return isinstance(value, Mapping) and all(
        name in names and isinstance(able, bool) for name, able in value.items()
    )


def _is_settings_rows(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(row, SettingRow) for row in value.values())


def _is_traits(value: Any) -> bool:
    return (
        isinstance(value, ChatTraits)
        and isinstance(value.default_model, str | None)
        and type(value.default_max_tokens) is int
        and value.default_max_tokens > 0
        and isinstance(value.user_begins, bool)
        and isinstance(value.context_setting, str | None)
        and isinstance(value.models_expire_seconds, int | float)
    )


# The attributes that `fault_in` checks.
_DECLARED: Mapping[str, Fits] = {
    "capabilities": _is(Capabilities),
    "settings_rows": _is_settings_rows,
    "traits": _is_traits,
    "account": _or_none(Account),
}
