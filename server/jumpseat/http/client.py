"""The one HTTP client of the daemon, built when the first request needs it.

Owns connection pools, proxies and trust. Above it are `exchange.py` and the adapters, which share one
object and never see httpx2. Redirects are not followed: a credential goes to the host it was configured
for and to no other.
"""

from __future__ import annotations

import asyncio
import ipaddress
import threading
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from jumpseat.chat import ConfigError

if TYPE_CHECKING:
    import httpx2

MAX_CONNECTIONS = 512
"""Every running chat holds one; the bound only keeps a runaway client from using up all descriptors."""

KEEPALIVE_CONNECTIONS = 64
KEEPALIVE_SECONDS = 60.0
"""Long enough that the next question of a conversation needs no new TLS handshake."""

LOOPBACK_HOSTS = ("localhost", "*.localhost", "127.0.0.0/8", "[::1]")


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine: `localhost`, a name under it, or a loopback address."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class HttpClient:
    """Shared by all adapters of a daemon. Loopback hosts are reached without the environment's proxies."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._clients: dict[bool, httpx2.AsyncClient] = {}

    async def for_url(self, url: str) -> httpx2.AsyncClient:
        """The client for this URL, built on first use.

        Building one reads the system's certificates, 50 to 150 ms, so that is done on a thread; plain HTTP
        on loopback needs none, and so a local model is reached without that wait.

        Raises:
            ConfigError: a proxy that the environment names cannot be used.
        """
        plain = url.lower().startswith("http:") and is_loopback(url)
        client = self._clients.get(plain)
        if client is None:
            client = await asyncio.to_thread(self._built, plain)
        return client

    def _built(self, plain: bool) -> httpx2.AsyncClient:
        # The lock is held by a thread, never by the loop: a second request waits for the first one's work,
        # and a cancel in between loses nothing.
        with self._lock:
            if plain not in self._clients:
                self._clients[plain] = _plain_loopback_client() if plain else _client()
            return self._clients[plain]

    async def aclose(self) -> None:
        """Close every connection; a later request would open new ones."""
        with self._lock:
            clients, self._clients = self._clients, {}
        for client in clients.values():
            await client.aclose()


def _limits() -> httpx2.Limits:
    import httpx2

    return httpx2.Limits(
        max_connections=MAX_CONNECTIONS,
        max_keepalive_connections=KEEPALIVE_CONNECTIONS,
        keepalive_expiry=KEEPALIVE_SECONDS,
    )


def _plain_loopback_client() -> httpx2.AsyncClient:
    import ssl

    import httpx2

    # A context without any certificate authority: cheap, and it would refuse TLS rather than trust it.
    no_trust = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    return httpx2.AsyncClient(verify=no_trust, trust_env=False, limits=_limits())


def _client() -> httpx2.AsyncClient:
    import httpx2

    direct: dict[str, httpx2.AsyncBaseTransport | None] = {f"all://{host}": None for host in LOOPBACK_HOSTS}
    try:
        return httpx2.AsyncClient(mounts=direct, limits=_limits())
    except (ImportError, ValueError, httpx2.InvalidURL) as error:
        raise ConfigError(
            "The proxy named by the environment (HTTP_PROXY, HTTPS_PROXY or ALL_PROXY) cannot be used: "
            f"{type(error).__name__}.",
            hint="Name an http:// or https:// proxy, or unset the variable.",
        ) from error
