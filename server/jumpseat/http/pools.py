"""Owns the pools of HTTP connections, which sessions share: one pool for each `Network`."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from jumpseat.http.network import Network
from jumpseat.http.proxies import Proxy
from jumpseat.http.tls import FileStamp, TlsOptions, make_context
from jumpseat.system.shared import Reference, Shared

if TYPE_CHECKING:
    import ssl

    import httpcore2

MAX_CONNECTIONS = 512
"""The maximum number of connections of a session in a pool; every running chat uses one.

The limit prevents a runaway client from using up all file descriptors.
"""

KEEPALIVE_CONNECTIONS = 64
KEEPALIVE_SECONDS = 60.0
"""The lifetime of an idle connection: the next turn of a conversation should not need a TLS handshake."""


class TlsContext:
    """A TLS context that is built on first use."""

    def __init__(self, tls: TlsOptions) -> None:
        """
        Args:
            tls: the options of the context.
        """
        self._tls = tls
        self._context: ssl.SSLContext | None = None
        # Only worker threads acquire this lock, never the event loop's thread. A second request waits for the
        # first one's context, and cancelling the first does not interrupt the work.
        self._lock = threading.Lock()

    def get(self, provider: str) -> ssl.SSLContext:
        """Return the context. The first call reads certificates, which blocks for 50 to 150 ms.

        Raises:
            ConfigError: a file cannot be read or used; the message names the provider's configuration key.
        """
        with self._lock:
            if self._context is None:
                self._context = make_context(self._tls, provider)
            return self._context

    async def aclose(self) -> None:
        """Do nothing: a context does not have to be closed."""


class Pool:
    """The connections that requests with equal networks share."""

    def __init__(
        self,
        proxy: Proxy | None,
        context: TlsContext | None,
        proxy_context: TlsContext | None,
        *,
        public_only: bool = False,
    ) -> None:
        """
        Args:
            proxy: the proxy for every request, if any.
            context: the TLS context for the host; None for plain HTTP.
            proxy_context: the TLS context for the proxy itself; None if the proxy is reached by plain HTTP.
            public_only: see `Network`.
        """
        self._proxy = proxy
        self._public_only = public_only
        self._context = context
        self._proxy_context = proxy_context
        self._lock = threading.Lock()  # Only worker threads acquire it, as in `TlsContext`.
        self.connections: httpcore2.AsyncConnectionPool | None = None
        """httpcore2's pool; None before `open` and after `aclose`."""

    def open(self, provider: str) -> None:
        """Build the pool. The first call blocks.

        Raises:
            ConfigError: for the same reasons as in `TlsContext.get`.
        """
        import ssl

        from jumpseat.http.open_pool import open_pool

        with self._lock:
            if self.connections is not None:
                return
            if self._context is None:
                # This pool is for plain HTTP. Its context trusts no certificates, so it is cheap to create,
                # and any TLS connection would fail.
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            else:
                context = self._context.get(provider)
            self.connections = open_pool(
                self._proxy,
                context=context,
                proxy_context=None if self._proxy_context is None else self._proxy_context.get(provider),
                idle_connections=KEEPALIVE_CONNECTIONS,
                idle_seconds=KEEPALIVE_SECONDS,
                public_only=self._public_only,
            )

    async def aclose(self) -> None:
        """Close the connections."""
        connections, self.connections = self.connections, None
        if connections is not None:
            await connections.aclose()


@dataclass(frozen=True, slots=True)
class Destination:
    """One session's access to the pool of a `Network`."""

    network: Network
    pool: Reference[Pool]
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(MAX_CONNECTIONS))
    """The semaphore that the session's requests acquire while they use the pool."""


class Connections:
    """The pools that one session uses, and its background tasks."""

    def __init__(self, shared: Shared) -> None:
        """
        Args:
            shared: the registry through which sessions share pools.
        """
        self.background_tasks: set[asyncio.Task[None]] = set()
        self.shared = shared
        self._destinations: dict[Network, Destination] = {}
        self._contexts: list[Reference[TlsContext]] = []

    def find_destination(self, network: Network) -> Destination:
        """Return the destination for a network; its pool may not be open yet, and is held until `aclose`."""
        destination = self._destinations.get(network)
        if destination is None:
            proxy, tls, files = network.proxy, network.tls, network.files
            context = None if tls is None else self._acquire_context(tls, files)
            proxy_context = None
            if proxy is not None and proxy.scheme == "https" and tls is not None:
                # The client certificate is for the provider, not for the proxy.
                proxy_context = self._acquire_context(tls.without_identity, files)
            held = self.shared.acquire(
                ("pool", network),
                lambda: Pool(proxy, context, proxy_context, public_only=network.public_only),
                Pool.aclose,
                linger=KEEPALIVE_SECONDS,
            )
            destination = self._destinations[network] = Destination(network, held)
        return destination

    async def aclose(self) -> None:
        """Cancel the tasks, and release the pools."""
        pending = tuple(self.background_tasks)
        for task in pending:
            task.cancel()
        await asyncio.gather(*pending, return_exceptions=True)
        destinations, self._destinations = self._destinations, {}
        contexts, self._contexts = self._contexts, []
        for destination in destinations.values():
            await destination.pool.release()
        for context in contexts:
            await context.release()

    def _acquire_context(self, tls: TlsOptions, files: tuple[FileStamp, ...]) -> TlsContext:
        held = self.shared.acquire(
            ("TLS context", tls, files),
            lambda: TlsContext(tls),
            TlsContext.aclose,
            linger=KEEPALIVE_SECONDS,
        )
        self._contexts.append(held)
        return held.value
