"""Whether what a plug-in declares, returns and yields has the types of the interface."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, TypeAlias, TypeVar, get_args

from jumpseat.adapters.base import Account, Adapter, AuthMethod, Capabilities, ChatTraits, SettingRow
from jumpseat.chat import StreamEvent, TextDeltaEvent, ThinkingDeltaEvent, ToolUseDeltaEvent

_EVENTS = get_args(StreamEvent)

T = TypeVar("T")
Fits: TypeAlias = Callable[[Any], bool]


def fault_in(adapter: object) -> str | None:
    """Why an object is not an adapter, as the end of a sentence that begins with the plug-in.

    Raises:
        Exception: as a property of the plug-in raises it.
    """
    if not isinstance(adapter, Adapter):
        return f"made {type(adapter).__name__}, which is not a subclass of jumpseat.adapters.base.Adapter"
    wrong = [name for name, fits in _DECLARED.items() if not fits(getattr(adapter, name))]
    return f"has {wrong[0]} of another type than the interface's" if wrong else None


def fitting(name: str, value: T, fits: Fits) -> T:
    """The value, if its type is that of the interface.

    Raises:
        TypeError: the type is wrong.
    """
    if fits(value):
        return value
    if inspect.iscoroutine(value):
        value.close()  # Otherwise Python warns that it was never awaited.
    raise TypeError(f"{name} gave {type(value).__name__}")


def require_event(event: object) -> None:
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


def anything(value: object) -> bool:
    """Fits every value."""
    return True


def is_a(*types: type) -> Fits:
    """Fits instances of these types."""
    return lambda value: isinstance(value, types)


def or_none(*types: type) -> Fits:
    """Fits None, and instances of these types."""
    return lambda value: value is None or isinstance(value, types)


def all_of(*types: type) -> Fits:
    """Fits lists and tuples of instances of these types."""
    return lambda value: isinstance(value, list | tuple) and all(isinstance(each, types) for each in value)


def is_auth_method(value: object) -> bool:
    """Whether a value is one of `AuthMethod`."""
    return value in get_args(AuthMethod)


def is_probed(value: Any) -> bool:
    """Whether a value is what `Adapter.probe` may return."""
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
    "capabilities": is_a(Capabilities),
    "settings_rows": _is_settings_rows,
    "traits": _is_traits,
    "account": or_none(Account),
}
