"""Owns the pools of HTTP connections, which sessions share: one per proxy and TLS options."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from jumpseat.http.proxies import Proxy
from jumpseat.http.tls import FileStamp, TlsOptions, make_context
from jumpseat.system.shared import Held, Shared

if TYPE_CHECKING:
    import ssl

    import httpcore2

MAX_CONNECTIONS = 512
"""Of one session in one pool; every running chat uses one.

The limit keeps a runaway client from using all file descriptors.
"""

KEEPALIVE_CONNECTIONS = 64
KEEPALIVE_SECONDS = 60.0
"""Long enough that the next turn of a conversation needs no new TLS handshake."""


@dataclass(frozen=True, slots=True)
class Network:
    """What determines the connections to a host. Requests with equal networks share connections."""

    proxy: Proxy | None
    tls: TlsOptions | None
    """None without TLS."""

    files: tuple[FileStamp, ...]
    """The files of certificates, as they are now."""


class TlsContext:
    """A TLS context, built at its first use."""

    def __init__(self, tls: TlsOptions) -> None:
        """
        Args:
            tls: its options.
        """
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        # Only threads hold the lock, never the event loop: a second request waits for the first one's
        # context, and a cancel does not interrupt the work.
        self._lock = threading.Lock()

    def get(self, provider: str) -> ssl.SSLContext:
        """The context. Blocks for 50 to 150 ms at the first call, because it reads certificates.

        Raises:
            ConfigError: a file cannot be read or used; the message has the provider's configuration key.
        """
        with self._lock:
            if self._context is None:
                self._context = make_context(self._tls, provider)
            return self._context

    async def aclose(self) -> None:
        """Has no effect: a context needs no closing."""


class Pool:
    """Connections that requests share."""

    def __init__(
        self, proxy: Proxy | None, context: TlsContext | None, proxy_context: TlsContext | None
    ) -> None:
        """
        Args:
            proxy: the proxy of every request, if any.
            context: for TLS with the host; None for plain HTTP.
            proxy_context: for TLS with the proxy itself; None if that is plain HTTP.
        """
        self._proxy = proxy
        self._context = context
        self._proxy_context = proxy_context
        self._lock = threading.Lock()  # As that of `TlsContext`.
        self.connections: httpcore2.AsyncConnectionPool | None = None
        """None until `open`, and after `aclose`."""

    def open(self, provider: str) -> None:
        """Build the pool at the first call, which blocks.

        Raises:
            ConfigError: as `TlsContext.get` raises it.
        """
        import ssl

        from jumpseat.http.open_pool import open_pool

        with self._lock:
            if self.connections is not None:
                return
            if self._context is None:
                # Without certificate authorities: cheap, and any TLS connection would fail.
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            else:
                context = self._context.get(provider)
            self.connections = open_pool(
                self._proxy,
                context=context,
                proxy_context=None if self._proxy_context is None else self._proxy_context.get(provider),
                idle_connections=KEEPALIVE_CONNECTIONS,
                idle_seconds=KEEPALIVE_SECONDS,
            )

    async def aclose(self) -> None:
        """Close the connections."""
        connections, self.connections = self.connections, None
        if connections is not None:
            await connections.aclose()


class Connections:
    """The pools that one session uses, and its tasks in the background."""

    def __init__(self, shared: Shared) -> None:
        """
        Args:
            shared: where sessions share pools.
        """
        self.aside: set[asyncio.Task[None]] = set()
        self.shared = shared
        self._pools: dict[Network, Held[Pool]] = {}
        self._slots: dict[Network, asyncio.Semaphore] = {}
        self._contexts: list[Held[TlsContext]] = []

    def pool(self, network: Network) -> Held[Pool]:
        """The pool of a network, held until `aclose`; it may not be open yet."""
        held = self._pools.get(network)
        if held is None:
            proxy, tls, files = network.proxy, network.tls, network.files
            context = None if tls is None else self._context(tls, files)
            proxy_context = None
            if proxy is not None and proxy.scheme == "https" and tls is not None:
                # The client certificate is for the provider, not for the proxy.
                proxy_context = self._context(tls.without_identity, files)
            held = self._pools[network] = self.shared.hold(
                ("pool", network),
                lambda: Pool(proxy, context, proxy_context),
                Pool.aclose,
                linger=KEEPALIVE_SECONDS,
            )
        return held

    def slots(self, network: Network) -> asyncio.Semaphore:
        """Each request of the session holds one while it uses the pool of this network."""
        if network not in self._slots:
            self._slots[network] = asyncio.Semaphore(MAX_CONNECTIONS)
        return self._slots[network]

    async def aclose(self) -> None:
        """Cancel the tasks, and give the pools back."""
        pending = tuple(self.aside)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        pools, self._pools = self._pools, {}
        contexts, self._contexts = self._contexts, []
        for pool in pools.values():
            await pool.release()
        for context in contexts:
            await context.release()

    def _context(self, tls: TlsOptions, files: tuple[FileStamp, ...]) -> TlsContext:
        held = self.shared.hold(
            ("TLS context", tls, files),
            lambda: TlsContext(tls),
            TlsContext.aclose,
            linger=KEEPALIVE_SECONDS,
        )
        self._contexts.append(held)
        return held.value
