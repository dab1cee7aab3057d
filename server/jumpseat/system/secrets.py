"""Secrets: values that are shown nowhere, and taken out of whatever is about to be shown.

Above it are value sources, and everybody who logs or reports; below it is nothing of ours.
"""

from __future__ import annotations

import logging
import re
import threading
from typing import NoReturn
from urllib.parse import quote, quote_plus

SHORTEST_HIDDEN = 12
"""Shorter values, such as the `ollama` that servers without keys are given, occur in ordinary text."""

_CREDENTIAL = re.compile(r"api_key|auth|key|token|secret|cookie|password", re.IGNORECASE)

_lock = threading.Lock()
_revealed: tuple[str, ...] = ()
"""The longest first, replaced as a whole: logs are written on many threads."""


class Secret:
    """A value that must not be shown. Only `reveal` gives it out; it cannot be pickled or serialised."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself: for a request, and nothing else."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never serialised")


def names_credential(name: str) -> bool:
    """Whether a key, a header, a parameter or a variable is, by its name, for something secret."""
    return _CREDENTIAL.search(name) is not None


def hidden(value: str) -> Secret:
    """A credential, kept out of logs and errors from now on, also as it is spelled in a URL."""
    global _revealed
    if len(value) >= SHORTEST_HIDDEN:
        spelled = {value, quote(value, safe=""), quote(value, safe="/:@"), quote_plus(value)}
        with _lock:
            if not spelled <= set(_revealed):
                _revealed = tuple(sorted({*_revealed, *spelled}, key=len, reverse=True))
    return Secret(value)


def is_hidden(value: str) -> bool:
    """Whether a text is a secret that was resolved before."""
    return value in _revealed


class SecretFilter(logging.Filter):
    """Takes every secret resolved so far out of a log record, whoever wrote it.

    It belongs on the handler: libraries log through loggers of their own.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record if it holds a secret; keep it in any case."""
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        try:
            message = record.getMessage()
        except Exception:  # A filter that raises would fail whoever logged, where a handler only complains.
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
