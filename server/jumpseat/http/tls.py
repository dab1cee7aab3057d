"""Builds TLS contexts from the system's certificates and a provider's files.

Verification cannot be turned off.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from jumpseat.chat import ConfigError
from jumpseat.config.table_names import name_key
from jumpseat.system.regular_file import open_regular
from jumpseat.system.watch import Stamp, stamp_of

PEM = "PEM form, which begins with -----BEGIN"


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """The TLS options of a connection. Equal options share a context."""

    ca_file: str | None = None
    """A file with additional certificates to trust. `~` is already expanded, as in `cert` and `key`."""

    cert: str | None = None
    """A file with the client certificate, its chain, and its key if `key` is None."""

    key: str | None = None
    password: str | None = field(default=None, repr=False)
    """The password of an encrypted key."""

    system_file: str = ""
    """The file that `SSL_CERT_FILE` names. It replaces the system's certificates."""

    system_directories: str = ""
    """The directories in `SSL_CERT_DIR`. They replace the system's certificates if `system_file` is empty."""

    @property
    def without_identity(self) -> TlsOptions:
        """The options without the client certificate."""
        return replace(self, cert=None, key=None, password=None)


FileStamp: TypeAlias = tuple[str, Stamp | None]
"""A path and the stamp of its file."""


def stamp_files(options: TlsOptions) -> tuple[FileStamp, ...]:
    """Return stamps of the files that `make_context` reads, because a context depends on their contents."""
    system = options.system_file or options.system_directories
    named = (*system.split(os.pathsep), options.ca_file, options.cert, options.key)
    return tuple((name, stamp_of(Path(name))) for name in named if name)


class _NoPasswordError(Exception):
    """The key is encrypted, but no password is configured."""


def make_context(options: TlsOptions, provider: str) -> ssl.SSLContext:
    """Create a context that verifies certificates. This reads files and blocks for 50 to 150 ms.

    Args:
        options: the options of the provider's table.
        provider: the configured provider's id, for errors.

    Raises:
        ConfigError: a file cannot be read or used; the message names the configuration key.
    """
    context = _make_system_context(options)
    if options.ca_file is not None:
        where = name_key(provider, "ca_file")
        file = _check_file(options.ca_file, where, provider)
        try:
            context.load_verify_locations(cafile=file)
        except (ssl.SSLError, OSError):
            raise ConfigError(
                f"{where} names {file}, which has no readable certificates.",
                provider=provider,
                hint=f"The file must have the certificates of authorities in {PEM} CERTIFICATE.",
            ) from None
        # Trust every certificate in the user's file, even one that is not the root of its chain.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if options.cert is not None:
        _load_identity(context, options.cert, options, provider)
    return context


def _make_system_context(options: TlsOptions) -> ssl.SSLContext:
    import httpx2

    variable = "SSL_CERT_FILE" if options.system_file else "SSL_CERT_DIR"
    is_named = bool(options.system_file or options.system_directories)
    try:
        if not is_named:
            # `trust_env` and OpenSSL's own defaults would read the variables of this process.
            return httpx2.create_ssl_context(trust_env=False)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if options.system_file:
            os.close(open_regular(Path(options.system_file)))
            context.load_verify_locations(cafile=options.system_file)
        else:
            context.load_verify_locations(capath=options.system_directories)
        return context
    except (ssl.SSLError, OSError) as error:
        where = f"the path in {variable}" if is_named else "the system's store"
        why = error.strerror or "no reason is given"
        raise ConfigError(
            f"The trusted certificates cannot be read from {where}: {why}.",
            hint=f"Correct {variable} or unset it, and start jumpseat again." if is_named else None,
        ) from None


def _load_identity(context: ssl.SSLContext, named: str, options: TlsOptions, provider: str) -> None:
    where = name_key(provider, "client_cert")
    cert = _check_file(named, where, provider)
    key = None if options.key is None else _check_file(options.key, f"{where}.key", provider)

    def password() -> str:
        # Without this function, OpenSSL would wait for input from the terminal.
        if options.password is None:
            raise _NoPasswordError
        return options.password

    try:
        context.load_cert_chain(cert, key, password)
    except _NoPasswordError:
        raise ConfigError(
            f"The key of {where} is encrypted, and no password is configured.",
            provider=provider,
            hint=f"Set {where}.password, preferably to a source such as env:NAME.",
        ) from None
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(
            f"{where} cannot be used: {_explain(error, encrypted=options.password is not None)}.",
            provider=provider,
            hint=f"The certificate and its key must be in {PEM}; the key may be in a separate file.",
        ) from None


def _explain(error: Exception, *, encrypted: bool) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    if encrypted:
        return "its files have no certificate with its key, or the password is wrong"
    return "its files have no certificate with its key"


def _check_file(text: str, where: str, provider: str) -> Path:
    """Check that a configured path is absolute and readable, and return it."""
    file = Path(text)
    if not file.is_absolute():
        # The editor chooses the working directory, so a relative path could name a file of the workspace.
        raise ConfigError(
            f"{where} is a relative path.",
            provider=provider,
            hint="Write an absolute path, or a path that begins with ~/.",
        )
    try:
        # OpenSSL would wait for the writer of a pipe, and read `/dev/zero` forever.
        os.close(open_regular(file))
        return file
    except OSError as error:
        raise ConfigError(
            f"{where} names {file}, which cannot be read: {error.strerror or 'no reason is given'}.",
            provider=provider,
        ) from None
