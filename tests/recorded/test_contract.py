"""The contract suite's checks of the round trip, with recorded answers of many servers.

The recordings are next to the repository and not part of it. If they are missing, the tests are skipped.
"""

import pytest

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.adapters.ollama.adapter import OllamaAdapter
from jumpseat.adapters.openai.adapter import OpenAIAdapter
from jumpseat.adapters.openai.responses import OpenAIResponsesAdapter
from jumpseat.config import ProviderConfig
from jumpseat.testing import (
    AdapterContract,
    AnthropicMessagesScript,
    ChatCompletionsScript,
    OllamaChatScript,
    Recording,
    ResponsesScript,
)
from tests.recorded.recordings import TRANSCRIPTS, recordings


class OverTranscripts(AdapterContract):
    """The checks that need only a recorded answer. A subclass names the dialect."""

    apis: tuple[str, ...]

    def loaded_recordings(self):
        for each in (found for api in self.apis for found in recordings(api)):
            if not each.fails:
                form = each.expected["kind"]
                yield Recording(each.name, each.body, form, {"headers": each.headers}, {"model": each.model})

    def request_of(self, recording):
        return self.hello(model=recording.params["model"], stream=recording.streamed)


CHECKS = (
    "test_provider_data_is_sent_back_byte_for_byte",
    pytest.param("test_an_answer_that_was_stored_as_json_is_sent_back_the_same", marks=pytest.mark.slow),
)


class Chat(OverTranscripts):
    apis = ("chat",)
    script = ChatCompletionsScript()

    def make_adapter(self, base_url, http):
        return OpenAIAdapter("acme", ProviderConfig(kind="openai", base_url=base_url), http)


class Responses(OverTranscripts):
    apis = ("responses",)
    script = ResponsesScript()

    def make_adapter(self, base_url, http):
        table = ProviderConfig(kind="openai-responses", base_url=base_url)
        return OpenAIResponsesAdapter("acme", table, http)


class Messages(OverTranscripts):
    apis = ("anthropic", "messages")
    script = AnthropicMessagesScript()

    def make_adapter(self, base_url, http):
        return AnthropicAdapter("acme", ProviderConfig(kind="anthropic", base_url=base_url), http)


class Ollama(OverTranscripts):
    apis = ("ollama",)
    script = OllamaChatScript()

    def make_adapter(self, base_url, http):
        return OllamaAdapter("acme", ProviderConfig(kind="ollama", base_url=base_url), http)


CASES = [
    pytest.param(cls, recording, id=f"{cls.__name__}-{recording.name}")
    for cls in (Chat, Responses, Messages, Ollama)
    for recording in cls().loaded_recordings()
]


@pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")
@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize(("cls", "recording"), CASES)
def test_a_recorded_answer_is_replayed_unchanged(cls, recording, check):
    getattr(cls(), check)(recording)
