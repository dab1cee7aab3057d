"""Pages whose addresses were given in place of files; the daemon reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from jumpseat_client.client import Client

_ADDRESS = re.compile(r"https?://", re.IGNORECASE)


def is_address(argument: str) -> bool:
    """Whether an argument is the address of a page and not the path of a file."""
    return _ADDRESS.match(argument) is not None


async def fetch_pages(client: Client, addresses: Sequence[str]) -> list[dict[str, Any]]:
    """Return the context blocks of pages.

    Raises:
        ClientError: a page cannot be read.
    """
    return [await client.fetch_context(address) for address in addresses]
