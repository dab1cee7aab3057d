"""The daemon accepts each recorded answer, whole or as a partial, in the messages of the next chat.

The recordings are next to the repository and not part of it. If they are missing, the tests are skipped. The
contract suite makes the same check with the repository's own recordings.
"""

import pytest

from jumpseat.dialects.anthropic_messages import AnthropicMessagesDecoder
from jumpseat.dialects.chat_completions import ChatCompletionsDecoder
from jumpseat.dialects.ollama_chat import OllamaChatDecoder
from jumpseat.dialects.responses import ResponsesDecoder
from jumpseat.testing.checks.replay import assert_valid_in_next_chat
from tests.recorded.recordings import TRANSCRIPTS, read_all, recordings

DECODERS = {
    "chat": ChatCompletionsDecoder,
    "responses": ResponsesDecoder,
    "anthropic": AnthropicMessagesDecoder,
    "messages": AnthropicMessagesDecoder,
    "ollama": OllamaChatDecoder,
}

CASES = [
    pytest.param(decoder, each, id=f"{api}-{each.name}")
    for api, decoder in DECODERS.items()
    for each in recordings(api)
    if not each.fails
]


@pytest.mark.skipif(not CASES, reason=f"no recordings at {TRANSCRIPTS}")
@pytest.mark.requirement("2:taken-back")
@pytest.mark.parametrize(("decoder", "recording"), CASES)
def test_a_recorded_answer_is_accepted_in_a_request(decoder, recording):
    events = read_all(decoder("acme", recording.model), [recording.body], recording.content_type)
    assert_valid_in_next_chat(events)
