"""Owns the pools of HTTP connections, which providers share: one pool per proxy and TLS options."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from jumpseat.config import ProviderConfig
from jumpseat.http.network import CONNECT_SECONDS, NetworkOptions, UrlOrigin, origin_of, read_options
from jumpseat.http.proxies import Proxy
from jumpseat.http.tls import TlsOptions, make_context

if TYPE_CHECKING:
    import ssl

    import httpx2

MAX_CONNECTIONS = 512
"""Every running chat uses one. The limit keeps a runaway client from using all file descriptors."""

KEEPALIVE_CONNECTIONS = 64
KEEPALIVE_SECONDS = 60.0
"""Long enough that the next turn of a conversation needs no new TLS handshake."""

logger = logging.getLogger(__name__)

_Key: TypeAlias = tuple[Proxy | None, TlsOptions | None]
"""The key of a pool; no options without TLS."""


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine: `localhost`, a name under it, or a loopback address."""
    origin = origin_of(url)
    return origin is not None and origin.is_loopback


@dataclass(slots=True)
class Pool:
    """Connections that requests share."""

    http: httpx2.AsyncClient
    requests: int = 0
    """The number of requests that have a connection or wait for one."""

    @property
    def is_full(self) -> bool:
        """Whether one more request would have to wait."""
        return self.requests >= MAX_CONNECTIONS

    @contextlib.contextmanager
    def one_more(self) -> Iterator[None]:
        """Count a request for as long as it has a connection or waits for one."""
        self.requests += 1
        try:
            yield
        finally:
            self.requests -= 1


@dataclass(frozen=True, slots=True)
class Way:
    """How a host is reached."""

    pool: Pool
    proxy: Proxy | None
    origin: UrlOrigin


class HttpClient:
    """The HTTP client of an adapter. The clients of one daemon share their connections."""

    def __init__(self, provider: str = "", table: ProviderConfig | None = None) -> None:
        """
        Args:
            provider: the configured provider's id, for errors.
            table: its table, with the options of the network; None for those of the environment.
        """
        self._provider = provider
        self._table = table
        self._options = NetworkOptions() if table is None else None
        self._keys: dict[UrlOrigin, _Key] = {}
        self._pools = _Pools()

    @property
    def connect_seconds(self) -> float:
        """The time limit for a host, or a proxy, to accept a connection."""
        return (self._table and self._table.connect_timeout) or CONNECT_SECONDS

    def for_provider(self, provider: str, table: ProviderConfig) -> HttpClient:
        """A client with the network options of a table; it shares connections with this one."""
        client = HttpClient(provider, table)
        client._pools = self._pools
        return client

    async def for_url(self, url: str) -> Way:
        """How to reach this URL; its pool is built on first use.

        Raises:
            ConfigError: a proxy or a file of the table or of the environment cannot be used.
        """
        origin = origin_of(url) or UrlOrigin("", "", 0)
        key = self._keys.get(origin)
        if key is not None and (pool := self._pools.known.get(key)) is not None:
            return Way(pool, key[0], origin)
        if self._options is None:
            self._options = await read_options(self._provider, self._table or ProviderConfig())
        # On a thread, because reading certificates takes 50 to 150 ms.
        return await asyncio.to_thread(self._build, origin, self._options)

    def _build(self, origin: UrlOrigin, options: NetworkOptions) -> Way:
        proxy = options.proxy_for(origin)
        # Without TLS no certificates are read, so the first chat with a local model starts faster.
        is_plain = origin.scheme == "http" and (proxy is None or proxy.scheme == "http")
        key = (proxy, None if is_plain else options.tls)
        pool = self._pools.get(key, self._provider)
        self._keys[origin] = key
        if proxy is not None:
            logger.debug(
                "%s is reached through the proxy %s of %s", origin.host, proxy.address, proxy.named_by
            )
        return Way(pool, proxy, origin)

    def run_aside(self, work: Coroutine[None, None, None]) -> None:
        """Run a short task in the background; it is cancelled when the connections are closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._pools.aside.add(task)
        task.add_done_callback(self._pools.aside.discard)

    async def aclose(self) -> None:
        """Close the connections of all clients that share them; a later request opens new ones."""
        await self._pools.aclose()


class _Pools:
    """Pools and TLS contexts, each built once. Building happens on threads."""

    def __init__(self) -> None:
        self.known: dict[_Key, Pool] = {}
        self.aside: set[asyncio.Task[None]] = set()
        self._contexts: dict[TlsOptions, ssl.SSLContext] = {}
        self._lock = threading.Lock()

    def get(self, key: _Key, provider: str) -> Pool:
        # Only threads hold the lock, never the event loop: a second request waits for the first one's pool,
        # and a cancel does not interrupt the work.
        with self._lock:
            if key not in self.known:
                self.known[key] = Pool(self._client(*key, provider))
            return self.known[key]

    async def aclose(self) -> None:
        pending = tuple(self.aside)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        with self._lock:
            known, self.known = self.known, {}
        for pool in known.values():
            await pool.http.aclose()

    def _client(self, proxy: Proxy | None, tls: TlsOptions | None, provider: str) -> httpx2.AsyncClient:
        import httpx2

        limits = httpx2.Limits(
            max_connections=MAX_CONNECTIONS,
            max_keepalive_connections=KEEPALIVE_CONNECTIONS,
            keepalive_expiry=KEEPALIVE_SECONDS,
        )
        context = self._context(tls, provider)
        if proxy is None:
            # No `trust_env`: `network.py` has read the environment, by our own rules.
            return httpx2.AsyncClient(verify=context, trust_env=False, limits=limits)
        from jumpseat.http.proxy_transport import ProxyTransport

        proxy_context = None
        if proxy.scheme == "https" and tls is not None:
            # The client certificate is for the provider, not for the proxy.
            proxy_context = self._context(tls.without_identity, provider)
        transport = ProxyTransport(proxy, context=context, proxy_context=proxy_context, limits=limits)
        return httpx2.AsyncClient(transport=transport, trust_env=False)

    def _context(self, tls: TlsOptions | None, provider: str) -> ssl.SSLContext:
        import ssl

        if tls is None:
            # Without certificate authorities: cheap, and any TLS connection would fail.
            return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        if tls not in self._contexts:
            self._contexts[tls] = make_context(tls, provider)
        return self._contexts[tls]
