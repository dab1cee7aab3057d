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


def test_a_program_without_asyncio_streams_cancels_and_lists_models(home: Path) -> None:
    with ThreadedUpstream() as upstream:
        upstream.script(
            Reply.events(completion_stream(["Hel", "lo."])),
            Reply.events([chunk({"content": "Once upon "}), Gate()]),
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

            assert "fake:m" in [model["id"] for model in client.models(provider="fake")["models"]]
