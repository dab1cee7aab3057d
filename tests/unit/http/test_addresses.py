"""Only addresses of the public internet count as public, in any notation."""

from __future__ import annotations

import pytest

from jumpseat.http.addresses import is_public


@pytest.mark.parametrize(
    "address",
    [
        "93.184.216.34", "8.8.8.8", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1",
        "2606:4700:4700::1111", "2a00:1450:4001:80b::200e", "::ffff:8.8.8.8", "64:ff9b::808:808",
    ],
)  # fmt: skip
def test_an_address_of_the_public_internet_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        # These addresses lead to this machine.
        "127.0.0.1", "127.255.255.254", "0.0.0.0", "0.1.2.3", "::1", "::",
        # Private networks, link-local addresses and carrier-grade NAT.
        "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "100.64.0.1",
        "100.127.255.255", "fd00::1", "fc00::1", "fe80::1", "fe80::1%eth0", "fec0::1",
        # Multicast, broadcast, documentation, benchmarks, reserved.
        "224.0.0.1", "239.255.255.255", "255.255.255.255", "192.0.2.1", "198.51.100.1", "203.0.113.1",
        "198.18.0.1", "192.0.0.1", "240.0.0.1", "ff02::1", "ff0e::1", "2001:db8::1", "100::1", "4000::1",
        # IPv4 addresses in IPv6 addresses: mapped, compatible, NAT64, 6to4, Teredo.
        "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:224.0.0.1", "::127.0.0.1",
        "64:ff9b::7f00:1", "64:ff9b::a00:1", "64:ff9b:1::808:808", "2002:7f00:1::", "2002:a00:1::1",
        "2001:0:7f00:1::", "2001:0:4136:e378:8000:63bf:f5ff:fffe",
        # These are not addresses.
        "", "localhost", "example.com", "1.2.3", "127.1",
    ],
)  # fmt: skip
def test_any_other_address_is_not_public(address: str) -> None:
    assert not is_public(address)
