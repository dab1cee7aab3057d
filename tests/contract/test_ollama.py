"""The contract suite for the adapter of Ollama servers."""

from pathlib import Path

from jumpseat.adapters.ollama.adapter import OllamaAdapter
from jumpseat.config import ProviderConfig
from jumpseat.testing import AdapterContract, OllamaChatScript

SECRET = "sk-contract-0123456789abcdef"


class TestOllama(AdapterContract):
    kind = "ollama"
    recordings = Path(__file__).with_name("recordings") / kind
    script = OllamaChatScript()
    secret = SECRET

    def make_adapter(self, base_url, http):
        return OllamaAdapter("acme", ProviderConfig(kind=self.kind, base_url=base_url, api_key=SECRET), http)

    def make_adapter_without_credential(self, base_url, http):
        table = ProviderConfig(kind=self.kind, base_url=base_url, api_key="env:JUMPSEAT_CONTRACT_NO_SUCH_KEY")
        return OllamaAdapter("acme", table, http)
