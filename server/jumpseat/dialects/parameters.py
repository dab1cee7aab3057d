"""Merges the parameters of a request's body, removes parameters, and creates the warning about a removal.

`jumpseat.config` rejects parameters that a provider's table must not set, such as `messages`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jumpseat.chat import WarningEvent

_APPENDED = frozenset({"include", "tools"})
"""The lists that are extended, not replaced: an added tool does not replace the tools of a chat."""

_THINKING = frozenset({"reasoning", "reasoning_effort", "think"})


def merge_parameters(parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the configured parameters, overridden by the settings of a chat.

    Objects are merged; the lists `tools` and `include` are concatenated.
    """
    result = dict(parameters)
    for name, value in settings.items():
        known = result.get(name)
        if name in _APPENDED and known is not None:
            result[name] = join_lists(known, value)
        else:
            both = isinstance(known, Mapping) and isinstance(value, Mapping)
            result[name] = merge_parameters(known, value) if both and known is not None else value
    return result


def join_lists(known: Iterable[Any], added: Iterable[Any]) -> list[Any]:
    """Concatenate both lists, without the added items that are already in the first one."""
    first = list(known)
    return [*first, *(item for item in added if item not in first)]


def dropped_parameter_warning(name: str, reason: str) -> WarningEvent:
    """Create the warning for a parameter that is left out of a request.

    Args:
        name: the parameter, or a member of a parameter, such as `reasoning.effort`.
        reason: a sentence without a full stop.
    """
    code = "thinking_dropped" if name.partition(".")[0] in _THINKING else "parameter_dropped"
    return WarningEvent(code, f"The parameter {name!r} was left out: {reason}.")


def omit(body: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the body without these parameters.

    A dotted name removes a member of an object. If the object is then empty, it is removed too.
    """
    kept = dict(body)
    for name in names:
        outer, _, inner = name.partition(".")
        value = kept.get(outer)
        if inner and isinstance(value, Mapping):
            value = {key: each for key, each in value.items() if key != inner}
        if inner and value:
            kept[outer] = value
        else:
            kept.pop(outer, None)
    return kept
