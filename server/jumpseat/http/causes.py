"""Explains why a connection failed, from the error of the operating system or of TLS.

A failure that only the user can fix gets a hint and is not retried. No hint suggests disabling the
verification of certificates, because that is not possible. Texts never contain a URL.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass

from jumpseat.config.table_names import name_key


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a connection failed."""

    words: str = ""
    """The text to append to an error message, beginning with a colon; empty if the cause is unknown."""

    hint: str | None = None
    retryable: bool | None = None
    """Whether to retry; None if the error's class decides."""


# These are X509_V_ERR_* codes (OpenSSL, x509_vfy.h), which the ssl module does not name.
_WRONG_TIME = (9, 10)
_WRONG_HOST = (62, 64)

_CLIENT_CERT_REQUIRED = "CERTIFICATE_REQUIRED"
_CLIENT_CERT_REFUSED = ("BAD_CERTIFICATE", "UNKNOWN_CA", "UNSUPPORTED_CERTIFICATE", "ALERT_CERTIFICATE_")
_CLIENT_CERT_MAYBE_REQUIRED = "ALERT_HANDSHAKE_FAILURE"
"""The alert for a missing client certificate before TLS 1.3. Servers send it for other failures too."""


def cause_of(failure: BaseException, provider: str, host: str) -> Cause:
    """Return the first known cause in an exception's chain.

    Args:
        failure: the exception.
        provider: the configured provider's id, for hints.
        host: host and port of the URL, for hints.
    """
    for each in _chain(failure):
        match each:
            case socket.gaierror():
                return Cause(": its name cannot be resolved")
            case ssl.SSLCertVerificationError():
                return _explain_certificate_error(each, provider, host)
            case ssl.SSLError():
                return _explain_tls_error(each, provider)
            case ConnectionRefusedError():
                return Cause(": connection refused")
            case ConnectionResetError() | BrokenPipeError():
                return Cause(": connection reset")
            case _:
                pass
    return Cause()


def _chain(failure: BaseException) -> Iterator[BaseException]:
    current: BaseException | None = failure
    while current is not None:
        yield current
        current = current.__cause__ or current.__context__


def _explain_certificate_error(error: ssl.SSLCertVerificationError, provider: str, host: str) -> Cause:
    why = getattr(error, "verify_message", "").rstrip(".")  # Only OpenSSL's own errors have this text.
    code = getattr(error, "verify_code", None)
    if code in _WRONG_TIME:
        hint = "Check the clock of this machine. If it is right, the operator must renew the certificate."
    elif code in _WRONG_HOST:
        hint = f"Check that {host} is the right address, and that no proxy answers in its place."
    else:
        hint = (
            f"Set {name_key(provider, 'ca_file')} to the certificate of the authority, if your network "
            "inspects TLS, or if the server uses a private certificate authority."
        )
    words = f": its certificate is not trusted ({why})" if why else ": its certificate is not trusted"
    return Cause(words, hint, retryable=False)


def _explain_tls_error(error: ssl.SSLError, provider: str) -> Cause:
    reason = error.reason or "unknown reason"
    key = name_key(provider, "client_cert")
    if _CLIENT_CERT_REQUIRED in reason:
        return Cause(": it requires a client certificate", f"Set {key}.", retryable=False)
    if any(each in reason for each in _CLIENT_CERT_REFUSED):
        return Cause(": it does not accept the client certificate", f"Check {key}.", retryable=False)
    may_be_required = _CLIENT_CERT_MAYBE_REQUIRED in reason
    hint = f"If the server requires a client certificate, set {key}." if may_be_required else None
    return Cause(f": TLS failed ({reason.replace('_', ' ').lower()})", hint)
