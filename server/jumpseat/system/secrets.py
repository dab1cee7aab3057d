"""Secrets: values that are never shown, and their redaction in logs and errors."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import OrderedDict
from typing import NoReturn
from urllib.parse import quote, quote_plus
from weakref import WeakValueDictionary

SHORTEST_HIDDEN = 12
"""Shorter values occur in ordinary text, such as the key `ollama` for servers that need none."""

_CREDENTIAL = re.compile(r"api_key|auth|key|token|secret|cookie|password", re.IGNORECASE)

RECENT = 100
"""How many short-lived values that are not in use are still redacted."""


class Secret:
    """A value that must not be shown. Only `reveal` returns it; it cannot be pickled or serialised."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself, for a request only."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never serialised")


def names_credential(name: str) -> bool:
    """Whether the name of a key, a header, a parameter or a variable is that of a credential."""
    return _CREDENTIAL.search(name) is not None


_lock = threading.Lock()
_forms: dict[str, frozenset[str]] = {}
"""The forms in which each value is redacted."""

_in_use: WeakValueDictionary[str, Secret] = WeakValueDictionary()
_short_lived: OrderedDict[str, None] = OrderedDict()
"""Values that may be forgotten, the least recently hidden first."""

_redacted: tuple[str, ...] = ()
"""The longest first; replaced as a whole, because many threads write logs."""


def hidden(value: str, *, short_lived: bool = False) -> Secret:
    """A credential. Logs and errors redact it from now on, also URL-encoded and as a JSON string.

    Args:
        value: the credential itself.
        short_lived: it is replaced after some time. It is forgotten when no `Secret` holds it any more and
            `RECENT` others have been hidden since.
    """
    global _redacted
    if len(value) < SHORTEST_HIDDEN:
        return Secret(value)
    with _lock:
        secret = _in_use.setdefault(value, Secret(value))
        is_new = value not in _forms
        if short_lived and (is_new or value in _short_lived):
            _short_lived[value] = None
            _short_lived.move_to_end(value)
        else:
            _short_lived.pop(value, None)
        if is_new:
            _forms[value] = _forms_of(value)
            for old in [each for each in _short_lived if each not in _in_use][:-RECENT]:
                del _short_lived[old], _forms[old]
            _redacted = tuple(sorted(set().union(*_forms.values()), key=len, reverse=True))
    return secret


def _forms_of(value: str) -> frozenset[str]:
    escaped = (json.dumps(value, ensure_ascii=each)[1:-1] for each in (True, False))
    return frozenset((value, quote(value, safe=""), quote(value, safe="/:@"), quote_plus(value), *escaped))


class SecretFilter(logging.Filter):
    """Redacts every secret resolved so far in log records.

    Add it to the handler: libraries log through loggers of their own.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record if it holds a secret; never drop it."""
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        try:
            message = record.getMessage()
        except Exception:  # An exception of a filter reaches the caller of the logger.
            message = f"{record.msg} {record.args}"
            record.msg, record.args = message, None
        if any(secret in message or secret in (record.exc_text or "") for secret in _redacted):
            record.msg, record.args = redact(message), None
            record.exc_text = redact(record.exc_text) if record.exc_text else None
        return True


def redact(text: str) -> str:
    """The text with every secret resolved so far replaced by `***`."""
    for secret in _redacted:
        text = text.replace(secret, "***")
    return text
