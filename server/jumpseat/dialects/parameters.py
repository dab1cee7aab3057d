"""Further parameters of a request's body: those of a configuration, and a chat's settings over them.

Every dialect's encoder lays what comes out of this over what it made itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def laid_over(parameters: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters with the settings on them; where both have an object, it has the keys of both."""
    result = dict(parameters)
    for name, value in settings.items():
        known = result.get(name)
        both = isinstance(known, Mapping) and isinstance(value, Mapping)
        result[name] = laid_over(known, value) if both and known is not None else value
    return result
