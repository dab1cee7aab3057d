"""Builds httpcore2 pools, whose connections lead directly to hosts or through a proxy.

This module imports httpcore2, so `pools.py` imports it only on demand.
"""

from __future__ import annotations

import ssl

import httpcore2

from jumpseat.http.network_stream import AsyncioBackend, PublicBackend
from jumpseat.http.proxies import Proxy


def open_pool(
    proxy: Proxy | None,
    *,
    context: ssl.SSLContext,
    proxy_context: ssl.SSLContext | None,
    idle_connections: int,
    idle_seconds: float,
    public_only: bool,
) -> httpcore2.AsyncConnectionPool:
    """Build a pool; it opens connections when they are needed.

    Args:
        proxy: the proxy for every request, if any.
        context: the TLS context for the host.
        proxy_context: the TLS context for the proxy itself; None if the proxy is reached by plain HTTP.
        idle_connections: the maximum number of unused connections to keep open.
        idle_seconds: the time after which an unused connection is closed.
        public_only: whether to connect to public addresses only. A proxy may have any address.
    """
    # `max_connections` is None, because a limit would apply to all sessions together, and one session could
    # use it up.
    if proxy is None:
        return httpcore2.AsyncConnectionPool(
            ssl_context=context,
            max_connections=None,
            max_keepalive_connections=idle_connections,
            keepalive_expiry=idle_seconds,
            network_backend=PublicBackend() if public_only else AsyncioBackend(),
        )
    user, password = proxy.auth or ("", "")
    return _ProxyPool(
        f"{proxy.scheme}://{proxy.address}",
        proxy_auth=(user.encode(), password.encode()) if proxy.auth else None,
        ssl_context=context,
        proxy_ssl_context=proxy_context,
        max_connections=None,
        max_keepalive_connections=idle_connections,
        keepalive_expiry=idle_seconds,
        network_backend=AsyncioBackend(),
    )


class _ProxyPool(httpcore2.AsyncHTTPProxy):
    # httpcore2 does not remove a tunnel whose TLS handshake failed or was cancelled, and counts it as in use.
    # Every request to a host with an untrusted certificate would leave such a tunnel in the pool.

    def create_connection(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        return _Connection(super().create_connection(origin))


class _Connection(httpcore2.AsyncConnectionInterface):
    """An HTTP/1.1 connection that is closed if a request fails before the answer begins."""

    def __init__(self, inner: httpcore2.AsyncConnectionInterface) -> None:
        self._inner = inner
        self._failed = False

    async def handle_async_request(self, request: httpcore2.Request) -> httpcore2.Response:
        try:
            return await self._inner.handle_async_request(request)
        except httpcore2.ConnectionNotAvailable:
            raise  # This connection is busy. The pool will choose another one.
        except BaseException:
            self._failed = True
            await self._inner.aclose()
            raise

    async def aclose(self) -> None:
        await self._inner.aclose()

    def info(self) -> str:
        return self._inner.info()

    def can_handle_request(self, origin: httpcore2.Origin) -> bool:
        return self._inner.can_handle_request(origin)

    def can_multiplex(self) -> bool:
        return self._inner.can_multiplex()

    def is_connected(self) -> bool:
        return self._inner.is_connected()

    def is_available(self) -> bool:
        return not self._failed and self._inner.is_available()

    def has_expired(self) -> bool:
        return self._inner.has_expired()

    def is_idle(self) -> bool:
        return self._failed or self._inner.is_idle()

    def is_closed(self) -> bool:
        return self._failed or self._inner.is_closed()
