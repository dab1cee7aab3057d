"""What the operating system or TLS said of a connection that failed, in words that hold no address.

Above it is `failures.py`; below it only the standard library. What only the user can mend comes with a
hint and is not tried again. No hint names a way around verification: there is none.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cause:
    """Why a connection failed."""

    words: str = ""
    """The end of a sentence, with what parts it from its beginning; empty where nothing is known."""

    hint: str | None = None
    retryable: bool | None = None
    """None where the kind of the error decides."""


# Numbers of X509_V_ERR_* (OpenSSL, x509_vfy.h), which the ssl module gives without names.
_WRONG_TIME = (9, 10)
_WRONG_HOST = (62, 64)

_WANTED = "CERTIFICATE_REQUIRED"
_NOT_TAKEN = ("BAD_CERTIFICATE", "UNKNOWN_CA", "UNSUPPORTED_CERTIFICATE", "ALERT_CERTIFICATE_")
_PERHAPS_WANTED = "ALERT_HANDSHAKE_FAILURE"
"""What a server that misses a certificate says before TLS 1.3, and what it says of other things too."""


def cause_of(failure: BaseException, provider: str, host: str) -> Cause:
    """The first cause in the chain of an exception that says something.

    Args:
        failure: what was raised.
        provider: the configured provider's id, for hints.
        host: host and port that were asked, for hints.
    """
    for each in _chain(failure):
        match each:
            case socket.gaierror():
                return Cause(": its name cannot be resolved")
            case ssl.SSLCertVerificationError():
                return _untrusted(each, provider, host)
            case ssl.SSLError():
                return _broken_tls(each, provider)
            case ConnectionRefusedError():
                return Cause(": connection refused")
            case ConnectionResetError() | BrokenPipeError():
                return Cause(": connection reset")
            case _:
                pass
    return Cause()


def _chain(failure: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = failure
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _untrusted(error: ssl.SSLCertVerificationError, provider: str, host: str) -> Cause:
    why = getattr(error, "verify_message", "").rstrip(".")  # Only OpenSSL's own errors have one.
    code = getattr(error, "verify_code", None)
    if code in _WRONG_TIME:
        hint = "If this machine's clock is right, only who runs the server, or the proxy, can mend that."
    elif code in _WRONG_HOST:
        hint = f"Check that {host} is the right address, and that no proxy answers in its place."
    else:
        hint = (
            "If your network inspects TLS, or the server has an authority of its own, name that authority's "
            f"certificate in providers.{provider}.ca_file."
        )
    words = f": its certificate is not trusted ({why})" if why else ": its certificate is not trusted"
    return Cause(words, hint, retryable=False)


def _broken_tls(error: ssl.SSLError, provider: str) -> Cause:
    reason = error.reason or "unknown reason"
    key = f"providers.{provider}.client_cert"
    if _WANTED in reason:
        return Cause(": it wants a client certificate", f"Name one in {key}.", retryable=False)
    if any(each in reason for each in _NOT_TAKEN):
        return Cause(": it does not accept the client certificate", f"Check {key}.", retryable=False)
    hint = f"If it wants a client certificate, name one in {key}." if _PERHAPS_WANTED in reason else None
    return Cause(f": TLS failed ({reason.replace('_', ' ').lower()})", hint)
