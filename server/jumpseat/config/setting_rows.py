"""Settings rows: their schema, the checks for values, and a value's place in a request. Performs no I/O."""

# No `from __future__ import annotations` here: pydantic would compile the text of each annotation again.
import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from jumpseat.chat import Problem
from jumpseat.config.suggestions import alternatives

SettingType = Literal["string", "number", "integer", "boolean", "enum", "list", "map"]

PARAMETERS = "parameters"
CHAT = "chat"
CHAT_PARAMS = ("max_tokens", "thinking")
"""The chat params that a row with the mapping `chat` may set."""

_PYTHON_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "list": (list, tuple),
    "map": (dict,),
}
_NUMERIC = ("number", "integer")


class SettingRow(BaseModel):
    """A provider's setting: its type, its limits, and its place in a request."""

    model_config = ConfigDict(extra="allow", strict=True)

    type: SettingType
    description: str = ""
    order: int = 0
    default: Any = None
    choices: list[Any] | None = None
    minimum: float | None = None
    maximum: float | None = None
    optional: bool = False
    mapping: Annotated[str, Field(pattern=r"^(chat|parameters(\.[^.\s]+)*)$")] = PARAMETERS
    """The object that receives the value, under the row's key: `parameters` is the body of the request, and
    `parameters.a.b` is the object `b` within the object `a` of the body. `chat` sets the chat param with the
    name of the row's key, unless the client has set it."""

    @model_validator(mode="after")
    def _check_consistency(self) -> Self:
        limits = (self.minimum, self.maximum)
        if any(limit is not None for limit in limits) and self.type not in _NUMERIC:
            raise ValueError(f"minimum and maximum are for numbers, not for type {self.type}")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"minimum ({self.minimum:g}) is above maximum ({self.maximum:g})")
        if any(limit is not None and not math.isfinite(limit) for limit in limits):
            raise ValueError("minimum and maximum must be finite numbers")
        if self.type == "enum" and not self.choices:
            raise ValueError("choices are missing; an enum must have at least one")
        if self.choices == []:
            raise ValueError("choices must not be empty")
        for index, choice in enumerate(self.choices or ()):
            if (fault := self.problem_with(choice)) is not None:
                raise ValueError(f"choices.{index} {fault}")
        if self.default is not None and (fault := self.problem_with(self.default)) is not None:
            raise ValueError(f"default {fault}")
        return self

    def problem_with(self, value: Any) -> str | None:
        """Return the rule that a value breaks, as the end of a sentence that begins with its key."""
        if self.type != "enum":
            is_wrong_bool = isinstance(value, bool) and self.type != "boolean"
            if is_wrong_bool or not isinstance(value, _PYTHON_TYPES[self.type]):
                return f"must be of type {self.type}"
        if self.choices is not None and not any(_is_same(value, choice) for choice in self.choices):
            return f"must be one of {', '.join(map(str, self.choices))}"
        if isinstance(value, int | float) and not isinstance(value, bool):
            if isinstance(value, float) and not math.isfinite(value):
                return "must be a finite number"
            if self.minimum is not None and value < self.minimum:
                return f"must be at least {self.minimum:g}"
            if self.maximum is not None and value > self.maximum:
                return f"must be at most {self.maximum:g}"
        return None


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON. In Python, `True == 1`."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def check_settings(rows: dict[str, SettingRow], settings: dict[str, Any]) -> list[Problem]:
    """Return a problem for each value of a chat's `settings` that breaks its row's rules or has no row."""
    problems = []
    for key, value in settings.items():
        row = rows.get(key)
        if row is None:
            known = alternatives(key, rows) if rows else "; it has none"
            problems.append(Problem(f"settings.{key}", f"is not a setting of this provider{known}"))
        elif (fault := row.problem_with(value)) is not None:
            problems.append(Problem(f"settings.{key}", fault))
    return problems


def chat_params(values: Mapping[str, Any], rows: Mapping[str, SettingRow]) -> dict[str, Any]:
    """Return the settings with the mapping `chat`, by their names in `CHAT_PARAMS`."""
    return {key: values[key] for key in CHAT_PARAMS if key in values and rows[key].mapping == CHAT}


def map_to_body(values: Mapping[str, Any], rows: Mapping[str, SettingRow]) -> dict[str, Any]:
    """Return the settings as parameters of a request, placed according to the `mapping` of their rows.

    Args:
        values: the values by the keys of their rows.
        rows: the provider's settings schema.
    """
    body: dict[str, Any] = {}
    for key, value in values.items():
        if rows[key].mapping == CHAT:
            continue
        place = body
        for name in rows[key].mapping.split(".")[1:]:
            inner = place.get(name)
            # Copy an object, because it may be another row's value. Replace a value that is not an object.
            place[name] = place = dict(inner) if isinstance(inner, Mapping) else {}
        known = place.get(key)
        place[key] = {**known, **value} if isinstance(known, dict) and isinstance(value, dict) else value
    return body
