"""The contract suite for the adapter of chat completions."""

from pathlib import Path

from jumpseat.adapters.openai.adapter import OpenAIAdapter
from jumpseat.config import ProviderConfig
from jumpseat.testing import AdapterContract, ChatCompletionsScript

SECRET = "sk-contract-0123456789abcdef"


class TestOpenAI(AdapterContract):
    kind = "openai"
    recordings = Path(__file__).with_name("recordings") / kind
    script = ChatCompletionsScript()
    secret = SECRET

    def make_adapter(self, base_url, http):
        return OpenAIAdapter("acme", ProviderConfig(kind=self.kind, base_url=base_url, api_key=SECRET), http)

    def make_adapter_without_credential(self, base_url, http):
        table = ProviderConfig(kind=self.kind, base_url=base_url, api_key="env:JUMPSEAT_CONTRACT_NO_SUCH_KEY")
        return OpenAIAdapter("acme", table, http)
