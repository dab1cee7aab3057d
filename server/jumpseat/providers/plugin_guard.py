"""What stands between the house and a plug-in's adapter, so that a plug-in's defects stay its own.

Owns what an adapter may answer and raise, by its interface. Above it is `plugins`, which makes the adapters.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

from jumpseat.adapters.base import Adapter, AuthStatus, Capabilities, Replan, SettingRow
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
"""What a plug-in may raise in place of an answer; one that asks the process to end does not get it."""

CLOSE_SECONDS = 5.0
"""How long a plug-in's events may take to close; a turn ends without those that take longer."""


class GuardedAdapter(Adapter):
    """Stands before a plug-in's adapter, and makes of its defects errors that name the plug-in.

    Whatever the interface has goes through here, what it will have one day too: so it is done by name, and
    not method by method.
    """

    _adapter: Adapter
    _origin: str

    def __init__(self, adapter: Adapter, provider: str, origin: str) -> None:
        own = {"_adapter": adapter, "_provider": provider, "_origin": origin}
        for name, value in own.items():
            object.__setattr__(self, name, value)

    def __getattribute__(self, name: str) -> Any:
        if name.startswith("_") or name == "bind":
            return object.__getattribute__(self, name)
        is_method = inspect.isroutine(inspect.getattr_static(Adapter, name, None))
        try:
            value = getattr(self._adapter, name)
            if is_method or inspect.isroutine(value):
                return self._guarded(name, value)
            return _fitting(name, value)
        except DEFECTS as error:
            if isinstance(error, AttributeError) and not hasattr(Adapter, name):
                raise
            return self._inherited(name, error)

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            setattr(self._adapter, name, value)
        except DEFECTS as error:
            logger.error("the %s does not let itself be told %s", self._origin, name, exc_info=error)

    def _guarded(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        if name == "stream":
            return lambda request: self._events(method, request)
        if inspect.iscoroutinefunction(getattr(Adapter, name, None)):
            return lambda *arguments, **named: self._awaited(name, method, *arguments, **named)

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return _fitting(name, method(*arguments, **named))
            except ChatError:
                raise
            except DEFECTS as error:
                return self._inherited(name, error, *arguments, **named)

        return call

    def _inherited(self, name: str, error: BaseException, *arguments: Any, **named: Any) -> Any:
        """What an adapter answers that does not override this.

        What is asked in passing, and of every provider, must not fail a chat: of another one least of all.
        """
        logger.error("%s of the %s failed", name, self._origin, exc_info=error)
        inherited = inspect.getattr_static(Adapter, name)
        if isinstance(inherited, property):
            return inherited.__get__(self._adapter)
        return inherited(self._adapter, *arguments, **named) if inspect.isroutine(inherited) else inherited

    async def _awaited(self, name: str, method: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        try:
            return _fitting(name, await method(*arguments, **named))
        except DEFECTS as error:
            raise self._told(name, error) from error.__cause__

    async def _events(self, stream: Callable[..., Any], request: ChatRequest) -> AsyncIterator[StreamEvent]:
        events: Any = None
        try:
            events = stream(request)
            async for event in events:
                _require_event(event)
                yield event
        except DEFECTS as error:
            raise self._told("stream", error) from error.__cause__
        finally:
            await self._closed(events)

    async def _closed(self, events: object) -> None:
        close = getattr(events, "aclose", None) or getattr(events, "close", None)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                waiting = close() if close is not None else None
                if inspect.isawaitable(waiting):
                    await waiting
        except DEFECTS as error:
            # How the turn ended is settled by now; this is for the log alone.
            logger.error("stream of the %s was not closed", self._origin, exc_info=error)

    def _told(self, name: str, error: BaseException) -> BaseException:
        """The error itself where the interface has it, else the one that names the plug-in."""
        if isinstance(error, ChatError | Replan):
            return error
        if isinstance(error, NotImplementedError) and name == "list_models":
            return error
        return self._defect(name, error)

    def _defect(self, name: str, error: BaseException) -> ProtocolError:
        logger.error("%s of the %s failed", name, self._origin, exc_info=error)
        told = ProtocolError(
            f"The {self._origin} failed in a way of its own ({type(error).__name__}).",
            provider=self._provider,
            hint="The daemon's log says how; tell the author of the plug-in.",
        )
        told.__cause__ = error
        return told


def _fitting(name: str, value: Any) -> Any:
    """The value, if the interface has such an answer; else a TypeError."""
    fits = FITS.get(name)
    if fits is not None and not fits(value):
        if inspect.iscoroutine(value):
            value.close()  # Or it would complain that nobody has awaited it.
        raise TypeError(f"{name} gave {type(value).__name__}")
    return value


def _require_event(event: object) -> None:
    """Raise a TypeError for what is no event, and for a delta without text, which no fold could take."""
    if not isinstance(event, _EVENTS):
        raise TypeError(f"stream yielded {type(event).__name__}, which is no event")
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


def _or_none(*types: type) -> Callable[[Any], bool]:
    return lambda value: value is None or isinstance(value, types)


def _all_of(*types: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list | tuple) and all(isinstance(each, types) for each in value)


def _is_finding(value: Any) -> bool:
    names = {field.name for field in fields(Capabilities)}
    return isinstance(value, Mapping) and all(
        name in names and isinstance(found, bool) for name, found in value.items()
    )


def _is_settings_rows(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(row, SettingRow) for row in value.values())


FITS: Mapping[str, Callable[[Any], bool]] = {
    "accept_terms": lambda value: isinstance(value, ModelInfo),
    "auth_status": lambda value: isinstance(value, AuthStatus),
    "capabilities": lambda value: isinstance(value, Capabilities),
    "check": _all_of(str),
    "context_asked_for": _or_none(int),
    "count_tokens": lambda value: type(value) is int,
    "default_model": _or_none(str),
    "find_default_model": _or_none(str),
    "heard_models": _all_of(ModelInfo),
    "inline_output": _or_none(str),
    "is_signed_in_for_this": lambda value: isinstance(value, bool),
    "list_models": _all_of(ModelInfo),
    "max_context_tokens": _or_none(int),
    "models_expire_seconds": lambda value: isinstance(value, int | float),
    "probe": lambda value: value is None or isinstance(value, Capabilities) or _is_finding(value),
    "provider_name": lambda value: isinstance(value, str),
    "settings_rows": _is_settings_rows,
    "sign_in": lambda value: isinstance(value, AuthStatus),
    "sign_out": lambda value: isinstance(value, AuthStatus),
    "default_max_tokens": lambda value: type(value) is int and value > 0,
    "user_begins": lambda value: isinstance(value, bool),
    "watched_files": _all_of(Path),
}
"""What the interface's answers are: a wrong one would fail where nobody knows the plug-in any more."""
