"""The HTTP client of an adapter, which finds the connections for a URL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass

from jumpseat.config import ProviderConfig
from jumpseat.http.network import CONNECT_SECONDS, NetworkOptions, UrlOrigin, origin_of, read_options
from jumpseat.http.pools import Connections, Network, Pool
from jumpseat.http.proxies import Proxy
from jumpseat.http.tls import stamp_files
from jumpseat.system.shared import Reference, Shared
from jumpseat.system.threads import run_blocking

logger = logging.getLogger(__name__)


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine: `localhost`, a name under it, or a loopback address."""
    origin = origin_of(url)
    return origin is not None and origin.is_loopback


@dataclass(frozen=True, slots=True)
class Destination:
    """The connections to the host of a URL."""

    held: Reference[Pool]
    slots: asyncio.Semaphore
    """The semaphore that a request acquires while it uses the pool."""

    proxy: Proxy | None
    origin: UrlOrigin

    @property
    def pool(self) -> Pool:
        """The pool that the requests share."""
        return self.held.value


class HttpClient:
    """The HTTP client of an adapter."""

    def __init__(
        self,
        provider: str = "",
        table: ProviderConfig | None = None,
        *,
        shared: Shared | None = None,
        public_only: bool = False,
    ) -> None:
        """
        Args:
            provider: the configured provider's id, for errors.
            table: the provider's configuration table, with its network options; None for an empty table.
            shared: the registry through which sessions share connections; None if this client shares none.
            public_only: whether hosts that are reached without a proxy must have a public address.
        """
        self._provider = provider
        self.public_only = public_only
        self._table = table or ProviderConfig()
        self.connect_seconds = self._table.connect_timeout or CONNECT_SECONDS
        """The time limit within which a host or a proxy must accept a connection."""

        self._options: NetworkOptions | None = None
        self._networks: dict[UrlOrigin, Network] = {}
        self._destinations: dict[UrlOrigin, Destination] = {}
        self._connections = Connections(shared or Shared())

    def for_provider(self, provider: str, table: ProviderConfig) -> HttpClient:
        """Create a client with the network options of a table. Closing this client closes the new one too."""
        client = HttpClient(provider, table)
        client._connections = self._connections
        return client

    def make_detached(self) -> HttpClient:
        """Create a client with the same options that outlives this client's session."""
        return HttpClient(self._provider, self._table, shared=self._connections.shared)

    async def find_network(self, url: str) -> Network:
        """Return the network that determines the connections for a URL.

        Raises:
            ConfigError: for the same reasons as in `find_destination`.
        """
        origin = origin_of(url) or UrlOrigin("", "", 0)
        if origin not in self._networks:
            if self._options is None:
                self._options = await read_options(self._provider, self._table)
            # This blocks: it stats files, and on some systems reads the proxy settings.
            return await run_blocking(self._find_network, origin, self._options)
        return self._networks[origin]

    async def find_destination(self, url: str) -> Destination:
        """Return the connections for a URL; the pool is built on first use.

        Raises:
            ConfigError: a proxy or a file of the table or of the environment cannot be used.
        """
        origin = origin_of(url) or UrlOrigin("", "", 0)
        destination = self._destinations.get(origin)
        if destination is None or destination.held.is_released:
            network = await self.find_network(url)
            held = self._connections.pool(network)
            if held.value.connections is None:
                await run_blocking(held.value.open, self._provider)
            # Store it only now: if `open` fails, the next request must read the files again.
            self._networks[origin] = network
            destination = Destination(held, self._connections.slots(network), network.proxy, origin)
            self._destinations[origin] = destination
        return destination

    def run_in_background(self, work: Coroutine[None, None, None]) -> None:
        """Run a short task in the background; `aclose` cancels it."""
        task = asyncio.get_running_loop().create_task(work)
        self._connections.background_tasks.add(task)
        task.add_done_callback(self._connections.background_tasks.discard)

    async def aclose(self) -> None:
        """Release the connections of all clients in the session; a later request opens new ones.

        Connections that no other session uses are closed, now or later.
        """
        await self._connections.aclose()

    def _find_network(self, origin: UrlOrigin, options: NetworkOptions) -> Network:
        proxy = options.proxy_for(origin)
        if proxy is not None:
            logger.debug(
                "%s is reached through the proxy %s of %s", origin.host, proxy.address, proxy.named_by
            )
        if origin.scheme == "http" and (proxy is None or proxy.scheme == "http"):
            # Skip the certificates without TLS, so that the first chat with a local model starts faster.
            return Network(proxy, None, (), self.public_only)
        return Network(proxy, options.tls, stamp_files(options.tls), self.public_only)
