"""The rules for saved settings: checks, and merging with the settings saved before. Performs no I/O."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from typing import Any, TypeAlias

from jumpseat.chat import Problem
from jumpseat.config.setting_rows import SettingRow, check_settings
from jumpseat.config.suggestions import alternatives

Schemas: TypeAlias = Mapping[str, Mapping[str, SettingRow]]
"""The settings rows of every provider by id; empty for providers that the patch does not name."""


def merge_patch(base: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """Apply a JSON Merge Patch (RFC 7396) to a copy of the base: None deletes, objects merge."""
    result = dict(base)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, Mapping):
            known = result.get(key)
            result[key] = merge_patch(known if isinstance(known, Mapping) else {}, value)
        else:
            result[key] = value
    return result


def find_overridden(patch: Mapping[str, Any], configured: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the dotted key and the configured value for each new value that the configuration overrides.

    Args:
        patch: the new values. Deletions are never overridden.
        configured: the values from the configuration, in the form of saved settings.
    """

    def compare(new: Any, override: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
        is_table = not path or (path[0] == "providers" and len(path) < 3)
        if is_table and isinstance(new, Mapping) and isinstance(override, Mapping):
            for key in new.keys() & override.keys():
                yield from compare(new[key], override[key], (*path, key))
        elif new is not None and override is not None and new != override:
            yield ".".join(path), override

    return compare(patch, configured, ())


def select_readable(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy without values of a wrong type. It always has the key `providers`."""
    result = {key: value for key, value in settings.items() if key not in _TOP_LEVEL_RULES}
    for key, check in _TOP_LEVEL_RULES.items():
        if key in settings and check(settings[key]) is None:
            result[key] = settings[key]
    providers = settings.get("providers")
    tables = providers.items() if isinstance(providers, Mapping) else ()
    result["providers"] = {name: table for name, table in tables if isinstance(table, Mapping)}
    return deepcopy(result)


def _check_name(value: Any) -> str | None:
    return None if isinstance(value, str) and value.strip() else "must be a non-empty string"


def _check_count(value: Any) -> str | None:
    return None if type(value) is int and value > 0 else "must be an integer of at least 1"


_TOP_LEVEL_RULES: Mapping[str, Callable[[Any], str | None]] = {
    "default_provider": _check_name,
    "default_model": _check_name,
    "max_tokens": _check_count,
}
_KEYS = (*_TOP_LEVEL_RULES, "providers")


def drop_empty_objects(patch: Mapping[str, Any], schemas: Schemas) -> dict[str, Any]:
    """Return the patch without empty objects, and without the empty arrays that Lua sends instead."""

    def is_kept(path: tuple[str, ...], value: Any) -> bool:
        is_object = path[0] == "providers" and len(path) < 3
        if len(path) == 3:
            row = schemas.get(path[1], {}).get(path[2])
            is_object = row is not None and row.type == "map"
        return value != {} and not (is_object and value == [])

    def clean(table: Mapping[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        below = {
            key: clean(value, (*path, key)) if isinstance(value, Mapping) else value
            for key, value in table.items()
        }
        return {key: value for key, value in below.items() if is_kept((*path, key), value)}

    return clean(patch, ())


def prune(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings without providers that have no values."""
    providers = settings.get("providers")
    if not isinstance(providers, dict):
        return settings
    providers = {name: table for name, table in providers.items() if table != {}}
    return {**{key: value for key, value in settings.items() if key != "providers"}, "providers": providers}


def find_problems(
    patch: Mapping[str, Any], saved: Mapping[str, Any], schemas: Schemas, model_fault: str | None
) -> list[Problem]:
    """Return the problems with every value that differs from the saved one.

    Args:
        patch: the settings to save.
        saved: the settings saved so far.
        schemas: the settings rows of each provider.
        model_fault: why a chat would reject the patch's `default_model`; None if it would not.
    """
    problems = []
    for key, value in _select_changes(patch, saved).items():
        if key == "providers":
            problems += _find_problems_of_providers(value, saved.get("providers"), schemas)
        elif key not in _TOP_LEVEL_RULES:
            problems.append(Problem(f"settings.{key}", f"cannot be saved{alternatives(key, _KEYS)}"))
        elif (fault := _TOP_LEVEL_RULES[key](value)) is not None:
            problems.append(Problem(f"settings.{key}", fault))
        elif key == "default_provider" and value not in schemas:
            problems.append(Problem(f"settings.{key}", f"is not a provider{alternatives(value, schemas)}"))
        elif key == "default_model" and model_fault is not None:
            problems.append(Problem(f"settings.{key}", model_fault))
    return problems


def _find_problems_of_providers(patch: Any, saved: Any, schemas: Schemas) -> list[Problem]:
    if not isinstance(patch, Mapping):
        return [Problem("settings.providers", "must be an object")]
    problems = []
    saved = saved if isinstance(saved, Mapping) else {}
    for name, table in _select_changes(patch, saved).items():
        where = f"settings.providers.{name}"
        if not isinstance(table, Mapping):
            problems.append(Problem(where, "must be an object"))
            continue
        known = saved.get(name)
        changes = _select_changes(table, known if isinstance(known, Mapping) else {})
        if name not in schemas:
            if changes:
                problems.append(Problem(where, f"is not a provider{alternatives(name, schemas)}"))
            continue
        problems += [
            Problem(f"{where}.{each.path.removeprefix('settings.')}", each.message)
            for each in check_settings(dict(schemas[name]), changes)
        ]
    return problems


def _select_changes(patch: Mapping[str, Any], saved: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of the patch that change a saved value, except deletions, which need no check."""
    return {
        key: value
        for key, value in patch.items()
        if value is not None and not (key in saved and _is_same(saved[key], value))
    }


def _is_same(one: Any, other: Any) -> bool:
    """Whether two values are the same JSON. In Python, `True == 1`."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
