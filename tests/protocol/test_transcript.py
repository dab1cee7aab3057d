"""`transcript/parse` and `transcript/render`."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.anthropic_messages import Call, Redacted, Thought, Words, message_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider, user

pytestmark = pytest.mark.slow

SIGNATURE = "EqQBCgIYAhIM+/=="
ORIGIN = {"provider": "fake", "model": "claude-haiku-4-5"}
CLAUDE = {"kind": "anthropic", "api_key": "literal", "default_model": ORIGIN["model"]}


async def parse(daemon: Daemon, text: str) -> Any:
    return (await daemon.request("transcript/parse", {"text": text})).result


async def render(daemon: Daemon, messages: Any, **more: Any) -> str:
    text = (await daemon.request("transcript/render", {"messages": messages, **more})).result["text"]
    assert isinstance(text, str)
    return text


@pytest.mark.requirement("5:transcript")
async def test_a_conversation_becomes_a_text_and_is_read_back(chatty: Daemon) -> None:
    call = {"type": "tool_use", "id": "c", "name": "f", "arguments": {}, "raw": "{}"}
    messages = [user("Hi.\n## Me"), {"role": "assistant", "content": [call]}]
    text = await render(chatty, messages, model="fake:m", system="Be brief.", settings={"temperature": 0.5})

    assert text == (
        "---\nmodel: fake:m\nsystem: Be brief.\nsettings:\n  temperature: 0.5\n---\n\n"
        "## Me\n\nHi.\n\\## Me\n\n## Assistant\n\n```tool_use id=c name=f\n{}\n```\n"
    )
    assert await parse(chatty, text) == {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi.\n## Me"}]}, messages[1]],
        "model": "fake:m",
        "system": "Be brief.",
        "settings": {"temperature": 0.5},
        "turns": [
            {"role": "user", "startLine": 7, "endLine": 12, "message": 0},
            {"role": "assistant", "startLine": 12, "endLine": 17, "message": 1},
        ],
    }


@pytest.mark.requirement("5:transcript-tools")
async def test_front_matter_has_the_tools_of_a_chat(chatty: Daemon) -> None:
    text = await render(chatty, [], model="fake:m", daemonTools=["files/*", "shed/echo"])

    assert text == "---\nmodel: fake:m\ntools:\n- files/*\n- shed/echo\n---\n"
    assert await parse(chatty, text) == {
        "messages": [],
        "model": "fake:m",
        "daemonTools": ["files/*", "shed/echo"],
        "turns": [],
    }


@pytest.mark.requirement("5:transcript-by-hand")
@pytest.mark.parametrize("empty", [None, {}, [], {"messages": None}, {"messages": {}}, {"text": None}])
@pytest.mark.asyncio(loop_scope="module")
async def test_an_empty_conversation_is_an_empty_text(served: Daemon, empty: Any) -> None:
    assert (await served.request("transcript/render", empty)).result == {"text": ""}
    assert (await served.request("transcript/parse", empty)).result == {"messages": [], "turns": []}


async def converse(daemon: Daemon, upstream: FakeUpstream, *parts: Any) -> list[Any]:
    """Initialize the daemon, run a chat that is answered with these parts, and return the conversation."""
    await daemon.initialize({"providers": {"fake": {**CLAUDE, "base_url": upstream.origin}}})
    upstream.script(Reply.events(message_stream(*parts)))
    result = (await daemon.request("chat/start", {"messages": [user("hi")], "thinking": "low"})).result
    return [user("hi"), {"role": "assistant", "content": result["content"]}]


ANSWER_PARTS = (
    Thought(["Let me", " see."], SIGNATURE),
    Redacted("RWYx"),
    Words(["It is sunny."]),
    Call("toolu_1", "f", ['{"a":', " 1}"]),
)


@pytest.mark.requirement("5:transcript-opaque")
async def test_opaque_data_of_an_unedited_answer_is_restored(daemon: Daemon, upstream: FakeUpstream) -> None:
    messages = await converse(daemon, upstream, *ANSWER_PARTS)
    text = await render(daemon, messages)
    assert SIGNATURE not in text

    # White space that an editor changes on save, and edits outside the answer, do not count as edits.
    saved = f"{text}\n## Me\n\nGo on.   \n"
    for each in (text, saved, saved.replace("sunny.\n", "sunny.  \n")):
        found = (await parse(daemon, each))["messages"]
        assert found[1] == messages[1]
    assert [block.get("signature") for block in found[1]["content"]] == [SIGNATURE, None, None, None]


@pytest.mark.requirement("5:transcript-trimmed")
async def test_opaque_data_of_a_trimmed_answer_is_restored(daemon: Daemon, upstream: FakeUpstream) -> None:
    parts = (
        Thought(["Hm.\n"], SIGNATURE),
        Words(["\n\n"]),
        Call("toolu_1", "f", ["{}"]),
        Words(["Sunny.\n"]),
    )
    messages = await converse(daemon, upstream, *parts)
    text = await render(daemon, messages, trimAnswers=True)

    assert "\\" not in text
    assert (await parse(daemon, text))["messages"][1] == messages[1]


EDITS = {
    "sunny": "cloudy",
    "Let me see": "Let us see",
    '{"a": 1}': '{"a": 2}',
    "RWYx": "RWYy",
    "id=toolu_1": "id=toolu_2",
    "It is sunny.": "It is sunny.\n\n<!-- text -->\n\nAnd warm.",
}


@pytest.mark.requirement("5:transcript-opaque")
async def test_opaque_data_of_an_edited_answer_is_dropped(daemon: Daemon, upstream: FakeUpstream) -> None:
    text = await render(daemon, await converse(daemon, upstream, *ANSWER_PARTS))
    for old, new in EDITS.items():
        assert text.count(old) == 1
        result = await parse(daemon, text.replace(old, new))

        assert SIGNATURE not in str(result), new
        kinds = [block["type"] for block in result["messages"][1]["content"][:2]]
        assert kinds == ["thinking", "redacted_thinking"], new
    assert SIGNATURE in str(await parse(daemon, text)), "the signature is lost without an edit"


@pytest.mark.requirement("5:transcript-opaque")
async def test_a_parsed_conversation_continues_with_its_signatures(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    text = await render(daemon, await converse(daemon, upstream, *ANSWER_PARTS[:3]))
    messages = (await parse(daemon, f"{text}\n## Me\n\nAnd tomorrow?\n"))["messages"]
    upstream.script(Reply.events(message_stream(Words(["Rain."]))))
    assert (await daemon.request("chat/start", {"messages": messages})).result["text"] == "Rain."

    sent = upstream.requests[1].json["messages"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"][:2] == [
        {"type": "thinking", "thinking": "Let me see.", "signature": SIGNATURE},
        {"type": "redacted_thinking", "data": "RWYx"},
    ]


@pytest.mark.requirement("5:transcript-roles")
async def test_the_headings_come_from_the_models_provider_or_else_the_default_provider(
    daemon: Daemon,
) -> None:
    def table(**more: Any) -> dict[str, Any]:
        return {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "default_model": "m", **more}

    roles = {"user": "Ich", "assistant": "KI"}
    providers = {"deutsch": table(roles=roles), "plain": table()}
    await daemon.initialize({"providers": providers, "default_provider": "plain"})
    messages = [user("Hallo."), {"role": "assistant", "content": "Ja?"}]

    assert await render(daemon, messages) == "## Me\n\nHallo.\n\n## Assistant\n\nJa?\n"
    text = await render(daemon, messages, model="deutsch:m")
    assert text == "---\nmodel: deutsch:m\n---\n\n## Ich\n\nHallo.\n\n## KI\n\nJa?\n"
    assert [each["role"] for each in (await parse(daemon, text))["messages"]] == ["user", "assistant"]
    # The headings are also understood if the chat continues with another provider, or its model is unknown.
    for other in (text.partition("---\n\n")[2], text.replace("deutsch:m", "unknown-model")):
        assert [each["role"] for each in (await parse(daemon, other))["messages"]] == ["user", "assistant"]


@pytest.mark.requirement("5:transcript-roles")
async def test_invalid_and_ambiguous_role_names_are_configuration_errors(daemon: Daemon) -> None:
    wrong = [{"user": ""}, {"user": " Me"}, {"user": "a\nb"}, {"user": "Assistant"}]
    for roles in (*wrong, {"user": "X", "assistant": "X"}):
        config = provider("http://127.0.0.1:9/v1", roles=roles)
        exchange = await daemon.request("initialize", {"initializationOptions": {"config": config}})

        assert exchange.error["code"] == 1010, roles
        assert "providers.fake.roles" in exchange.error["message"]


@pytest.mark.requirement("5:transcript-front-matter")
async def test_unreadable_front_matter_is_reported_with_its_line(chatty: Daemon) -> None:
    text = "---\nmodel: m\nsystem: [\n---\n\n## Me\n\nHi.\n"
    error = (await chatty.request("transcript/parse", {"text": text})).error

    assert error["code"] == -32602
    (problem,) = error["data"]["errors"]
    assert problem["path"] == "text"
    assert problem["message"].startswith("line ")
    assert "Traceback" not in str(error)


@pytest.mark.requirement("5:transcript-conversation", "5:transcript-thinking")
async def test_a_text_has_the_id_of_its_conversation_and_the_lines_of_its_thinking(chatty: Daemon) -> None:
    thinking = {"role": "assistant", "content": [{"type": "thinking", "thinking": "Hm."}]}
    text = await render(chatty, [user("hi"), thinking], conversationId="20260101-120000-0a1b2c3d")
    read = await parse(chatty, text)

    assert text.startswith("---\nconversation: 20260101-120000-0a1b2c3d\n---\n")
    assert (read["conversationId"], read.get("settings")) == ("20260101-120000-0a1b2c3d", None)
    assert [turn.get("thinking") for turn in read["turns"]] == [None, [{"startLine": 10, "endLine": 15}]]
    assert "conversationId" not in await parse(chatty, "---\nconversation: a b\n---\nhi")
    assert "conversationId" not in await parse(chatty, await render(chatty, [user("hi")]))


async def test_a_long_conversation_is_parsed_and_rendered(chatty: Daemon) -> None:
    text = await render(chatty, [user("line\n" * 200_000)])
    assert len((await parse(chatty, text))["messages"][0]["content"][0]["text"]) == 1_000_000


@pytest.mark.requirement("2:transcript-deltas")
async def test_deltas_carry_the_text_for_a_chat_buffer(daemon: Daemon, upstream: FakeUpstream) -> None:
    parts = (Thought(["Hm."], SIGNATURE), Words(["Sure.\n\n", "## Ich", "\n\nRead it."]), Call("c", "f"))
    upstream.script(Reply.events(message_stream(*parts)))
    table = {**CLAUDE, "base_url": upstream.origin, "roles": {"user": "Ich"}}
    await daemon.initialize({"providers": {"fake": table}})

    answer = await daemon.request("chat/start", {"messages": [user("Why?")], "transcript": True})

    written = "".join(delta.get("transcript", "") for delta in answer.deltas)
    message = {"role": "assistant", "content": answer.result["content"]}
    assert await render(daemon, [message], trimAnswers=True) == f"## Assistant\n\n{written}\n"
    assert "\n\nSure.\n\n\\## Ich\n\nRead it." in written


@pytest.mark.requirement("2:transcript-deltas")
async def test_a_cancelled_answer_is_closed_in_the_chat_buffer(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    begun = message_stream(Thought(["Hm.\n## Me"], SIGNATURE))[:4]
    upstream.script(Reply.events(begun).stall_after())
    await daemon.initialize({"providers": {"fake": {**CLAUDE, "base_url": upstream.origin}}})
    request_id = daemon.start("chat/start", {"messages": [user("Why?")], "transcript": True})
    await daemon.read_delta("thinking_delta")
    daemon.notify("$/cancelRequest", {"id": request_id})

    done = (await daemon.read_until(request_id)).deltas[-1]

    assert done["transcript"] == "\n\\## Me\n\n</details>\n"
