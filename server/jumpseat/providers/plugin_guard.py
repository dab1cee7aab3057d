"""Checks a plug-in's adapter and converts its defects into errors that name the plug-in."""

from __future__ import annotations

import asyncio
import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from jumpseat.adapters.base import Account, Adapter, AuthMethod, Capabilities, ChatTraits, Replan, SettingRow
from jumpseat.chat import ChatError, ChatRequest, ProtocolError, StreamEvent

logger = logging.getLogger(__name__)

DEFECTS = (Exception, SystemExit)
"""Exceptions that are defects of a plug-in. `sys.exit` must not end the daemon."""

CLOSE_SECONDS = 5.0
"""The time limit for closing a plug-in's event stream. The turn then ends even if this fails."""

_EVENTS = get_args(StreamEvent)

# These methods may send requests. If a defect occurs, the call fails.
_ASYNC_METHODS = (
    "list_models",
    "recent_models",
    "find_default_model",
    "count_tokens",
    "probe",
    "check_hosts",
    "aclose",
    "auth_status",
    "is_signed_in_for_this",
    "sign_in",
    "sign_out",
    "accept_terms",
    "handle_file_change",
)

# The daemon may also call these methods during a chat with another provider, and a defect of this plug-in
# must not make that chat fail. A call that fails because of a defect therefore returns the value given here.
_QUERIES: Mapping[str, Any] = {
    "cached_models": (),
    "inline_output": None,
    "max_context_tokens": None,
    "check": (),
    "watched_files": (),
}


def find_fault(adapter: object) -> str | None:
    """Explain why an object is not a valid adapter; None if it is one.

    The explanation is the end of a sentence about the plug-in.

    Raises:
        Exception: raised by a property of the plug-in.
    """
    if not isinstance(adapter, Adapter):
        return f"made {type(adapter).__name__}, which is not a subclass of jumpseat.adapters.base.Adapter"
    rows, account = adapter.settings_rows, adapter.account
    fits = {
        "provider_name": isinstance(adapter.provider_name, str),
        "capabilities": isinstance(adapter.capabilities, Capabilities),
        "settings_rows": isinstance(rows, Mapping)
        and all(isinstance(row, SettingRow) for row in rows.values()),
        "traits": isinstance(adapter.traits, ChatTraits) and adapter.traits.default_max_tokens > 0,
        "account": account is None
        or (isinstance(account, Account) and account.auth_method in get_args(AuthMethod)),
    }
    wrong = [name for name, is_right in fits.items() if not is_right]
    return f"has {wrong[0]} of a type that does not match the interface" if wrong else None


def guard(adapter: Adapter, provider: str, origin: str) -> None:
    """Wrap the methods of a plug-in's adapter and account so that errors and the log name the plug-in.

    Args:
        adapter: an adapter in which `find_fault` found no fault.
        provider: the configured provider's id.
        origin: the plug-in and its distribution, for errors and the log.
    """
    plugin = _Plugin(provider, origin)
    for part in (adapter, adapter.account):
        for name in _ASYNC_METHODS:
            if (method := getattr(part, name, None)) is not None:
                setattr(part, name, plugin.guard_method(name, method))
        for name, default in _QUERIES.items():
            if (method := getattr(part, name, None)) is not None:
                setattr(part, name, plugin.guard_query(name, method, default))
    guarded = plugin.guard_stream(adapter.stream)
    adapter.stream = guarded  # type: ignore[method-assign, assignment]  # hides the method of the class


@dataclass(frozen=True, slots=True)
class _Plugin:
    provider: str
    origin: str

    def guard_method(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        async def call_method(*arguments: Any, **named: Any) -> Any:
            try:
                return await method(*arguments, **named)
            except DEFECTS as error:
                raise self._convert_error(name, error) from error.__cause__

        return call_method

    def guard_query(self, name: str, method: Callable[..., Any], default: Any) -> Callable[..., Any]:
        @functools.wraps(method)
        def call_query(*arguments: Any) -> Any:
            try:
                return method(*arguments)
            except ChatError:
                raise
            except DEFECTS as error:
                self._log(name, error)
                return default

        return call_query

    def guard_stream(
        self, stream: Callable[[ChatRequest], AsyncIterator[StreamEvent]]
    ) -> Callable[[ChatRequest], AsyncIterator[StreamEvent]]:
        @functools.wraps(stream)
        async def yield_events(request: ChatRequest) -> AsyncIterator[StreamEvent]:
            events: Any = None
            try:
                events = stream(request)
                async for event in events:
                    if not isinstance(event, _EVENTS):
                        raise TypeError(f"stream yielded {type(event).__name__}, which is not an event")
                    yield event
            except DEFECTS as error:
                raise self._convert_error("stream", error) from error.__cause__
            finally:
                await self._close(events)

        return yield_events

    async def _close(self, events: Any) -> None:
        # `events` may be an iterator without `aclose`, or a coroutine, which warns unless it is closed.
        close = getattr(events, "aclose", None) or getattr(events, "close", None)
        try:
            async with asyncio.timeout(CLOSE_SECONDS):
                waiting = close() if close is not None else None
                if inspect.isawaitable(waiting):
                    await waiting
        except DEFECTS as error:
            # The turn has already ended, so this is only logged.
            self._log("closing the stream", error)

    def _convert_error(self, name: str, error: BaseException) -> BaseException:
        """Return the error itself if the interface allows it, otherwise one that names the plug-in."""
        if isinstance(error, ChatError | Replan) or (
            name == "list_models" and isinstance(error, NotImplementedError)
        ):
            return error
        self._log(name, error)
        defect = ProtocolError(
            f"The {self.origin} has a defect and failed ({type(error).__name__}).",
            provider=self.provider,
            hint="Report it to the author of the plug-in; the daemon's log has the details.",
        )
        defect.__cause__ = error
        return defect

    def _log(self, name: str, error: BaseException) -> None:
        logger.error("%s of the %s failed", name, self.origin, exc_info=error)
