"""Resolves host names, and checks whether addresses belong to the public internet.

Requests to hosts that the user did not configure are restricted to public addresses.

Sources: the IANA registries of special-purpose addresses, through `ipaddress`; RFC 6052 and RFC 8215 (NAT64).
"""

from __future__ import annotations

import ipaddress
import socket

from jumpseat.chat import RequestError
from jumpseat.system.threads import run_blocking

_UNICAST = ipaddress.IPv6Network("2000::/3")
"""All public IPv6 addresses that have been assigned so far."""

_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
"""Addresses that a network without IPv4 translates to the IPv4 address in their last 32 bits."""


def is_public(address: str) -> bool:
    """Whether a numeric address belongs to the public internet.

    False for loopback, private, link-local, shared (carrier-grade NAT), multicast, reserved and unspecified
    addresses, and for IPv6 addresses that contain such an IPv4 address.
    """
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(found, ipaddress.IPv4Address):
        return _is_public_v4(found)
    if found.ipv4_mapped is not None:
        return _is_public_v4(found.ipv4_mapped)
    if found in _NAT64:
        return _is_public_v4(ipaddress.IPv4Address(int(found) & 0xFFFFFFFF))
    embedded = [found.sixtofour, *(found.teredo or ())]
    if not all(_is_public_v4(each) for each in embedded if each is not None):
        return False
    return found in _UNICAST and found.is_global


def _is_public_v4(address: ipaddress.IPv4Address) -> bool:
    # `is_global` is also true for multicast addresses, although nothing can connect to them.
    return address.is_global and not address.is_multicast and not address.is_reserved


async def resolve(host: str, port: int, seconds: float | None) -> list[str]:
    """Return the numeric addresses of a host, in the order in which to try them.

    Args:
        host: a name, or an address without brackets, in any notation that the system accepts.
        port: the port to connect to.
        seconds: the time limit; None for the system's own.

    Raises:
        TimeoutError: the name was not resolved in time.
        OSError: the name cannot be resolved.
    """
    rows = await run_blocking(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM), within=seconds)
    return list(dict.fromkeys(str(row[4][0]) for row in rows))


def not_public_error(host: str) -> RequestError:
    """Return the error for a host without a public address."""
    return RequestError(
        f"{host} is not on the public internet: its address is private or reserved.",
        hint="Add `private = true` to the table [fetch] of the configuration file to read such pages.",
    )
