"""The base class of all params models, which also decides which values count as absent."""

# Do not add `from __future__ import annotations`: pydantic would compile the text of each annotation again.
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ConfigDict, model_validator

from jumpseat.chat.json_form import to_camel_case

JsonObject = dict[str, Any]


class Params(BaseModel):
    """The base class of all params models."""

    model_config = ConfigDict(alias_generator=to_camel_case, strict=True, extra="ignore", defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _drop_empty_values(cls, data: Any) -> Any:
        # Lua and Emacs Lisp cannot distinguish absent, null and an empty object, and Lua encodes an empty
        # object as `[]`.
        if data is None or data == []:
            return {}
        # Return early: most messages and blocks of a long history have no empty values.
        if not isinstance(data, dict) or all(data.values()):
            return data
        objects = _find_object_keys(cls)
        return {
            key: value
            for key, value in data.items()
            if value is not None and value != {} and not (value == [] and key in objects)
        }


@cache
def _find_object_keys(cls: type[Params]) -> frozenset[str]:
    """Return the keys whose values are objects."""
    return frozenset(
        field.alias or name for name, field in cls.model_fields.items() if _is_object(field.annotation)
    )


def _is_object(annotation: Any) -> bool:
    kinds = [get_origin(part) or part for part in (annotation, *get_args(annotation))]
    return list not in kinds and any(
        kind is dict or (isinstance(kind, type) and issubclass(kind, BaseModel)) for kind in kinds
    )


class NoParams(Params):
    """The params of a method without params. Any params that a client sends are ignored."""
