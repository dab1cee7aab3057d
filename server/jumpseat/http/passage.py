"""A request on its way, through a proxy too: how far it is, how long that may take, what it may not show.

Above it is `exchange.py`; below it `network.py` and `proxies.py`. The steps are those that httpx2 tells to
the extension `trace` of a request (its page "Extensions").
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from jumpseat.chat import ConfigError, ConnectionError
from jumpseat.http.network import UrlOrigin
from jumpseat.http.proxies import FORM, Proxy
from jumpseat.system.secrets import names_credential

PROXY_WANTS_CREDENTIALS = 407

HEAD_GRACE_SECONDS = 0.1
"""Silence is noticed by httpx2, and reported as that; this limit is for what is slow and never silent."""

_REFUSALS = range(400, 500)
"""What a proxy says no with; other statuses tell that it could not."""


class Passage:
    """Listens to one request that goes by a proxy; given to it as its `trace`.

    A proxy that accepts a connection and then says nothing would hold the request for as long as a model
    may think. So the way to the provider has a time of its own, from the first step to the last.
    """

    def __init__(self, proxy: Proxy, origin: UrlOrigin, limit: asyncio.Timeout, seconds: float) -> None:
        """
        Args:
            proxy: the proxy.
            origin: where the request goes. For https the proxy has to connect on before anything is sent.
            limit: what ends the request if the way takes too long; entered by the caller.
            seconds: how long it may take.
        """
        self.proxy = proxy
        self.at_proxy = False
        """A failure now is one of the way to the proxy, and not of what is behind it."""

        self._origin = origin
        self._limit = limit
        self._seconds = seconds

    def check(self, provider: str, names: Iterable[str]) -> None:
        """See to it that a proxy which can read the request does not find a credential in it.

        Args:
            provider: the configured provider's id.
            names: of the request's headers and of its query's parameters.

        Raises:
            ConfigError: the request is plain HTTP, and one of the names is a credential's.
        """
        if self._origin.scheme == "http" and any(names_credential(name) for name in names):
            raise ConfigError(
                f"{provider} would be asked over plain http through the proxy {self.proxy.address}, which "
                "could read its credential, so nothing was sent.",
                provider=provider,
                hint=f'Use https for {self._origin.host}, or set providers.{provider}.proxy = "none".',
            )

    async def __call__(self, step: str, info: dict[str, Any]) -> None:
        """Take one step of the request, as httpx2 tells it."""
        if step == "connection.connect_tcp.started":
            self.at_proxy = True
            self._end_in(self._seconds)
        elif step == "proxy.start_tls.started":
            self.at_proxy = False
        elif step == "proxy.start_tls.complete" or (step == _FORWARDED and self._origin.scheme == "http"):
            self.at_proxy = False
            self._end_in(None)

    def _end_in(self, seconds: float | None) -> None:
        if not self._limit.expired():
            now = asyncio.get_running_loop().time()
            self._limit.reschedule(None if seconds is None else now + seconds)


class HeadLimit:
    """Bounds the time for the head of an answer; given to a request as its `trace`.

    A head may come byte by byte, and the limit of httpx2 counts from one byte to the next.
    """

    def __init__(self, limit: asyncio.Timeout, seconds: float, passage: Passage | None) -> None:
        """
        Args:
            limit: what ends the request; entered by the caller.
            seconds: how long the head may take, from the end of the request on.
            passage: hears of each step before, where the request goes by a proxy.
        """
        self.is_running = False
        """The request is sent, and its answer is waited for."""

        self._limit = limit
        self._seconds = seconds
        self._passage = passage

    async def __call__(self, step: str, info: dict[str, Any]) -> None:
        """Take one step of the request, as httpx2 reports it."""
        if self._passage is not None:
            await self._passage(step, info)
            if self._passage.at_proxy:
                return  # The answer is the proxy's own, to a request for a tunnel.
        if step == "http11.receive_response_headers.started" and not self._limit.expired():
            self.is_running = True
            end = asyncio.get_running_loop().time() + self._seconds + HEAD_GRACE_SECONDS
            self._limit.reschedule(end)


_FORWARDED = "http11.send_request_headers.started"
"""The first step behind the connection where there is no tunnel to be made."""


def refused_by_proxy(proxy: Proxy, status: int | None, *, provider: str, host: str) -> ConnectionError:
    """The error for a proxy's own refusal.

    Args:
        proxy: the proxy.
        status: what it answered; None where that is not known.
        provider: the configured provider's id.
        host: the host and port that it was to connect to.
    """
    told = f" (HTTP {status})" if status else ""
    what, hint = f"would not connect to {host}", f"Check {proxy.named_by}, and whether it lets {host} pass."
    if status == PROXY_WANTS_CREDENTIALS and proxy.auth:
        what, hint = "does not accept the configured user and password", f"Correct {proxy.named_by}."
    elif status == PROXY_WANTS_CREDENTIALS:
        what, hint = "wants a user and a password", f"Name them in providers.{provider}.proxy. {FORM}"
    return ConnectionError(
        f"{provider} cannot be asked: the proxy {proxy.address} {what}{told}.",
        provider=provider,
        hint=hint,
        # What is refused once is refused again; a proxy that could not connect may do so next time.
        retryable=status is None or status not in _REFUSALS,
    )
