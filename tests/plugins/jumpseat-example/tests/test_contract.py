"""The contract suite for the example's adapters."""

from __future__ import annotations

from pathlib import Path

from jumpseat_example.echo import Echo
from jumpseat_example.parlour import Parlour
from parlour_script import ParlourScript

from jumpseat.adapters.base import Adapter, ProviderConfig
from jumpseat.chat import ChatRequest, Message
from jumpseat.http import HttpClient
from jumpseat.testing import AdapterContract


class TestParlour(AdapterContract):
    recordings = Path(__file__).with_name("recordings")
    script = ParlourScript()
    secret = "key-of-the-parlour"

    def make_adapter(self, base_url: str, http: HttpClient) -> Adapter:
        config = ProviderConfig(kind="parlour", base_url=base_url, api_key=self.secret)
        return Parlour("den", config, http)

    def make_adapter_without_credential(self, base_url: str, http: HttpClient) -> Adapter:
        config = ProviderConfig(kind="parlour", base_url=base_url, api_key="env:NO_SUCH_VARIABLE")
        return Parlour("den", config, http)


class TestEcho(AdapterContract):
    speaks_http = False
    live_request = ChatRequest(messages=(Message.user("Pieces of eight!"),), model="polly")

    def make_adapter(self, base_url: str, http: HttpClient) -> Adapter:
        return Echo("parrot")
