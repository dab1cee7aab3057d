"""Reads the configuration file, and reports its faults with file, line, key and rule.

A fault in the table of one provider, prompt or MCP server disables only that provider, prompt or server. The
fault is reported when somebody uses the table. Any other fault is an error of the whole file.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from jumpseat.chat import ConfigError
from jumpseat.chat.nul import replace_nul_in
from jumpseat.config.config import Config
from jumpseat.config.faults import Fault, FaultsByTable
from jumpseat.config.own_keys import Kinds, errors_in_own_keys
from jumpseat.config.places import KeyPath, line_of, lines_of_keys
from jumpseat.system.regular_file import read_regular

MAX_BYTES = 1024 * 1024
"""The maximum size of the file. No configuration written by hand is that long."""

DEEPEST = 100
"""The maximum nesting of tables and arrays in the file and in an overlay."""
# This must stay below Python's recursion limit: the functions of this package recurse into tables.

_TOKEN = re.compile(
    r'''"""(?:[^\\]|\\(?:.|\Z))*?(?:"{3,5}|\Z)|'{3}.*?(?:'{3,5}|\Z)|\#[^\n]*'''
    r"""|(?P<in_key>[A-Za-z0-9_-]+|[ \t]+|"(?:[^"\\\n]|\\[^\n])*+"?|'[^'\n]*'?)|(?P<dot>\.)|.""",
    re.DOTALL,
)
"""Matches the next string, comment, bare word or other character of a TOML text, in linear time."""

INDEPENDENT_TABLES = ("providers", "prompts", "mcp")
"""The top-level keys whose tables are independent of each other."""


@dataclass(frozen=True, slots=True)
class Source:
    """The tables of a configuration, with their origin's name and text."""

    name: str
    text: str = field(default="", repr=False)
    tables: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def lines(self) -> dict[KeyPath, int]:
        """Return the line of each key; empty if there is no text, as for a client's overlay."""
        return lines_of_keys(self.text) if self.text else {}


def read_tables(path: Path, *, required: bool) -> Source:
    """Return the file's unchecked tables; empty if the file is missing and not required.

    Raises:
        ConfigError: the file cannot be read; also see `parse_tables`.
    """
    try:
        content = read_regular(path, MAX_BYTES)
    except FileNotFoundError:
        if required:
            raise ConfigError(f"The configuration file {path} does not exist.") from None
        return Source(str(path))
    except OSError as error:
        raise ConfigError(f"The configuration file {path} cannot be read: {error.strerror}.") from None
    return parse_tables(path, content)


def parse_tables(path: Path, content: bytes) -> Source:
    """Return the unchecked tables in the content of a file.

    Raises:
        ConfigError: the content is not UTF-8, is not valid TOML (the message has line and column), or is
            nested too deep.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ConfigError(f"The configuration file {path} cannot be read: it is not UTF-8.") from None
    # Check this before parsing: the parser's memory use is quadratic in the number of parts of a dotted key.
    is_deep = _has_deep_key(text)
    try:
        tables = {} if is_deep else tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"The configuration file {path} is not valid TOML: {error}.") from None
    except RecursionError:
        is_deep = True
    if is_deep or is_deeper_than(DEEPEST, tables):
        raise ConfigError(f"The configuration file {path} is nested more than {DEEPEST} levels deep.")
    return Source(str(path), text, replace_nul_in(tables))


def _has_deep_key(text: str) -> bool:
    """Whether a TOML text may have a key with more than `DEEPEST` dots outside of strings."""
    if not any(line.count(".") > DEEPEST for line in text.split("\n")):
        return False
    dots = 0
    for token in _TOKEN.finditer(text):
        if token.lastgroup is None:
            dots = 0
        elif token.lastgroup == "dot":
            dots += 1
            if dots > DEEPEST:
                return True
    return False


def is_deeper_than(most: int, value: Any) -> bool:
    """Whether tables and arrays are nested in more than `most` levels."""
    level = [value]
    for _ in range(most + 1):
        level = [
            inner
            for each in level
            if isinstance(each, Mapping | list)
            for inner in (each.values() if isinstance(each, Mapping) else each)
        ]
    return bool(level)


def validate_tables(
    tables: Mapping[str, Any], kinds: Kinds | None
) -> tuple[Config | None, list[ErrorDetails]]:
    """Return the configuration, or None and the errors. Also checks each kind's own keys."""
    errors = list(errors_in_own_keys(tables, kinds))
    try:
        config = Config.model_validate(dict(tables))
    except ValidationError as error:
        return None, [*error.errors(include_url=False, include_input=False), *errors]
    return (None if errors else config), errors


def validate_source(source: Source, kinds: Kinds | None) -> tuple[Config, FaultsByTable]:
    """Return the configuration without the independent tables that have faults, and those faults.

    Raises:
        ConfigError: there is a fault elsewhere. The error lists all faults in the file: the first one in its
            message, the others in its hint.
    """
    whole, errors = validate_tables(source.tables, kinds)
    by_table: dict[str, dict[str, tuple[Fault, ...]]] = {name: {} for name in INDEPENDENT_TABLES}
    if whole is not None:
        return whole, by_table
    faults = list_faults(errors, source)
    for path, fault in faults:
        if len(path) < 2 or path[0] not in INDEPENDENT_TABLES:
            raise FaultyConfigError([each for _, each in faults])
        group, name = by_table[str(path[0])], str(path[1])
        group[name] = (*group.get(name, ()), fault)
    return Config.model_validate(drop_faulty_tables(source.tables, by_table)), by_table


def drop_faulty_tables(tables: Mapping[str, Any], faults: FaultsByTable) -> dict[str, Any]:
    """Return the tables of a file without those that have faults."""
    rest = dict(tables)
    for group, names in faults.items():
        if names:
            rest[group] = {name: table for name, table in tables[group].items() if name not in names}
    return rest


def extract_sound_part(source: Source, kinds: Kinds | None) -> tuple[Config, list[tuple[KeyPath, Fault]]]:
    """Return the configuration without its faulty values, and all faults."""
    tables = deepcopy(dict(source.tables))
    found: dict[KeyPath, Fault] = {}
    while True:
        config, errors = validate_tables(tables, kinds)
        if config is not None:
            return config, list(found.items())
        faults = list_faults(errors, source)
        found = {**dict(faults), **found}
        for path in _outermost({_existing_part(tables, path) for path, _ in faults}):
            _remove(tables, path)


def _existing_part(value: Any, path: KeyPath) -> KeyPath:
    """Return the part of a path that exists in the file: a missing key is a fault of its table."""
    for length, part in enumerate(path):
        try:
            value = value[part]
        except (KeyError, IndexError, TypeError):
            return path[:length]
    return path


def _outermost(paths: Collection[KeyPath]) -> list[KeyPath]:
    """Return the paths that are not below another one, later array entries first."""
    outer = [path for path in paths if path and not any(path[:n] in paths for n in range(1, len(path)))]
    # In this order, removing an array entry does not shift the entries that are still to be removed.
    return sorted(outer, key=lambda path: [(isinstance(part, int), part) for part in path], reverse=True)


def _remove(tables: Any, path: KeyPath) -> None:
    for part in path[:-1]:
        tables = tables[part]
    del tables[path[-1]]


def list_faults(errors: Iterable[ErrorDetails], source: Source) -> list[tuple[KeyPath, Fault]]:
    """Return the faults with their paths, in file order. They never quote values, which may be secrets."""
    lines = source.lines()
    sentences: dict[KeyPath, list[str]] = {}
    for each in errors:
        path = tuple(part for part in each["loc"] if part != "[key]")
        if each["type"] in _TYPE_NAMES and path[-1] == _TYPE_NAMES[each["type"]]:
            # If a key allows several types, the path ends with the name of the type that pydantic tried.
            path = path[:-1]
        sentences.setdefault(path, []).append(_describe(each))
    faults = [
        (path, Fault(source.name, ".".join(map(str, path)), _join(found), line_of(path, lines)))
        for path, found in sentences.items()
    ]
    return sorted(faults, key=lambda item: item[1].line or 0)


def _join(sentences: Sequence[str]) -> str:
    first, *others = dict.fromkeys(sentences)
    return ", or ".join([first, *(each.removeprefix("must be ") for each in others)])


class FaultyConfigError(ConfigError):
    """A configuration with faults: the first becomes the message, the others the hint."""

    def __init__(self, faults: Sequence[Fault], provider: str | None = None) -> None:
        others = " ".join(f"Also: {fault}." for fault in faults[1:])
        super().__init__(f"{faults[0]}.", provider=provider, hint=others or None)
        self.faults = tuple(faults)


_SENTENCES = {
    "missing": "is missing",
    "string_type": "must be a string",
    "int_type": "must be an integer",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be an array",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "model_attributes_type": "must be a table",
    "string_too_short": "must not be empty",
    "too_short": "must not be empty",
    "greater_than": "must be greater than {gt:g}",
    "greater_than_equal": "must be at least {ge:g}",
    "less_than_equal": "must be at most {le:g}",
    "literal_error": "must be one of {expected}",
    "invalid-json-value": "must be text, a number, true, false, an array or a table",
    "value_error": "{error}",
}
_TYPE_NAMES = {"string_type": "str", "int_type": "int", "float_type": "float", "bool_type": "bool"}
"""The type that pydantic appends to the path of an error, by the type of the error."""

_NAMES = {
    "providers": "is not a valid provider name; it must not contain colons or white space",
    "prompts": "is not a valid prompt name; it must have 1 to 100 letters, digits, dots, underscores or "
    "hyphens",
    "mcp": "is not a valid name of a server; it must have 1 to 64 letters, digits, dots, underscores or "
    "hyphens",
}
"""The messages for invalid table names, in place of pydantic's messages, by the enclosing table."""

_FORMS = {
    "base_url": "must be an address that begins with http:// or https:// and a host",
    "url": "must be an address that begins with http:// or https:// and a host",
    "mapping": "must be chat, parameters, or a path such as parameters.options",
}
"""The messages for keys that must match a pattern, in place of pydantic's messages."""


def _describe(error: ErrorDetails) -> str:
    """Describe a pydantic error in TOML terms."""
    key = str(error["loc"][-1])
    form = _NAMES.get(str(error["loc"][0])) if key == "[key]" else _FORMS.get(key)
    if error["type"] == "string_pattern_mismatch" and form is not None:
        return form
    known = _SENTENCES.get(error["type"])
    return str(error["msg"]) if known is None else known.format_map(error.get("ctx", {}))
