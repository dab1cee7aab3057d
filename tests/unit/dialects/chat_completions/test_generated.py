"""Images, audio and executed tools in answers."""

import json

import pytest

from jumpseat.chat import ChatRequest, ImageBlock, Message
from jumpseat.dialects.chat_completions import EndpointFacts, encode
from tests.unit.dialects.chat_completions.answers import answer, body, chunk, stream

URL = "data:image/png;base64,iVBORw0K"
PART = {"type": "image_url", "image_url": {"url": URL}}


def blocks_of(response):
    return [block.type for block in response.content]


def both(message, *deltas):
    """Yield the response to the message as a whole body, and to its deltas as a stream."""
    yield answer(body(message), "application/json")
    yield answer(stream(*map(chunk, deltas or [message]), chunk({}, "stop")))


@pytest.mark.requirement("chat:generated-images")
@pytest.mark.parametrize("form", [PART, {"image_url": URL}, {"url": URL}, URL])
def test_an_image_is_a_block_and_goes_back_in_its_field(form):
    for response in both({"content": "Here.", "images": [form]}, {"content": "Here."}, {"images": [form]}):
        _, image = response.content
        assert (blocks_of(response), image.source) == (["text", "image"], URL)
        messages = (Message.user("Draw."), response.as_message(), Message.user("Again."))
        request = ChatRequest(messages=messages, model="asked")
        sent = encode(request, EndpointFacts(provider="acme"))["messages"][1]
        assert sent == {"role": "assistant", "content": "Here.", "images": [PART]}


@pytest.mark.requirement("chat:generated-images")
def test_images_are_decoded_alone_repeated_and_in_the_content():
    for message in ({"images": [PART, PART]}, {"content": [PART]}):
        for response in both({"content": None, **message}):
            assert blocks_of(response) == ["image"]
    only = Message("assistant", (ImageBlock(URL, opaque='{"field":"images"}'),))
    request = ChatRequest(messages=(Message.user("Draw."), only), model="m")
    sent = encode(request, EndpointFacts(provider="acme"))["messages"][1]
    assert sent == {"role": "assistant", "content": "", "images": [PART]}


@pytest.mark.requirement("chat:generated-images")
def test_images_that_cannot_be_sent_back_and_unknown_parts_are_other_blocks():
    (response, _) = both(
        {"content": [{"type": "reference", "reference_ids": [1]}, {"type": "text", "text": "x"}]}
    )
    assert (blocks_of(response), response.text) == (["other", "text"], "x")
    (response, _) = both({"content": "x", "images": ["http://acme.example/i.png"]})
    assert blocks_of(response) == ["text", "other"]


@pytest.mark.requirement("chat:generated-audio")
def test_audio_is_replaced_by_its_transcript_with_a_warning():
    audio = {"id": "audio_1", "data": "UklGRg==", "expires_at": 1, "transcript": "Hello you."}
    pieces = [{"audio": {"id": "audio_1", "transcript": "Hello "}}, {"audio": {"transcript": "you."}}]
    data = [{"audio": {"data": "UklG"}}, {"audio": {"data": "Rg==", "expires_at": 1}}]
    for response in both({"content": None, "audio": audio}, *pieces, *data):
        assert (response.text, response.stop_reason) == ("Hello you.", "end_turn")
        assert [warning.code for warning in response.warnings] == ["audio_dropped"]


@pytest.mark.requirement("chat:executed-tools")
def test_tools_that_the_provider_ran_are_other_blocks_with_their_output():
    tool = {"index": 0, "type": "search", "arguments": '{"query":"x"}', "output": "Title: X"}
    begun = {"index": 0, "type": "search", "arguments": '{"query":"x"}', "output": None}
    deltas = [{"executed_tools": [begun]}, {"executed_tools": [{"index": 0, "output": "Title: X"}]}]
    for response in both({"content": "x", "executed_tools": [tool]}, *deltas, {"content": "x"}):
        (other,) = [block for block in response.content if block.type == "other"]
        assert (other.kind, other.text, json.loads(other.opaque)) == ("executed_tool", "Title: X", tool)
        assert (response.text, response.stop_reason) == ("x", "end_turn")
