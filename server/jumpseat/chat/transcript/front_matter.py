"""Front matter: the model, system prompt, tools, settings and id of a conversation.

In Markdown, it is between two `---` lines. The syntax is a subset of YAML 1.2 with JSON values: `yes`, `off`,
`010`, `12:30` and dates are strings. Anchors, tags and repeated keys are not allowed. Each entry of
`settings` is a setting, and so is each top-level key that is not in `KEYS`.

In Org, it is a property drawer, whose values have the same syntax. Properties that are not in `KEYS` are
ignored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from jumpseat.chat.errors import InvalidRequestError, Problem
from jumpseat.chat.transcript.form import LinePart, is_blank
from jumpseat.chat.transcript.syntax import KEYS, Syntax

if TYPE_CHECKING:
    from jumpseat.chat.transcript.yaml_subset import YamlPair

LARGEST = 1 << 20
"""The maximum number of characters of the YAML. No system prompt is that long."""


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The values of the front matter, and the line where the conversation begins."""

    system: str | None = None
    model: str | None = None
    tools: Sequence[str] = ()
    """Selectors of the tools that the daemon runs, such as `files/*`."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    conversation: str | None = None
    end_line: int = 0
    places: Mapping[str, LinePart] = field(default_factory=dict)
    """The places of the keys and their values, by path: `model`, `settings.temperature`."""

    def override(self, inner: FrontMatter) -> FrontMatter:
        """Return the values that apply to a branch with a property drawer of its own.

        Args:
            inner: the values of the drawer. Each replaces the whole value of its key.
        """
        keys = [key for key in KEYS if key in inner.places]
        outer_places = {
            path: place for path, place in self.places.items() if path.partition(".")[0] not in keys
        }
        values: dict[str, Any] = {key: getattr(inner, key) for key in keys}
        return replace(self, **values, places=outer_places | dict(inner.places))


class FrontMatterError(InvalidRequestError):
    """The front matter is invalid."""

    def __init__(self, line: int, problem: str) -> None:
        """
        Args:
            line: counted from 0.
            problem: the description, which completes a sentence that names the line.
        """
        sentence = f"line {line + 1}: {problem}"
        super().__init__(f"text: {sentence}", [Problem("text", sentence)])
        self.line = line
        self.problem = problem


def read_front_matter(lines: Sequence[str], syntax: Syntax) -> FrontMatter:
    """Parse the front matter at the start of these lines; empty if there is none.

    Raises:
        FrontMatterError: the front matter is not closed, too large, or not valid in the subset.
    """
    start = _skip_asides(lines, 0, syntax)
    if start == len(lines) or not syntax.front_start.match(lines[start]):
        return FrontMatter(end_line=start)
    end = _find_closing(lines, start, syntax)
    front = read_values(lines, start, end, syntax)
    return replace(front, end_line=_skip_asides(lines, end + 1, syntax))


def read_values(lines: Sequence[str], start: int, end: int, syntax: Syntax) -> FrontMatter:
    """Parse the values between the first and the last line of front matter or of a property drawer.

    Raises:
        FrontMatterError: they are too large, or not valid in the subset.
    """
    first = start + 1
    yaml, columns = _extract_yaml(lines[first:end], syntax)
    text = "".join([f"{line}\n" for line in yaml])
    if len(text) > LARGEST:
        raise FrontMatterError(start, f"the {syntax.front_name} has more than {LARGEST} characters")
    if not text.strip():
        return FrontMatter()

    # Import this late: PyYAML is slow to import, and most texts have no front matter.
    from jumpseat.chat.transcript.yaml_subset import YamlFault, read_yaml

    try:
        pairs = read_yaml(text)
    except YamlFault as fault:
        raise FrontMatterError(first + fault.line, fault.problem) from None
    return FrontMatter(**_read_pairs(pairs, first, columns))


def _read_pairs(pairs: Mapping[str, YamlPair], first: int, columns: Sequence[int]) -> dict[str, Any]:
    """Return the fields of the front matter.

    Args:
        pairs: the parsed pairs.
        first: the number of the first line inside the front matter.
        columns: the column at which each line's YAML begins.
    """
    settings: dict[str, Any] = {}
    words: dict[str, str] = {}
    tools: list[str] = []
    places: dict[str, LinePart] = {}

    def place(path: str, pair: YamlPair) -> None:
        column = columns[pair.line]
        end = None if pair.end is None else column + pair.end
        places[path] = LinePart(first + pair.line, column + pair.start, end)

    for key, pair in pairs.items():
        value = pair.value
        if value is None:  # The user left the value empty.
            continue
        if key in KEYS:
            place(key, pair)
        if key == "conversation":
            # A chat does not need the id, so ignore an invalid one.
            if isinstance(value, str):
                words[key] = value
            continue
        if key in ("model", "system"):
            if not isinstance(value, str):
                raise FrontMatterError(first + pair.line, f"{key} must be text; put it in quotation marks")
            words[key] = value
            continue
        if key == "tools":
            tools = _read_tools(pair, first)
            continue
        if key == "settings" and not isinstance(value, dict):
            raise FrontMatterError(first + pair.line, "settings must be keys with values")
        for name, setting in pair.parts.items() if key == "settings" else [(key, pair)]:
            if name in settings:
                raise FrontMatterError(first + setting.line, f"the setting {name} occurs twice")
            if setting.value is not None:
                settings[name] = setting.value
                place(f"settings.{name}", setting)
    return {**words, "tools": tools, "settings": settings, "places": places}


def _read_tools(pair: YamlPair, first: int) -> list[str]:
    """Parse the value of `tools`, a list or a comma-separated text. A server's name selects all its tools."""
    words = pair.value.split(",") if isinstance(pair.value, str) else pair.value
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise FrontMatterError(first + pair.line, "tools must be a list of selectors such as files/*")
    selectors = [word.strip() for word in words if word.strip()]
    return [selector if "/" in selector else f"{selector}/*" for selector in selectors]


def write_front_matter(
    syntax: Syntax,
    *,
    system: str | None,
    model: str | None,
    tools: Sequence[str],
    settings: Mapping[str, Any],
    conversation: str | None,
) -> list[str]:
    """Return the lines of the front matter with its first and last line; empty if there are no values.

    Raises:
        InvalidRequestError: the result would be larger, or nested deeper, than `read_front_matter` allows.
    """
    pairs = {
        "model": model,
        "system": system,
        "tools": list(tools),
        "settings": {key: value for key, value in settings.items() if value is not None},
        "conversation": conversation,
    }
    pairs = {key: value for key, value in pairs.items() if value not in (None, {}, [])}
    if not pairs:
        return []

    from jumpseat.chat.transcript.yaml_subset import TooDeep, write_yaml

    try:
        text = write_yaml(pairs, one_line=syntax.front_property is not None)
    except TooDeep:
        raise InvalidRequestError.at("settings", "is nested too deep for a transcript") from None
    if len(text) > LARGEST:
        largest = "system" if len(system or "") > LARGEST // 2 else "settings"
        raise InvalidRequestError.at(
            largest, f"is too long for a transcript, whose front matter has at most {LARGEST} characters"
        )
    colon = ":" if syntax.front_property else ""
    opening, closing = syntax.front
    return [opening, *(colon + line for line in text.removesuffix("\n").split("\n")), closing]


def _skip_asides(lines: Sequence[str], index: int, syntax: Syntax) -> int:
    """Return the first line from `index` on that is neither blank nor a `Syntax.aside`.

    In a format without asides, return `index`.
    """
    if syntax.aside:
        while index < len(lines) and (is_blank(lines[index]) or syntax.aside.match(lines[index])):
            index += 1
    return index


def _extract_yaml(lines: Sequence[str], syntax: Syntax) -> tuple[list[str], list[int]]:
    """Return the YAML of each line, and the column where it begins.

    A property that another program uses becomes an empty line.
    """
    if syntax.front_property is None:
        return [line.removesuffix("\r") for line in lines], [0] * len(lines)
    yaml, columns = [""] * len(lines), [0] * len(lines)
    for index, line in enumerate(lines):
        if found := syntax.front_property.match(line):
            yaml[index] = f"{found['key'].lower()}:{found['value']}"
            columns[index] = found.start("key")
    return yaml, columns


def _find_closing(lines: Sequence[str], start: int, syntax: Syntax) -> int:
    problem = f"the {syntax.front_name} is not closed by a line of {syntax.front[1]}"
    for index in range(start + 1, len(lines)):
        line = lines[index]
        if syntax.front_end.match(line):
            return index
        if line.startswith(syntax.heading) and not is_blank(line):
            # This is a heading, so the conversation has begun. Any later `---` is a thematic break in it.
            raise FrontMatterError(start, f"{problem} before line {index + 1}")
    raise FrontMatterError(start, problem)
