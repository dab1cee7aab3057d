"""Reads and writes the YAML of front matter, with PyYAML and the plain values of YAML 1.2."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any, Protocol

from yaml import Node, YAMLError
from yaml.composer import Composer
from yaml.emitter import Emitter
from yaml.error import MarkedYAMLError
from yaml.events import AliasEvent, Event
from yaml.nodes import MappingNode, ScalarNode, SequenceNode
from yaml.parser import Parser
from yaml.reader import Reader, ReaderError
from yaml.resolver import BaseResolver
from yaml.scanner import Scanner
from yaml.serializer import Serializer

from jumpseat.chat.nul import replace_nul
from jumpseat.chat.transcript.editor_settings import escape_settings, has_settings


class _Mark(Protocol):
    """A position in the text. PyYAML has two such classes: one for its own parser, one for libyaml."""

    line: int


DEEPEST = 50
"""The maximum nesting. Even a setting whose value is a JSON Schema has far fewer levels."""

_TAG = "tag:yaml.org,2002:"
_STR, _INT, _FLOAT, _BOOL, _NULL = (f"{_TAG}{name}" for name in ("str", "int", "float", "bool", "null"))
_SEQ, _MAP = f"{_TAG}seq", f"{_TAG}map"
# A double has at most 309 digits before the point, and `int` rejects texts of more than 4300 digits.
_LONGEST_NUMBER = 400

# PyYAML follows YAML 1.1, where `no` is false and `12:30` is 750. These are the rules of YAML 1.2.2 for JSON
# values (section 10.2), with more spellings from its core schema (10.3). Any other plain value is a string.
_PLAIN_VALUES = (
    (_BOOL, r"true|True|TRUE|false|False|FALSE", "tTfF"),
    (_NULL, r"null|Null|NULL|~|", "nN~"),
    (_INT, r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    (_FLOAT, r"[-+]?(?:0|[1-9][0-9]*)(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)", "-+0123456789"),
)

# These find the strings that cannot be plain values, and those that a literal block can represent.
_NOT_PLAIN = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
_LITERAL = re.compile(
    "[^\x00-\x20\x7f-\xa0\u2028\u2029\ufeff][^\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]*\\Z"
)


@dataclass(frozen=True, slots=True)
class YamlPair:
    """The value of a key, and the place of both. Lines and columns are counted from 0."""

    value: Any
    line: int
    """The line of the key."""

    start: int
    """The column of the first character of the key."""

    end: int | None
    """The column after the value; None if the value ends on a later line."""

    parts: Mapping[str, YamlPair] = field(default_factory=dict)
    """The pairs of a top-level value that is a mapping."""


class YamlFault(ValueError):  # noqa: N818 - the text is at fault
    """The text is not valid in this subset of YAML."""

    def __init__(self, line: int, problem: str) -> None:
        """
        Args:
            line: counted from 0.
            problem: the description, which completes a sentence that names the line.
        """
        super().__init__(problem)
        self.line = line
        self.problem = problem


class TooDeep(ValueError):  # noqa: N818 - the value is at fault
    """A value is nested deeper than `read_yaml` allows."""


class _Resolver(BaseResolver):
    """Determines the types of plain values."""


for _tag, _form, _first in _PLAIN_VALUES:
    _firsts = [*_first, ""] if _tag == _NULL else list(_first)
    _Resolver.add_implicit_resolver(_tag, re.compile(rf"(?:{_form})\Z"), _firsts)


class _Loader(Reader, Scanner, Parser, Composer, _Resolver):
    """Parses a text to a tree of nodes."""

    def __init__(self, text: str) -> None:
        Reader.__init__(self, text)
        Scanner.__init__(self)
        Parser.__init__(self)
        Composer.__init__(self)
        _Resolver.__init__(self)
        self._depth = 0

    def compose_node(self, parent: Node | None, index: int) -> Node | None:
        event: Event = self.peek_event()  # type: ignore[no-untyped-call]  # PyYAML's type is missing
        if isinstance(event, AliasEvent) or getattr(event, "anchor", None) is not None:
            # A few aliases can expand to gigabytes.
            raise YamlFault(_find_line(event.start_mark), "anchors and aliases are not supported")
        self._depth += 1
        if self._depth > DEEPEST:
            raise YamlFault(_find_line(event.start_mark), "this is nested too deep")
        node = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(node, ScalarNode):
            node.value = replace_nul(node.value)
        return node


def read_yaml(text: str) -> dict[str, YamlPair]:
    """Parse the top-level pairs of a text.

    Raises:
        YamlFault: the text is not valid in this subset of YAML, or is not a mapping.
    """
    try:
        root = _Loader(text).get_single_node()
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise YamlFault(_find_line(mark), error.problem or "this is not valid YAML") from None
    except ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise YamlFault(line, "control characters are not allowed") from None
    except YAMLError as error:
        raise YamlFault(0, str(error)) from None
    except RecursionError:
        raise YamlFault(0, "this is nested too deep") from None
    if root is None:
        return {}
    if not isinstance(root, MappingNode):
        raise YamlFault(
            _find_line(root.start_mark), "front matter must be keys with values, such as model: NAME"
        )
    pairs = {}
    for key, node in _construct_pairs(root):
        below = _construct_pairs(node) if isinstance(node, MappingNode) and node.tag == _MAP else []
        parts = {each.value: _place(each, inner) for each, inner in below}
        pairs[key.value] = replace(_place(key, node), parts=parts)
    return pairs


def _place(key: ScalarNode, node: Node) -> YamlPair:
    line, end = _find_line(key.start_mark), node.end_mark
    return YamlPair(
        _construct_value(node), line, key.start_mark.column, end.column if end.line == line else None
    )


def _find_line(mark: _Mark | None) -> int:
    return mark.line if mark else 0


def _construct_pairs(mapping: MappingNode) -> list[tuple[ScalarNode, Node]]:
    found: dict[str, tuple[ScalarNode, Node]] = {}
    for key, value in mapping.value:
        line = _find_line(key.start_mark)
        if not isinstance(key, ScalarNode) or key.tag not in (_STR, _INT, _FLOAT, _BOOL, _NULL):
            raise YamlFault(line, "a key must be a plain word or a string")
        if key.value in found:
            raise YamlFault(line, f"the key {key.value} occurs twice")
        found[key.value] = (key, value)
    return list(found.values())


def _construct_value(node: Node) -> Any:
    if isinstance(node, MappingNode) and node.tag == _MAP:
        return {key.value: _construct_value(value) for key, value in _construct_pairs(node)}
    if isinstance(node, SequenceNode) and node.tag == _SEQ:
        return [_construct_value(item) for item in node.value]
    line, text = _find_line(node.start_mark), node.value
    if node.tag in (_INT, _FLOAT) and len(text) > _LONGEST_NUMBER:
        raise YamlFault(line, "this number is too long")
    match node.tag:
        case tag if tag == _STR:
            return text
        case tag if tag == _BOOL:
            return text.lower() == "true"
        case tag if tag == _NULL:
            return None
        case tag if tag == _INT and (text.lstrip("+-").isdigit()):
            return int(text)
        case tag if tag == _FLOAT:
            try:
                number = float(text)
            except ValueError:
                number = math.nan
            if math.isfinite(number):
                return number
            raise YamlFault(line, f"the number {text} is too large")
    raise YamlFault(line, f"the tag {node.tag.removeprefix(_TAG)} is not supported")


class _Dumper(Emitter, Serializer, _Resolver):
    """Writes a tree of nodes as text."""

    def __init__(self, stream: StringIO) -> None:
        Emitter.__init__(self, stream, width=sys.maxsize, allow_unicode=True)
        Serializer.__init__(self)
        _Resolver.__init__(self)


def write_yaml(value: Mapping[str, Any], *, one_line: bool) -> str:
    """Return a JSON object as YAML that `read_yaml` parses to an equal object.

    Args:
        value: the object.
        one_line: whether to write each value on the line of its key.

    Raises:
        TooDeep: the object is nested deeper than `DEEPEST` levels.
    """
    stream = StringIO()
    dumper = _Dumper(stream)
    dumper.open()
    pairs = [(_build_scalar(key), _build_node(item, DEEPEST - 1, one_line)) for key, item in value.items()]
    dumper.serialize(MappingNode(_MAP, pairs, flow_style=False))
    dumper.close()
    # `_build_scalar` has put every string with editor settings in double quotes, where `\x3A` means a colon.
    return escape_settings(stream.getvalue(), r"\x3A")


def _build_node(value: Any, levels: int, one_line: bool) -> Node:
    if levels == 0:
        raise TooDeep("nested too deep")
    if isinstance(value, Mapping):
        # Sort the keys: the text must be stable, and some clients do not preserve their order.
        pairs = [
            (_build_scalar(str(key)), _build_node(item, levels - 1, one_line))
            for key, item in sorted(value.items())
        ]
        return MappingNode(_MAP, pairs, flow_style=one_line or not pairs)
    if isinstance(value, list | tuple):
        items = [_build_node(item, levels - 1, one_line) for item in value]
        return SequenceNode(_SEQ, items, flow_style=one_line or not items)
    if isinstance(value, str):
        return _build_scalar(value, one_line)
    if value is None:
        return ScalarNode(_NULL, "null")
    if isinstance(value, bool):
        return ScalarNode(_BOOL, "true" if value else "false")
    return ScalarNode(_INT if isinstance(value, int) else _FLOAT, repr(value))


def _build_scalar(text: str, one_line: bool = False) -> ScalarNode:
    # Add the colon that follows a key: it may complete editor settings.
    if has_settings(f"{text}:"):
        return ScalarNode(_STR, text, style='"')
    if _NOT_PLAIN.search(text) is None:
        return ScalarNode(_STR, text)
    # A literal block is readable, but cannot represent leading white space or control characters.
    return ScalarNode(_STR, text, style='"' if one_line or not _LITERAL.match(text) else "|")
