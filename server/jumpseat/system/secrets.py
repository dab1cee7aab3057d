"""Secret values, and their redaction in logs and errors."""

from __future__ import annotations

import json
import logging
import re
import threading
from collections import OrderedDict
from typing import NoReturn
from urllib.parse import parse_qsl, quote, quote_plus, unquote, urlsplit
from weakref import WeakValueDictionary

SHORTEST_REDACTED = 12
"""The minimum length of a value to redact. Shorter values may also occur in ordinary text.

An example is `ollama`, the usual key for a server that does not check keys.
"""

SHORTEST_BEGINNING = 6
"""The minimum length at which the beginning of a secret is withheld.

A shorter beginning reveals nothing: many secrets begin with `sk-`.
"""

_CREDENTIAL = re.compile(r"api_key|auth|key|token|secret|cookie|password", re.IGNORECASE)

_WITH_SCHEME = re.compile(rf"[A-Za-z][\w-]* +(?P<credential>\S{{{SHORTEST_REDACTED},}})")
"""Matches the value of an authorization header: a scheme such as `Bearer`, and a credential.

The credential is also redacted on its own, because it may occur without the scheme.
"""

RECENT = 100
"""The number of short-lived values that are still redacted after their use has ended."""


class Secret:
    """A value that must not be shown. Only `reveal` returns it, and it cannot be pickled or serialised."""

    __slots__ = ("__weakref__", "_value")

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the value. Use it in requests only."""
        return self._value

    def __repr__(self) -> str:
        return "***"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return "***"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret is never serialised")


def names_credential(name: str) -> bool:
    """Whether a key, header, parameter or variable of this name usually contains a credential."""
    return _CREDENTIAL.search(name) is not None


class KnownSecrets:
    """A set of secrets to redact.

    One set has all secrets of this process, for logs and errors. Each client has a set of its own, for its
    conversations.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._forms: dict[str, frozenset[str]] = {}
        """Maps the value of each secret to the forms that are redacted."""

        self._in_use: WeakValueDictionary[str, Secret] = WeakValueDictionary()
        """The secrets that still exist, by their values."""

        # These values may be dropped. The least recently added is first.
        self._short_lived: OrderedDict[str, None] = OrderedDict()
        # The longest is first, because one secret may contain another. Always replace the whole tuple:
        # several threads use it without the lock.
        self._redacted: tuple[str, ...] = ()

    def add(self, secret: Secret, *, short_lived: bool = False) -> Secret:
        """Redact a secret from now on, including its URL-encoded and JSON forms.

        Args:
            secret: the secret. A text of fewer than `SHORTEST_REDACTED` characters is not redacted.
            short_lived: whether the value is replaced after some time. A short-lived value is dropped once no
                `Secret` object contains it and `RECENT` other such values have been added after it.

        Returns:
            The `Secret` with this value that was added first, if it still exists, else `secret`.
        """
        value = secret.reveal()
        if len(value) < SHORTEST_REDACTED:
            return secret
        with self._lock:
            secret = self._in_use.setdefault(value, secret)
            is_new = value not in self._forms
            if short_lived and (is_new or value in self._short_lived):
                self._short_lived[value] = None
                self._short_lived.move_to_end(value)
            else:
                self._short_lived.pop(value, None)
            if is_new:
                self._forms[value] = _forms_of(value)
                for old in [each for each in self._short_lived if each not in self._in_use][:-RECENT]:
                    del self._short_lived[old], self._forms[old]
                forms: set[str] = set().union(*self._forms.values())
                self._redacted = tuple(sorted(forms, key=len, reverse=True))
        return secret

    def redact(self, text: str) -> str:
        """Return the text with every secret replaced by `***`."""
        for secret in self._redacted:
            text = text.replace(secret, "***")
        return text

    def without_open_end(self, text: str) -> str:
        """If the text ends with the beginning of a secret, return the text without that beginning.

        The text that follows may complete the secret.
        """
        start = len(text)
        for secret in self._redacted:
            for length in range(min(len(secret) - 1, len(text)), SHORTEST_BEGINNING - 1, -1):
                if text.endswith(secret[:length]):
                    start = min(start, len(text) - length)
                    break
        return text[:start]


_process_secrets = KnownSecrets()


def register_secret(value: str, *, short_lived: bool = False) -> Secret:
    """Redact a credential in logs and errors from now on. For `short_lived`, see `KnownSecrets.add`."""
    return _process_secrets.add(Secret(value), short_lived=short_lived)


def redact(text: str) -> str:
    """Return the text with every secret of this process replaced by `***`."""
    return _process_secrets.redact(text)


def credentials_in_url(url: str) -> list[str]:
    """Return the credentials in a URL or proxy address: its password, and parameters such as `token`."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
    except ValueError:
        return []
    values = [value for name, value in parse_qsl(parts.query) if names_credential(name)]
    if parts.password:
        values += [parts.password, unquote(parts.password)]
    return values


def _forms_of(value: str) -> frozenset[str]:
    """Return all forms of a value that must be redacted."""
    values = [value]
    if (scheme := _WITH_SCHEME.fullmatch(value)) is not None:
        values.append(scheme["credential"])
    forms: set[str] = set()
    for each in values:
        escaped = (json.dumps(each, ensure_ascii=is_ascii)[1:-1] for is_ascii in (True, False))
        forms |= {each, quote(each, safe=""), quote(each, safe="/:@"), quote_plus(each), *escaped}
    return frozenset(forms)


class SecretFilter(logging.Filter):
    """Redacts the secrets of this process in log records.

    Add it to a handler instead of a logger, because libraries log through their own loggers.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        """Rewrite the record if it contains a secret. Never drops a record."""
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        try:
            message = record.getMessage()
        except Exception:  # An exception in a filter would reach the code that logs.
            message = f"{record.msg} {record.args}"
            record.msg, record.args = message, None
        if (redacted := redact(message)) != message:
            record.msg, record.args = redacted, None
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
        return True
