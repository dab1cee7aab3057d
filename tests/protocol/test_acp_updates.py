"""The updates of the Agent Client Protocol: answers as they arrive, and the messages of loaded sessions."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.acp import AcpAgent, AcpExchange, provider_table, running_agent, script_answers, sent_messages
from tests.hub import Hub

PIXELS = base64.b64encode(b"pixels").decode()
PAGE = base64.b64encode(b"%PDF").decode()


@pytest.fixture
async def agent(hub: Hub, upstream: FakeUpstream, tmp_path: Path) -> AsyncIterator[AcpAgent]:
    """An initialized agent whose only provider is the upstream, and whose models accept images."""
    config = provider_table(upstream.base_url) + "capabilities = { vision = true }\n"
    async with running_agent(hub, tmp_path, config=config) as running:
        await running.initialize()
        yield running


async def load_kept(hub: Hub, agent: AcpAgent, *messages: Any) -> AcpExchange:
    """Keep these messages as a client of jumpseat's own protocol, and load them."""
    async with hub.client() as editor:
        await editor.initialize()
        params = {"messages": messages, "keep": True, "conversationId": "kept", "stream": False}
        assert (await editor.request("chat/start", params)).result
    return await agent.reopen("session/load", "kept")


@pytest.mark.requirement("11:replay")
async def test_loading_a_session_shows_its_tool_calls_and_their_results(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_answers(upstream, "Two files.", "Yes.")
    call = {"type": "tool_use", "name": "ls", "arguments": {"path": "."}, "raw": '{"path": "."}'}
    result = {"type": "tool_result"}
    seen = [
        {"type": "text", "text": "a picture"},
        {"type": "image", "source": PIXELS, "mediaType": "image/png"},
    ]
    loaded = await load_kept(
        hub,
        agent,
        {"role": "user", "content": "What is here?"},
        {
            "role": "assistant",
            "content": [{**call, "id": "one"}, {**call, "id": "two"}, {**call, "id": "three"}],
        },
        {
            "role": "user",
            "content": [
                {**result, "toolUseId": "one", "content": "a.py b.py"},
                {**result, "toolUseId": "two", "content": "No such directory.", "isError": True},
                {**result, "toolUseId": "three", "content": seen},
            ],
        },
    )

    assert [
        (each["toolCallId"], each["title"], each["rawInput"]) for each in loaded.updates("tool_call")
    ] == [(name, "ls", {"path": "."}) for name in ("one", "two", "three")]
    ends = loaded.updates("tool_call_update")
    assert [(each["toolCallId"], each["status"]) for each in ends] == [
        ("one", "completed"),
        ("two", "failed"),
        ("three", "completed"),
    ]
    contents = [[part["content"] for part in each["content"]] for each in ends]
    assert contents == [
        [{"type": "text", "text": "a.py b.py"}],
        [{"type": "text", "text": "No such directory."}],
        [
            {"type": "text", "text": "a picture"},
            {"type": "image", "data": PIXELS, "mimeType": "image/png"},
        ],
    ]
    assert loaded.text() == "Two files."

    await agent.prompt("kept", "Sure?")
    assert [message["role"] for message in sent_messages(upstream)][-2:] == ["assistant", "user"]


@pytest.mark.requirement("11:replay")
async def test_loading_a_session_shows_images_documents_context_and_thinking(
    hub: Hub, agent: AcpAgent, upstream: FakeUpstream
) -> None:
    upstream.script(
        Reply.events(completion_stream(["A dot."], reasoning=["Hm."])), path="/v1/chat/completions"
    )
    loaded = await load_kept(
        hub,
        agent,
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image", "source": PIXELS, "mediaType": "image/webp"},
                {"type": "image", "source": f"data:image/gif;base64,{PIXELS}"},
                {"type": "image", "source": "https://example.org/dot.png"},
                {"type": "document", "source": PAGE, "mediaType": "application/pdf", "name": "page.pdf"},
                {"type": "context", "text": "x = 1", "uri": "file:///a.py"},
                {"type": "context", "text": "a selection"},
            ],
        },
    )

    assert [update["content"] for update in loaded.updates("user_message_chunk")] == [
        {"type": "text", "text": "What is this?"},
        {"type": "image", "data": PIXELS, "mimeType": "image/webp"},
        {"type": "image", "data": PIXELS, "mimeType": "image/gif"},
        {"type": "resource_link", "uri": "https://example.org/dot.png", "name": "image"},
        {"type": "resource", "resource": {"uri": "page.pdf", "blob": PAGE, "mimeType": "application/pdf"}},
        {"type": "resource", "resource": {"uri": "file:///a.py", "text": "x = 1"}},
        {"type": "text", "text": "a selection"},
    ]
    assert loaded.text("agent_thought_chunk") == "Hm."
    assert loaded.text() == "A dot."
    chunks = [loaded.updates(kind) for kind in ("agent_thought_chunk", "agent_message_chunk")]
    assert len({update["messageId"] for updates in chunks for update in updates}) == 1


@pytest.mark.requirement("11:prompt")
async def test_citations_become_links_and_each_link_is_sent_once(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    def cite(url: str, title: str | None, start: int = 0) -> dict[str, Any]:
        citation = {"url": url, "start_index": start, **({"title": title} if title else {})}
        return chunk({"annotations": [{"type": "url_citation", "url_citation": citation}]})

    text, *rest = completion_stream(["It is blue."])[1:]
    citations = [
        cite("https://example.org/sky", "The sky"),
        cite("https://example.org/sky", "The sky", 3),
        cite("https://example.org/sea", None),
    ]
    upstream.script(Reply.events([text, *citations, *rest]), path="/v1/chat/completions")
    session = await agent.new_session()

    contents = [
        update["content"] for update in (await agent.prompt(session, "Why?")).updates("agent_message_chunk")
    ]

    assert contents[0] == {"type": "text", "text": "It is blue."}
    assert [content for content in contents if content["type"] == "resource_link"] == [
        {"type": "resource_link", "uri": "https://example.org/sky", "name": "The sky"},
        {"type": "resource_link", "uri": "https://example.org/sea", "name": "https://example.org/sea"},
    ]


@pytest.mark.requirement("11:prompt")
async def test_a_generated_image_is_sent_as_content(agent: AcpAgent, upstream: FakeUpstream) -> None:
    images = [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}}]
    first, *rest = completion_stream(["Here."])
    upstream.script(Reply.events([first, chunk({"images": images}), *rest]), path="/v1/chat/completions")
    session = await agent.new_session()

    answer = await agent.prompt(session, "Draw a dot.")

    contents = [update["content"] for update in answer.updates("agent_message_chunk")]
    assert {"type": "image", "data": PIXELS, "mimeType": "image/png"} in contents
    assert "Here." in json.dumps(contents)
