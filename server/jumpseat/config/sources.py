"""Value sources and the secrets they yield.

A value in the file is a literal, or `env:NAME`. The other prefixes of the contract's section 7 are
reserved: they are refused with a sentence, so that `cmd:…` is never sent to a provider as a key.
"""

from __future__ import annotations

import logging
import os
import re

from jumpseat.chat import ConfigError

RESERVED_PREFIXES = ("cmd:", "file:", "keyring:", "python:", "schema:")
SOURCE_PREFIXES = ("env:", *RESERVED_PREFIXES)

_revealed: set[str] = set()


class Secret:
    """A value that must not be shown. Only `reveal` gives it out; it cannot be pickled or serialised."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The value itself: for a request header, and nothing else."""
        return self._value

    def __repr__(self) -> str:
        return "Secret(***)"

    __str__ = __repr__

    def __reduce__(self) -> str:
        raise TypeError("a Secret is never serialised")


SHORTEST_HIDDEN = 12
"""Shorter values, such as the `ollama` that servers without keys are given, occur in ordinary text."""

_CREDENTIAL = re.compile(r"api_key|auth|key|token|secret|cookie|password", re.IGNORECASE)


def _hide(key: str, value: str) -> None:
    """Keep the value of a key that names a credential out of logs and errors from now on."""
    if _CREDENTIAL.search(key):
        hidden(value)


def hidden(value: str) -> Secret:
    """A credential from elsewhere than the configuration, kept out of logs and errors from now on."""
    if len(value) >= SHORTEST_HIDDEN:
        _revealed.add(value)
    return Secret(value)


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
    for secret in sorted(_revealed, key=len, reverse=True):
        text = text.replace(secret, "***")
    return text


def source_prefix(value: str) -> str | None:
    """The source prefix that a configured value begins with, if it does."""
    return next((prefix for prefix in SOURCE_PREFIXES if value.startswith(prefix)), None)


def resolve(provider: str, key: str, value: str) -> Secret:
    """What a configured value stands for, read now.

    Args:
        provider: the provider's id, for the error.
        key: the key that holds the value, for the error: `api_key`.
        value: a literal, or `env:NAME`.

    Raises:
        ConfigError: the source gives nothing; it names provider, key and source, never a value.
    """
    where = f"providers.{provider}.{key}"
    prefix = source_prefix(value)
    if prefix is None:
        _hide(key, value)
        return Secret(value)
    if prefix != "env:":
        raise ConfigError(
            f"{where} uses the source {prefix!r}, which this version does not read yet.",
            provider=provider,
            hint="Use env:NAME, or the literal value.",
        )
    name = value.removeprefix("env:")
    found = os.environ.get(name)
    if not found:
        raise ConfigError(
            f"{where} is env:{name}, but the environment variable {name} is not set.",
            provider=provider,
            hint=f"Set {name} in the environment that starts the editor, and restart the editor.",
        )
    # A value that ends a line in a file or a shell often brings the line's end with it.
    found = found.strip()
    _hide(key, found)
    return Secret(found)
