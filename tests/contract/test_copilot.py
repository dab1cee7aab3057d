"""The contract suite for the Copilot adapter, on each of its three routes."""

from pathlib import Path

import pytest

from jumpseat.adapters.github.copilot.adapter import CopilotAdapter
from jumpseat.config import ProviderConfig
from jumpseat.testing import (
    AdapterContract,
    AnthropicMessagesScript,
    ChatCompletionsScript,
    Reply,
    ResponsesScript,
)

TOKEN = "gho_contract0123456789abcdef"


def make_row(name, endpoint):
    """Return a row of Copilot's list of models."""
    return {
        "id": name,
        "name": name.title(),
        "version": name,
        "vendor": "Contract",
        "object": "model",
        "preview": False,
        "model_picker_enabled": True,
        "supported_endpoints": [endpoint],
        "capabilities": {
            "family": "contract",
            "type": "chat",
            "limits": {"max_context_window_tokens": 128_000, "max_output_tokens": 16_384},
            "supports": {"streaming": True, "tool_calls": True, "vision": True},
        },
    }


class CopilotContract(AdapterContract):
    kind = "copilot"
    secret = TOKEN

    @pytest.fixture(autouse=True)
    def _no_other_sign_in(self, home, monkeypatch):
        for name in ("GH_TOKEN", "GITHUB_TOKEN", "GITHUB_COPILOT_TOKEN", "COPILOT_GITHUB_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(home))
        monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
        monkeypatch.setenv("PATH", str(home))

    def prepare(self, upstream):
        recorded = {self.request_of(each).model for each in self.list_recordings()}
        rows = [make_row(name, self.script.chat_path) for name in sorted({*self.models, *recorded})]
        upstream.default(Reply.json({"object": "list", "data": rows}), path="/models")
        account = {"login": "octocat", "copilot_plan": "individual", "chat_enabled": True}
        upstream.default(Reply.json(account), path="/copilot_internal/user")

    def adapter_of(self, base_url, http, token):
        table = ProviderConfig(
            kind="copilot", github_url=base_url, api_url=base_url, copilot_url=base_url, github_token=token
        )
        return CopilotAdapter("copilot", table, http)

    def make_adapter(self, base_url, http):
        return self.adapter_of(base_url, http, TOKEN)

    def make_adapter_without_credential(self, base_url, http):
        return self.adapter_of(base_url, http, "env:JUMPSEAT_CONTRACT_NO_SUCH_TOKEN")


class TestByChatCompletions(CopilotContract):
    script = ChatCompletionsScript(base_path="", chat_path="/chat/completions")
    recordings = Path(__file__).with_name("recordings") / "copilot"


class TestByResponses(CopilotContract):
    script = ResponsesScript(base_path="", chat_path="/responses")
    recordings = Path(__file__).with_name("recordings") / "openai-responses"


class TestByMessages(CopilotContract):
    script = AnthropicMessagesScript(chat_path="/v1/messages")
    recordings = Path(__file__).with_name("recordings") / "anthropic"
