"""The contract suite for the adapter of Anthropic's Messages API."""

from pathlib import Path

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.config import ProviderConfig
from jumpseat.testing import AdapterContract, AnthropicMessagesScript

SECRET = "sk-contract-0123456789abcdef"


class TestAnthropic(AdapterContract):
    kind = "anthropic"
    recordings = Path(__file__).with_name("recordings") / kind
    script = AnthropicMessagesScript()
    secret = SECRET

    def make_adapter(self, base_url, http):
        return AnthropicAdapter(
            "acme", ProviderConfig(kind=self.kind, base_url=base_url, api_key=SECRET), http
        )

    def make_adapter_without_credential(self, base_url, http):
        table = ProviderConfig(kind=self.kind, base_url=base_url, api_key="env:JUMPSEAT_CONTRACT_NO_SUCH_KEY")
        return AnthropicAdapter("acme", table, http)
