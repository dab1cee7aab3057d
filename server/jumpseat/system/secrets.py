"""Secrets: values that are never shown, and their redaction in logs and errors."""

from __future__ import annotations

import json
import logging
import re
import threading
from typing import NoReturn
from urllib.parse import quote, quote_plus

SHORTEST_HIDDEN = 12
"""Shorter values occur in ordinary text, such as the key `ollama` for servers that need none."""

_CREDENTIAL = re.compile(r"api_key|auth|key|token|secret|cookie|password", re.IGNORECASE)

_lock = threading.Lock()
_revealed: tuple[str, ...] = ()
"""The longest first; replaced as a whole, because many threads write logs."""


class Secret:
    """A value that must not be shown. Only `reveal` returns it; it cannot be pickled or serialised."""

    __slots__ = ("_value",)

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


def hidden(value: str) -> Secret:
    """A credential. Logs and errors redact it from now on, also URL-encoded and as a JSON string."""
    global _revealed
    if len(value) >= SHORTEST_HIDDEN:
        escaped = (json.dumps(value, ensure_ascii=each)[1:-1] for each in (True, False))
        forms = {value, quote(value, safe=""), quote(value, safe="/:@"), quote_plus(value), *escaped}
        with _lock:
            if not forms <= set(_revealed):
                _revealed = tuple(sorted({*_revealed, *forms}, key=len, reverse=True))
    return Secret(value)


def is_hidden(value: str) -> bool:
    """Whether a text is a secret that was resolved before."""
    return value in _revealed


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
        if any(secret in message or secret in (record.exc_text or "") for secret in _revealed):
            record.msg, record.args = redact(message), None
            record.exc_text = redact(record.exc_text) if record.exc_text else None
        return True


def redact(text: str) -> str:
    """The text with every secret resolved so far replaced by `***`."""
    for secret in _revealed:
        text = text.replace(secret, "***")
    return text
