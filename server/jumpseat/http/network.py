"""Reads the network options of a provider's table, and chooses the proxy for a host.

A table's options are not read until the first request, because a value source may run a command.
"""

from __future__ import annotations

import ipaddress
import logging
import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from jumpseat.config import ProviderConfig, Values
from jumpseat.config.schema import ClientCertificate
from jumpseat.config.sources import source_prefix
from jumpseat.config.table_names import name_key
from jumpseat.http.proxies import PORTS, Proxy, ProxyVariables, parse_proxy
from jumpseat.http.tls import FileStamp, TlsOptions, make_context, stamp_files

logger = logging.getLogger(__name__)

CONNECT_SECONDS = 10.0
"""The default of `connect_timeout`. A slower host is down, or behind a firewall that drops packets."""

PROXY_OFF = "none"
"""The value of `proxy` that overrides a proxy in the environment; an empty text has the same effect."""


@dataclass(frozen=True, slots=True)
class UrlOrigin:
    """The scheme, host and port of a URL, which determine how it is reached."""

    scheme: str
    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine: `localhost`, a name under it, a loopback address, or `0.0.0.0`.

        Users copy `0.0.0.0` from a server's listen address.
        """
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            address = ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return address.is_loopback or address.is_unspecified


def origin_of(url: str) -> UrlOrigin:
    """Return a URL's origin; its host is empty if the URL is invalid."""
    try:
        parts = urlsplit(url)
        return UrlOrigin(parts.scheme, parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0))
    except ValueError:
        return UrlOrigin("", "", 0)


def is_loopback(url: str) -> bool:
    """Whether a URL names this machine; see `UrlOrigin.is_loopback`."""
    return origin_of(url).is_loopback


@dataclass(frozen=True, slots=True)
class Network:
    """The parameters of the connections to a host. Requests with equal networks share connections."""

    proxy: Proxy | None
    tls: TlsOptions | None
    """The TLS options; None for plain HTTP."""

    files: tuple[FileStamp, ...]
    """The certificate files, with their stamps at the time of the lookup."""

    public_only: bool = False
    """Whether hosts that are reached without a proxy must have a public address."""


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """The resolved network options of a table. Tables with equal options share connections."""

    proxy: Proxy | None = None
    """The proxy that the table names."""

    variables: ProxyVariables | None = field(default_factory=ProxyVariables)
    """The variables that choose the proxy; None if the table has a value for `proxy`."""

    tls: TlsOptions = field(default_factory=TlsOptions)
    public_only: bool = False
    """Whether hosts that are reached without a proxy must have a public address."""

    def find_network(self, origin: UrlOrigin) -> Network:
        """Return the network for a host.

        This blocks: it stats files, and on some systems reads the proxy settings.

        Raises:
            ConfigError: the environment names a proxy that cannot be used.
        """
        # A proxy would resolve `localhost` to the proxy's own machine.
        proxy = None if origin.is_loopback else self.proxy
        if self.variables is not None and not origin.is_loopback:
            proxy = self.variables.proxy_for(origin.scheme, origin.host, origin.port)
        if proxy is not None:
            logger.debug(
                "%s is reached through the proxy %s of %s", origin.host, proxy.address, proxy.named_by
            )
        if origin.scheme == "http" and (proxy is None or proxy.scheme == "http"):
            # Without TLS, skip the certificates, so that the first chat with a local model starts faster.
            return Network(proxy, None, (), self.public_only)
        return Network(proxy, self.tls, stamp_files(self.tls), self.public_only)


async def read_options(provider: str, table: ProviderConfig, *, public_only: bool = False) -> NetworkOptions:
    """Read the network options of a provider's table.

    Args:
        public_only: see `NetworkOptions`.

    Raises:
        ConfigError: a value source has no value, or `proxy` is not the address of a proxy.
    """
    values = Values(provider, table)
    proxy: Proxy | None = None
    if table.proxy:
        address = (await values.resolve("proxy", table.proxy)).reveal()
        if address.strip().lower() != PROXY_OFF:
            proxy = parse_proxy(address, name_key(provider, "proxy"), provider=provider)
    identity = table.client_cert
    password = None
    if identity is not None and identity.password is not None:
        password = (await values.resolve("client_cert.password", identity.password)).reveal()
    variables = ProxyVariables.from_environment(table.origin.environment) if table.proxy is None else None
    return NetworkOptions(proxy, variables, _make_tls_options(table, identity, password), public_only)


def _make_tls_options(
    table: ProviderConfig, identity: ClientCertificate | None, password: str | None = None
) -> TlsOptions:
    environment = table.origin.environment
    files = (table.ca_file, *((None, None) if identity is None else (identity.cert, identity.key)))
    ca_file, cert, key = (None if path is None else str(environment.expand_path(path)) for path in files)
    # Do not expand `~` in these variables, because OpenSSL does not expand it either.
    system_file, system_directories = (
        os.pathsep.join(str(environment.directory / path) for path in paths.split(os.pathsep) if path)
        for paths in map(environment.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))
    )
    return TlsOptions(ca_file, cert, key, password, system_file, system_directories)


def check_proxy(provider: str, table: ProviderConfig) -> None:
    """Check a table's `proxy`, unless it names a value source or a variable.

    Raises:
        ConfigError: the value is not the address of a proxy.
    """
    value = table.proxy
    is_reference = value is not None and (
        source_prefix(value) is not None or value in table.origin.environment.variables
    )
    if value and not is_reference and value.strip().lower() != PROXY_OFF:
        parse_proxy(value, name_key(provider, "proxy"), provider=provider)


def check_certificates(provider: str, table: ProviderConfig) -> None:
    """Check the certificate files of a table. This blocks for about 100 ms.

    A client certificate with a `password` is not checked, because reading the password may run a command.

    Raises:
        ConfigError: a file cannot be read or used; the message names the configuration key.
    """
    identity = table.client_cert
    if identity is not None and identity.password is not None:
        identity = None
    if identity is not None or table.ca_file is not None:
        make_context(_make_tls_options(table, identity), provider)
