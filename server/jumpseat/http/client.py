"""The HTTP client of an adapter, and its connections for a URL."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from dataclasses import dataclass

from jumpseat.config import ProviderConfig
from jumpseat.http.network import CONNECT_SECONDS, NetworkOptions, UrlOrigin, origin_of, read_options
from jumpseat.http.pools import Connections, Network, Pool
from jumpseat.http.proxies import Proxy
from jumpseat.http.tls import files_read
from jumpseat.system.shared import Held, Shared
from jumpseat.system.threads import run_blocking

logger = logging.getLogger(__name__)


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine: `localhost`, a name under it, or a loopback address."""
    origin = origin_of(url)
    return origin is not None and origin.is_loopback


@dataclass(frozen=True, slots=True)
class Destination:
    """The connections to the host of a URL."""

    held: Held[Pool]
    slots: asyncio.Semaphore
    """A request holds one while it uses the pool."""

    proxy: Proxy | None
    origin: UrlOrigin

    @property
    def pool(self) -> Pool:
        """The connections."""
        return self.held.value


class HttpClient:
    """The HTTP client of an adapter."""

    def __init__(
        self, provider: str = "", table: ProviderConfig | None = None, *, shared: Shared | None = None
    ) -> None:
        """
        Args:
            provider: the configured provider's id, for errors.
            table: its table, with the options of the network; None for an empty table.
            shared: where sessions share connections; None for connections of its own.
        """
        self._provider = provider
        self._table = table or ProviderConfig()
        self._options: NetworkOptions | None = None
        self._networks: dict[UrlOrigin, Network] = {}
        self._destinations: dict[UrlOrigin, Destination] = {}
        self._connections = Connections(shared or Shared())

    @property
    def connect_seconds(self) -> float:
        """The time limit for a host, or a proxy, to accept a connection."""
        return self._table.connect_timeout or CONNECT_SECONDS

    def for_provider(self, provider: str, table: ProviderConfig) -> HttpClient:
        """A client with the network options of a table; `aclose` of this one closes it too."""
        client = HttpClient(provider, table)
        client._connections = self._connections
        return client

    def apart(self) -> HttpClient:
        """A client with the same options that does not end with the session of this one."""
        return HttpClient(self._provider, self._table, shared=self._connections.shared)

    async def network_of(self, url: str) -> Network:
        """What determines the connections for a URL.

        Raises:
            ConfigError: as `for_url` raises it.
        """
        origin = origin_of(url) or UrlOrigin("", "", 0)
        if origin not in self._networks:
            if self._options is None:
                self._options = await read_options(self._provider, self._table)
            # On a thread: it reads the state of files, and on some systems the settings of proxies.
            return await run_blocking(self._network, origin, self._options)
        return self._networks[origin]

    async def for_url(self, url: str) -> Destination:
        """The connections for a URL; its pool is built on first use.

        Raises:
            ConfigError: a proxy or a file of the table or of the environment cannot be used.
        """
        origin = origin_of(url) or UrlOrigin("", "", 0)
        destination = self._destinations.get(origin)
        if destination is None or destination.held.is_released:
            network = await self.network_of(url)
            held = self._connections.pool(network)
            if held.value.connections is None:
                await run_blocking(held.value.open, self._provider)
            # Not before `open`: after a failure, the next request reads the files again.
            self._networks[origin] = network
            destination = Destination(held, self._connections.slots(network), network.proxy, origin)
            self._destinations[origin] = destination
        return destination

    def run_aside(self, work: Coroutine[None, None, None]) -> None:
        """Run a short task in the background; it is cancelled by `aclose`."""
        task = asyncio.get_running_loop().create_task(work)
        self._connections.aside.add(task)
        task.add_done_callback(self._connections.aside.discard)

    async def aclose(self) -> None:
        """Stop using connections, for the other clients of the session too; a later request opens new ones.

        Those that no other session uses are closed, now or later.
        """
        await self._connections.aclose()

    def _network(self, origin: UrlOrigin, options: NetworkOptions) -> Network:
        proxy = options.proxy_for(origin)
        if proxy is not None:
            logger.debug(
                "%s is reached through the proxy %s of %s", origin.host, proxy.address, proxy.named_by
            )
        if origin.scheme == "http" and (proxy is None or proxy.scheme == "http"):
            # Without TLS no certificates are read, so the first chat with a local model starts faster.
            return Network(proxy, None, ())
        return Network(proxy, options.tls, files_read(options.tls))
