"""Chats through the language server's conversations: the requests, and the choice of the conversation."""

import asyncio

import pytest

from jumpseat.adapters.github.language_server.conversation import MAX_CONVERSATIONS, NoConversations
from jumpseat.chat import ConnectionError, Message, ProtocolError, WarningEvent
from jumpseat.wire import RpcError
from tests.fakes.language_server import NEVER
from tests.fakes.language_server_answers import begin, chat, round_reply, turn
from tests.unit.adapters.github.language_server.chats import (
    CREATE,
    DESTROY,
    MISSING,
    TURN,
    answer_of,
    conversations,
    events_of,
    failure_of,
    make_request,
    text_in,
)

# -- the requests


@pytest.mark.requirement("language-server:conversation")
async def test_the_first_request_has_the_model_and_no_extras(fake):
    async with conversations(fake) as api:
        answer = await answer_of(api, make_request("Hello", system="Be terse.", thinking="high"))

    (params,) = fake.params(CREATE)
    token = params.pop("workDoneToken")
    assert isinstance(token, str)
    assert params == {
        "turns": [{"request": "<instructions>\nBe terse.\n</instructions>\n\nHello"}],
        "capabilities": {"skills": [], "allSkills": False},
        "source": "panel",
        "chatMode": "Ask",
        "model": "gpt-4.1",
        "modelInfo": {"id": "gpt-4.1", "reasoningEffort": "high"},
        "workspaceFolders": [],
        "references": [],
        "computeSuggestions": False,
    }
    assert answer.text == "You said: <instructions>\nBe terse.\n</instructions>\n\nHello"
    assert answer.usage.output_tokens == 5


@pytest.mark.requirement("language-server:reports")
async def test_a_thinking_level_without_reasoning_in_the_answer_is_a_warning(fake):
    async with conversations(fake) as api:
        thinking = await events_of(api, make_request("Hello", thinking="low"))
        plain = await events_of(api, make_request("Hello"))

    assert [event.code for event in thinking if isinstance(event, WarningEvent)] == ["thinking_ignored"]
    assert [event for event in plain if isinstance(event, WarningEvent)] == []


@pytest.mark.requirement("language-server:conversation")
async def test_thinking_off_and_a_prefill_are_dropped_with_warnings(fake):
    async with conversations(fake) as api:
        events = await events_of(api, make_request("Hello", "Well,", thinking="off"))

    (params,) = fake.params(CREATE)
    assert params["modelInfo"] == {"id": "gpt-4.1"}
    codes = [event.code for event in events if isinstance(event, WarningEvent)]
    assert codes == ["prefill_replaced", "thinking_dropped"]


@pytest.mark.requirement("language-server:tools-away")
async def test_the_servers_tools_are_unregistered_once_before_the_first_conversation(fake):
    fake.on("conversation/registerTools", [{"id": "1", "name": "read_file"}, {"id": "2", "name": "list_dir"}])
    async with conversations(fake) as api:
        await asyncio.gather(*(answer_of(api, make_request(word)) for word in ("One", "Two", "Three")))

    assert fake.params("conversation/registerTools") == [{"tools": []}]
    assert fake.params("conversation/unregisterTools") == [{"toolIds": ["1", "2"]}]
    assert fake.methods.index("conversation/unregisterTools") < fake.methods.index(CREATE)


@pytest.mark.requirement("language-server:tools-away")
@pytest.mark.parametrize("answer", [MISSING, None, {}, [7]], ids=["unknown", "null", "an object", "numbers"])
async def test_a_failure_to_unregister_tools_does_not_stop_a_chat(fake, answer):
    fake.on("conversation/registerTools", answer)
    async with conversations(fake) as api:
        assert (await answer_of(api, make_request("Hello"))).text == "You said: Hello"


# -- which conversation


@pytest.mark.requirement("language-server:second-turn")
async def test_a_chat_with_one_more_message_continues_its_conversation(fake):
    async with conversations(fake) as api:
        first = await answer_of(api, make_request("One", system="S"))
        second = await answer_of(
            api, make_request("One", f"{first.text}\n", "Two", system="S", model="other")
        )
        await answer_of(api, make_request("One", first.text, "Two", second.text, "Three", system="S"))

    assert len(fake.params(CREATE)) == 1
    more, again = fake.params(TURN)
    assert (more["conversationId"], more["message"], more["model"]) == ("conversation-1", "Two", "other")
    assert (more["modelInfo"], more["computeSuggestions"]) == ({"id": "other"}, False)
    assert (again["conversationId"], again["message"]) == ("conversation-1", "Three")
    assert fake.params(DESTROY) == []


@pytest.mark.requirement("language-server:second-turn-other")
@pytest.mark.parametrize(
    "other",
    [
        make_request("One", "Another answer", "Two"),
        make_request("Another one", "You said: One", "Two"),
        make_request("One", "You said: One", "Two", system="S"),
        make_request("One", "You said: One", "Two", "Due", "Three"),
        make_request("One"),
    ],
    ids=["answer", "question", "system prompt", "two more", "from the beginning"],
)
async def test_any_other_chat_creates_a_conversation_with_its_history(fake, other):
    async with conversations(fake) as api:
        await answer_of(api, make_request("One"))
        await answer_of(api, other)

    assert fake.params(TURN) == []
    turns = fake.params(CREATE)[1]["turns"]
    assert len(turns) == (len(other.messages) + 1) // 2
    assert [each["response"] for each in turns[:-1]] == [
        message.content[0].text for message in other.messages if message.role == "assistant"
    ]


@pytest.mark.requirement("language-server:second-turn-other")
async def test_two_chats_that_fork_do_not_share_a_conversation(fake):
    async with conversations(fake) as api:
        first = await answer_of(api, make_request("One"))
        fork = [make_request("One", first.text, word) for word in ("Two", "Due")]
        answers = await asyncio.gather(*(answer_of(api, each) for each in fork))

    assert [each.text for each in answers] == ["You said: Two", "You said: Due"]
    assert len(fake.params(TURN)) == 1
    assert len(fake.params(CREATE)) == 2


@pytest.mark.requirement("language-server:second-turn-other")
async def test_a_conversation_that_the_server_has_lost_is_created_again_once(fake):
    async with conversations(fake) as api:
        first = await answer_of(api, make_request("One"))
        fake.current.conversations.clear()
        answer = await answer_of(api, make_request("One", first.text, "Two"))

    assert answer.text == "You said: Two"
    assert len(fake.params(TURN)) == 1
    assert fake.params(CREATE)[1]["turns"] == [{"request": "One", "response": first.text}, {"request": "Two"}]


@pytest.mark.requirement("language-server:second-turn-other")
async def test_a_turn_that_failed_after_its_begin_report_is_not_repeated(fake):
    fake.on(TURN, turn(fake, begin(), round_reply("Half"), result=RpcError(-32603, "terminated")))
    async with conversations(fake) as api:
        first = await answer_of(api, make_request("One"))
        error, events = await failure_of(api, make_request("One", first.text, "Two"))
        await fake.wait_for(DESTROY)

    assert type(error) is ConnectionError
    assert text_in(events) == "Half"
    assert len(fake.params(CREATE)) == 1


@pytest.mark.requirement("language-server:second-turn")
async def test_the_number_of_kept_conversations_is_limited_and_the_oldest_is_destroyed(fake):
    async with conversations(fake) as api:
        for number in range(MAX_CONVERSATIONS):
            await answer_of(api, make_request(f"Chat {number}"))
        assert fake.params(DESTROY) == []
        # Use the first conversation again, so that the second is now the oldest.
        await answer_of(api, make_request("Chat 0", "You said: Chat 0", "More"))
        await answer_of(api, make_request("One more"))
        destroyed = await fake.wait_for(DESTROY)
        await answer_of(api, make_request("Chat 1", "You said: Chat 1", "More"))

    assert destroyed["conversationId"] == "conversation-2"
    assert [each["conversationId"] for each in fake.params(TURN)] == ["conversation-1"]


@pytest.mark.requirement("language-server:second-turn")
async def test_two_equal_chats_keep_one_conversation(fake):
    async with conversations(fake) as api:
        await answer_of(api, make_request("One"))
        await answer_of(api, make_request("One"))
        destroyed = await fake.wait_for(DESTROY)
        await answer_of(api, make_request("One", "You said: One", "Two"))

    assert destroyed["conversationId"] == "conversation-1"
    assert [each["conversationId"] for each in fake.params(TURN)] == ["conversation-2"]


@pytest.mark.requirement("language-server:second-turn-other", "language-server:crash")
async def test_a_restarted_server_gets_a_new_conversation_and_no_tools(fake):
    async with conversations(fake) as api:
        first = await answer_of(api, make_request("One"))
        fake.on(CREATE, NEVER, lambda params: fake.default(CREATE, params))
        dying = asyncio.ensure_future(failure_of(api, make_request("x")))
        await fake.wait_for(CREATE, 2)
        fake.kill()
        error, _ = await dying
        answer = await answer_of(api, make_request("One", first.text, "Two"))

    assert type(error) is ProtocolError
    assert answer.text == "You said: Two"
    assert fake.params(TURN) == []
    assert len(fake.params("conversation/unregisterTools")) == 2


@pytest.mark.requirement("language-server:auto")
async def test_a_server_without_conversations_is_reported_before_any_event(fake):
    fake.on(CREATE, MISSING)
    async with conversations(fake) as api:
        error, events = await failure_of(api, make_request("Hello", thinking="off"))

    assert type(error) is NoConversations
    assert events == []


@pytest.mark.requirement("language-server:second-turn-other")
async def test_a_server_without_second_turns_gets_the_whole_chat(fake):
    fake.on(TURN, MISSING)
    async with conversations(fake) as api:
        first = await answer_of(api, make_request("One"))
        assert (await answer_of(api, make_request("One", first.text, "Two"))).text == "You said: Two"

    assert fake.params(CREATE)[1]["turns"] == [{"request": "One", "response": first.text}, {"request": "Two"}]


# -- concurrent chats


@pytest.mark.requirement("language-server:conversation")
async def test_simultaneous_chats_keep_their_answers_apart(fake):
    async with conversations(fake) as api:
        answers = await asyncio.gather(
            *(answer_of(api, make_request(f"Chat {number}")) for number in range(8))
        )

    assert [each.text for each in answers] == [f"You said: Chat {number}" for number in range(8)]


@pytest.mark.requirement("language-server:requests")
async def test_a_request_of_the_server_during_a_turn_does_not_block_the_turn(fake):
    async def ask_first(params):
        confirmed = await fake.request("conversation/invokeClientToolConfirmation", {"name": "read_file"})
        return await chat(fake, str(confirmed))(params)

    fake.on(CREATE, ask_first)
    async with conversations(fake) as api:
        answer = await answer_of(api, make_request(Message.user("Hello")))

    assert answer.text == "[{'result': 'dismiss'}, None]"
