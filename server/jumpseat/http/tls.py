"""Whom TLS trusts, and what it shows of itself: contexts from the system's store and a provider's files.

Above it is `client.py`, which builds a context on a thread when the first request needs it. There is no
way to switch verification off. Files are the user's own (section 7 of the protocol page, trust).
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from jumpseat.chat import ConfigError

PEM = "PEM form, which begins with -----BEGIN"


@dataclass(frozen=True, slots=True)
class TlsOptions:
    """What a connection is made with. Options that are equal share a context."""

    ca_file: str | None = None
    """Certificates that are trusted beside the system's."""

    cert: str | None = None
    """The client's own certificate, with its chain, and its key where `key` names no other file."""

    key: str | None = None
    password: str | None = field(default=None, repr=False)
    """Of the key, where that is encrypted."""

    @property
    def without_identity(self) -> TlsOptions:
        """The same trust, without a certificate of one's own."""
        return TlsOptions(self.ca_file)


class _NoPasswordError(Exception):
    """The key is encrypted, and no password is configured."""


def make_context(options: TlsOptions, provider: str) -> ssl.SSLContext:
    """A context that verifies certificates. Reads files: 50 to 150 ms, not for the event loop.

    Args:
        options: what the provider's table says.
        provider: the configured provider's id, for errors.

    Raises:
        ConfigError: a file cannot be read or is not what it should be; the message names its key.
    """
    context = _system_context()
    if options.ca_file is not None:
        where = f"providers.{provider}.ca_file"
        file = _file(options.ca_file, where, provider)
        try:
            context.load_verify_locations(cafile=file)
        except (ssl.SSLError, OSError):
            raise ConfigError(
                f"{where} names {file}, which holds no certificates that can be read.",
                provider=provider,
                hint=f"It must hold the certificates of authorities in {PEM} CERTIFICATE.",
            ) from None
        # A certificate that the user names is trusted though it is not the root of its chain.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if options.cert is not None:
        _show(context, options.cert, options, provider)
    return context


def _system_context() -> ssl.SSLContext:
    import httpx2

    try:
        return httpx2.create_ssl_context()
    except (ssl.SSLError, OSError) as error:
        named = [name for name in ("SSL_CERT_FILE", "SSL_CERT_DIR") if os.environ.get(name)]
        where = f"what {named[0]} names" if named else "the system's store"
        why = error.strerror or "no reason is given"
        raise ConfigError(
            f"The trusted certificates cannot be read from {where}: {why}.",
            hint=f"Correct {named[0]} or unset it, and start jumpseat again." if named else None,
        ) from None


def _show(context: ssl.SSLContext, named: str, options: TlsOptions, provider: str) -> None:
    where = f"providers.{provider}.client_cert"
    cert = _file(named, where, provider)
    key = None if options.key is None else _file(options.key, f"{where}.key", provider)

    def password() -> str:
        # Without this function OpenSSL would ask at the terminal, for ever.
        if options.password is None:
            raise _NoPasswordError
        return options.password

    try:
        context.load_cert_chain(cert, key, password)
    except _NoPasswordError:
        raise ConfigError(
            f"The key of {where} is encrypted, and no password is configured.",
            provider=provider,
            hint=f"Set {where}.password, best to a source such as env:NAME.",
        ) from None
    except (ssl.SSLError, OSError, ValueError) as error:
        raise ConfigError(
            f"{where} cannot be used: {_why(error, encrypted=options.password is not None)}.",
            provider=provider,
            hint=f"The certificate and its key must be in {PEM}; the key may be in a file of its own.",
        ) from None


def _why(error: Exception, *, encrypted: bool) -> str:
    reason = getattr(error, "reason", None) or ""
    if reason == "KEY_VALUES_MISMATCH":
        return "the key does not belong to the certificate"
    if encrypted:
        return "its files hold no certificate with its key, or the password is wrong"
    return "its files hold no certificate with its key"


def _file(text: str, where: str, provider: str) -> Path:
    """The file that a key names, checked to be readable."""
    try:
        file = Path(text).expanduser()
    except RuntimeError:
        file = Path(text)
    if not file.is_absolute():
        # The working directory is the editor's: a workspace would choose the file.
        raise ConfigError(
            f"{where} is a relative path.", provider=provider, hint="Write the whole path, or begin with ~/."
        )
    try:
        with file.open("rb"):
            return file
    except OSError as error:
        raise ConfigError(
            f"{where} names {file}, which cannot be read: {error.strerror or 'no reason is given'}.",
            provider=provider,
        ) from None
