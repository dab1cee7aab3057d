"""Follows a request through a proxy, to limit the time for connecting and to determine where it failed.

httpcore2 reports each step of a request to the request's `trace` extension.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from jumpseat.chat import ConfigError, ConnectionError
from jumpseat.config.table_names import name_key
from jumpseat.http.network import UrlOrigin
from jumpseat.http.proxies import FORM, Proxy
from jumpseat.system.secrets import names_credential

PROXY_AUTHENTICATION_REQUIRED = 407

_REFUSALS = range(400, 500)
"""The statuses with which a proxy refuses a request. Other statuses mean that the proxy could not connect."""


class ProxyTrace:
    """The `trace` of one request through a proxy.

    It limits the time until the connection to the provider exists. Otherwise, a proxy that accepts a
    connection and stays silent would block the request for as long as a model may think.
    """

    def __init__(self, proxy: Proxy, origin: UrlOrigin, limit: asyncio.Timeout, seconds: float) -> None:
        """
        Args:
            proxy: the proxy.
            origin: the origin of the URL. For https, the proxy must connect to it before anything is sent.
            limit: a timeout around the request, entered by the caller and rescheduled here.
            seconds: the time limit for connecting.
        """
        self.proxy = proxy
        self.at_proxy = False
        """Whether a failure at this point concerns the connection to the proxy, not to the provider."""

        self._origin = origin
        self._limit = limit
        self._seconds = seconds

    def check(self, provider: str, names: Iterable[str]) -> None:
        """Check that the proxy could not read a credential in the request.

        Args:
            provider: the configured provider's id.
            names: the names of the request's headers and query parameters.

        Raises:
            ConfigError: the request is plain HTTP, and one of the names suggests a credential.
        """
        if self._origin.scheme == "http" and any(names_credential(name) for name in names):
            raise ConfigError(
                f"The request to {provider} was not sent: it uses plain http through the proxy "
                f"{self.proxy.address}, which could read the credential.",
                provider=provider,
                hint=f'Use https for {self._origin.host}, or set {name_key(provider, "proxy")} = "none".',
            )

    async def __call__(self, step: str, info: dict[str, Any]) -> None:
        """Handle one step of the request, as httpcore2 reports it."""
        if step == "connection.connect_tcp.started":
            self.at_proxy = True
            self._set_time_left(self._seconds)
        elif step == "proxy.start_tls.started":
            self.at_proxy = False
        elif step == "proxy.start_tls.complete" or (step == _FORWARDED and self._origin.scheme == "http"):
            self.at_proxy = False
            self._set_time_left(None)

    def _set_time_left(self, seconds: float | None) -> None:
        if not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(None if seconds is None else now + seconds)


_FORWARDED = "http11.send_request_headers.started"
"""The first step after connecting, if no tunnel is needed."""


def error_from_proxy(proxy: Proxy, status: int | None, *, provider: str, host: str) -> ConnectionError:
    """Create the error for a request that the proxy itself refused.

    Args:
        proxy: the proxy.
        status: the status of the proxy's answer; None if unknown.
        provider: the configured provider's id.
        host: the request's host and port.
    """
    suffix = f" (HTTP {status})" if status else ""
    what = f"refused to connect to {host}"
    hint = f"Check {proxy.named_by}, and whether the proxy allows {host}."
    if status == PROXY_AUTHENTICATION_REQUIRED and proxy.auth:
        what, hint = "does not accept the configured user and password", f"Correct {proxy.named_by}."
    elif status == PROXY_AUTHENTICATION_REQUIRED:
        what, hint = "requires a user and a password", f"Set them in {name_key(provider, 'proxy')}. {FORM}"
    return ConnectionError(
        f"The request to {provider} failed: the proxy {proxy.address} {what}{suffix}.",
        provider=provider,
        hint=hint,
        # A refusal is final; a proxy that could not connect may succeed next time.
        retryable=status is None or status not in _REFUSALS,
    )
