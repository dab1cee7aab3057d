"""The contract suite for the adapter of OpenAI's Responses API."""

from pathlib import Path

from jumpseat.adapters.openai.responses import OpenAIResponsesAdapter
from jumpseat.config import ProviderConfig
from jumpseat.testing import AdapterContract, ResponsesScript

SECRET = "sk-contract-0123456789abcdef"


class TestOpenAIResponses(AdapterContract):
    kind = "openai-responses"
    recordings = Path(__file__).with_name("recordings") / kind
    script = ResponsesScript()
    secret = SECRET

    def make_adapter(self, base_url, http):
        return OpenAIResponsesAdapter(
            "acme", ProviderConfig(kind=self.kind, base_url=base_url, api_key=SECRET), http
        )

    def make_adapter_without_credential(self, base_url, http):
        table = ProviderConfig(kind=self.kind, base_url=base_url, api_key="env:JUMPSEAT_CONTRACT_NO_SUCH_KEY")
        return OpenAIResponsesAdapter("acme", table, http)
