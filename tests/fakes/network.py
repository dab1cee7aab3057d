"""A company's network: a provider behind TLS with its own authority, and a proxy.

Only the proxy can resolve the provider's name, so every request to the provider passes through it.
"""

from __future__ import annotations

import contextlib
import ssl
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.fakes.loopback_proxy import LoopbackProxy
from tests.fakes.tls_front import Authority, TlsFront

HOST = "provider.test"
PLAIN_HOST = "plain.test"
"""The host of the same provider without TLS."""


@dataclass(frozen=True)
class Network:
    """The parts of the network."""

    authority: Authority
    upstream: FakeUpstream
    front: TlsFront
    proxy: LoopbackProxy

    @property
    def url(self) -> str:
        """The base URL of the provider."""
        return f"https://{HOST}/v1"

    def table(self, **more: Any) -> dict[str, Any]:
        """Return a provider's table with `proxy` and `ca_file`. `more` adds keys; None removes a key."""
        table = {"ca_file": str(self.authority.file), **more}
        if "proxy" not in table:
            table["proxy"] = self.proxy.url
        return {key: value for key, value in table.items() if value is not None}


@contextlib.asynccontextmanager
async def running_network(
    authority: Authority,
    inside: ssl.SSLContext | None = None,
    *,
    outside: ssl.SSLContext | None = None,
    auth: str | None = None,
) -> AsyncIterator[Network]:
    """Run the network, with a provider that answers every request.

    Args:
        authority: the certificate authority of the provider.
        inside: the TLS context of the provider; None for one with a certificate for `HOST`.
        outside: the TLS context of the proxy; None for plain HTTP.
        auth: the `user:password` that the proxy requires.
    """
    async with contextlib.AsyncExitStack() as stack:
        upstream = await stack.enter_async_context(FakeUpstream())
        upstream.default(Reply.json({"ok": True}))
        context = inside or authority.server(HOST)
        front = await stack.enter_async_context(TlsFront(context, upstream.origin))
        hosts = {HOST: front.port, PLAIN_HOST: int(upstream.origin.rpartition(":")[2])}
        proxy = await stack.enter_async_context(LoopbackProxy(hosts, auth=auth, context=outside))
        yield Network(authority, upstream, front, proxy)
