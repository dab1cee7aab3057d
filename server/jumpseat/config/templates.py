"""Finds `${name}` in configured texts, and encodes values for their places in a URL.

`Values` fills in the values. A `${name}` within a value that was filled in is not replaced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, urlsplit

_PART = re.compile(r"\$\$\{|\$\{([A-Za-z0-9_.-]*)\}|\$\{")

_IN_A_HOST = re.compile(r"[A-Za-z0-9._~:\[\]-]*")


class TemplateError(ValueError):
    """A text has an invalid `${`. The message completes a sentence."""


class Template(str):
    """A configured text whose `${name}` are not replaced yet.

    The type distinguishes it from the other texts of a request, in which `${` is not replaced.
    """

    __slots__ = ()


def is_template(text: str) -> bool:
    """Whether the text contains `${`, even if it is escaped as `$${` or malformed."""
    return "${" in text


def mark_templates(value: Any) -> Any:
    """Return a copy of the value in which every text with `${` is a `Template`."""
    if isinstance(value, str):
        return Template(value) if is_template(value) else value
    if isinstance(value, dict):
        return {key: mark_templates(item) for key, item in value.items()}
    if isinstance(value, list):
        return [mark_templates(item) for item in value]
    return value


def has_templates(value: Any) -> bool:
    """Whether the value contains a `Template`."""
    if isinstance(value, dict):
        return any(map(has_templates, value.values()))
    if isinstance(value, list | tuple):
        return any(map(has_templates, value))
    return isinstance(value, Template)


def split_template(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield pairs of literal text and the name that follows it. In the last pair, the name is None.

    Raises:
        TemplateError: a `${` is not closed, or contains no name.
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
            raise TemplateError(
                "has a ${ that is not followed by a name and a }; for a literal ${, write $${"
            )
    yield plain + text[end:], None


def names_in(text: str) -> set[str]:
    """Return the names that a text uses; empty if the text is malformed, which is reported elsewhere."""
    try:
        return {name for _, name in split_template(text) if name is not None}
    except TemplateError:
        return set()


def fault_of_address(text: str) -> str | None:
    """Return why an address is invalid, as the end of a sentence.

    Returns None if the address is valid, or if that depends on a `${name}`.
    """
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


def encode_for_url(before: str, name: str, value: str) -> str:
    """Percent-encode a value for its place in a URL.

    A value at the start of the URL or in the host is returned unchanged. In the host, it may only have
    characters that are valid there. In the path, `/`, `:` and `@` are not encoded; in the query, they are.

    Args:
        before: the encoded URL up to the value.
        name: the name in the template, for errors.
        value: the value to encode.

    Raises:
        TemplateError: the value is not allowed in this place.
    """
    _, began, rest = before.partition("://")
    if not began or not re.search(r"[/?#]", rest):
        # The client chooses the model, but must not choose the host that receives the credential.
        if name == "model":
            raise TemplateError("has ${model} in its host, which a request may not choose")
        if began and not _IN_A_HOST.fullmatch(value):
            raise TemplateError(f"has ${{{name}}} in its host, and its value is not part of a host name")
        return value
    if "?" in rest or "#" in rest:
        return quote(value, safe="")
    if {".", ".."} & set(value.split("/")):
        raise TemplateError(f"has ${{{name}}} in its path, and its value would leave that path")
    return quote(value, safe="/:@")
