"""The contract suites for the example's adapters and tools."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from jumpseat_example.echo import Echo
from jumpseat_example.parlour import Parlour
from jumpseat_example.shed import create
from parlour_script import ParlourScript

from jumpseat.adapters.base import Adapter, Environment, ProviderConfig
from jumpseat.chat import ChatRequest, Message
from jumpseat.http import HttpClient
from jumpseat.testing import AdapterContract, ToolServerContract
from jumpseat.tools.server import ToolServer


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


class TestShed(ToolServerContract):
    calls: ClassVar = {"dig": {"depth": 2}}

    def make_server(self, environment: Environment) -> ToolServer:
        return create(environment)
