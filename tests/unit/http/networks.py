"""Helpers for requests through a network of `tests.fakes.network`."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.chat import ChatError
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpCall, HttpClient, get_json
from jumpseat.system.environment import environment_of_process
from tests.fakes.network import HOST, Network

CREDENTIAL = "Bearer canary-of-the-provider"
PASSWORD = "canary-of-the-proxy"


def client_of(network: Network, **table: Any) -> HttpClient:
    return HttpClient(
        "acme", ProviderConfig(**network.table(**table)).set_environment(environment_of_process())
    )


async def ask(client: HttpClient, url: str = f"https://{HOST}/v1", timeout: float = 5.0) -> Any:
    """Send a request with a credential, close the client, and return the answer."""
    call = HttpCall("GET", url, {"authorization": CREDENTIAL}, timeout=timeout)
    try:
        return await get_json(client, call, provider="acme")
    finally:
        await client.aclose()


async def fetch_failure(
    client: HttpClient, url: str = f"https://{HOST}/v1", timeout: float = 5.0
) -> ChatError:
    """Return the error of a request with a credential, after checking that it does not show a secret."""
    with pytest.raises(ChatError) as caught:
        await ask(client, url, timeout)
    shown = f"{caught.value.message} {caught.value.hint}"
    assert "canary" not in shown
    assert "verify" not in shown  # Hints must not suggest disabling verification, which is impossible.
    return caught.value
