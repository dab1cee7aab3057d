"""The synchronous client with the real daemon and a fake provider."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from jumpseat_client import ChatFailed, SyncClient
from tests.daemon import provider

pytestmark = pytest.mark.timeout(60)


def test_a_program_without_asyncio_can_stream_cancel_keep_and_list_models(home: Path) -> None:
    with ThreadedUpstream() as upstream:
        upstream.script(
            Reply.events(completion_stream(["Hel", "lo."])),
            Reply.events([chunk({"content": "Once upon "}), Gate()]),
            Reply.events(completion_stream(["Yes."])),
            path="/v1/chat/completions",
        )
        upstream.script(Reply.json({"data": [{"id": "m"}]}), path="/v1/models")
        with SyncClient.spawn(config=provider(upstream.base_url)) as client:
            chat = client.chat("Hi")
            assert "".join(delta.text for delta in chat) == chat.response().text == "Hello."

            story = client.chat("Tell me a story.")
            for delta in story:
                if delta.text:
                    break
            upstream.wait_for_disconnect(2)
            with pytest.raises(ChatFailed) as caught:
                story.response()
            assert (caught.value.kind, (caught.value.partial or {})["text"]) == ("cancelled", "Once upon ")

            kept = client.chat("Keep this.", keep=True).response()
            name = kept.conversation_id
            assert name is not None
            assert client.rename_conversation(name, "Kept")["title"] == "Kept"
            fork = client.fork_conversation(name, messages=1)
            assert client.get_conversation(fork["id"])["messages"][0]["content"][0]["text"] == "Keep this."
            assert len(client.list_conversations(query="keep")["conversations"]) == 2
            assert [client.delete_conversation(name), client.delete_conversation(name)] == [True, False]

            assert "fake:m" in [model["id"] for model in client.list_models(provider="fake")["models"]]
