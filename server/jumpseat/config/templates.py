"""`${name}` in configured texts: finding the names, and putting values in their places.

A text is cut once; what a value holds is never looked at again, so names in a value are not
replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

_PART = re.compile(r"\$\$\{|\$\{([A-Za-z0-9_.-]*)\}|\$\{")

_IN_A_HOST = re.compile(r"[A-Za-z0-9._~:\[\]-]*")


class TemplateError(ValueError):
    """A text with a `${` that means nothing. Says so as the end of a sentence."""


class Template(str):
    """A configured text with `${name}`, not yet replaced. The mark survives a merge into a request's body."""

    __slots__ = ()


def is_template(text: str) -> bool:
    """Whether anything in the text is to be replaced, `$${` included."""
    return "${" in text


def marked(value: Any) -> Any:
    """The value with each text of it that is a template marked as one."""
    if isinstance(value, str):
        return Template(value) if is_template(value) else value
    if isinstance(value, dict):
        return {key: marked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [marked(item) for item in value]
    return value


def has_templates(value: Any) -> bool:
    """Whether there is a marked text in the value."""
    if isinstance(value, dict):
        return any(map(has_templates, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_templates, value))
    return isinstance(value, Template)


def pieces(text: str) -> Iterator[tuple[str, str | None]]:
    """The text as pairs of what stands for itself, and the name that follows it; None at the end.

    Raises:
        TemplateError: a `${` is not closed, or has no name in it.
    """
    plain, end = "", 0
    for found in _PART.finditer(text):
        plain += text[end : found.start()]
        end = found.end()
        if found[0] == "$${":
            plain += "${"
        elif found[1]:
            yield plain, found[1]
            plain = ""
        else:
            raise TemplateError("has a ${ that no name and } follow; write $${ for the characters themselves")
    yield plain + text[end:], None


def names_in(text: str) -> set[str]:
    """The names that a text uses; empty for a malformed one, which is reported when it is filled."""
    try:
        return {name for _, name in pieces(text) if name is not None}
    except TemplateError:
        return set()


def fault_of_address(text: str) -> str | None:
    """Why no request can go to an address, as the end of a sentence; None where a `${name}` decides."""
    authority = re.split(r"[/?#]", text.partition("://")[2], maxsplit=1)[0]
    if is_template(text.partition("://")[0]) or is_template(authority):
        return None
    try:
        parts = urlsplit(text)
        if parts.hostname and parts.port != 0 and not re.search(r"[\s\x00-\x1f\x7f]", authority):
            return None
    except ValueError:
        pass
    return "must have a host, and a port from 1 to 65535 if it has one"


def in_url(before: str, name: str, value: str) -> str:
    """A value as it has to be spelled at its place in a URL.

    What begins the URL, an address as a whole, stays as it is. In a host only its characters are allowed.
    In a path everything else than those of a path is percent-encoded, in a query everything else than
    letters and digits.

    Args:
        before: the URL up to there, spelled.
        name: what is replaced: `model` comes with a request, which may not choose the host.
        value: what it stands for.

    Raises:
        TemplateError: it cannot stand there.
    """
    _, began, rest = before.partition("://")
    if not began or not re.search(r"[/?#]", rest):
        if name == "model":
            raise TemplateError("has ${model} in its host, which a request may not choose")
        if began and not _IN_A_HOST.fullmatch(value):
            raise TemplateError(f"has ${{{name}}} in its host, and its value cannot stand there")
        return value
    if "?" in rest or "#" in rest:
        return quote(value, safe="")
    if {".", ".."} & set(value.split("/")):
        raise TemplateError(f"has ${{{name}}} in its path, and its value would leave that path")
    return quote(value, safe="/:@")
