"""Chats by the language server's conversations: which one, how they end, and that they end."""

import asyncio
import contextlib
import time
from datetime import datetime

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.adapters.copilot_language_server import exchange
from jumpseat.adapters.copilot_language_server.conversation import KEPT_CONVERSATIONS, NotOffered
from jumpseat.chat import (
    AuthenticationError,
    ConnectionError,
    Message,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    WarningEvent,
)
from jumpseat.wire import RpcError
from tests.attempts import is_quick
from tests.fakes.language_server import NEVER, FakeLanguageServer
from tests.fakes.language_server_answers import begin, chat, end, report, round_reply, turn
from tests.unit.adapters.copilot_language_server.chats import (
    answer_of,
    asked,
    conversations,
    events_of,
    failure_of,
)

CREATE, TURN, DESTROY = "conversation/create", "conversation/turn", "conversation/destroy"
MISSING = RpcError(-32601, "Method not found")


@pytest.fixture
async def fake():
    async with FakeLanguageServer() as server:
        yield server


def text_in(events):
    return "".join(event.text for event in events if event.type == "text_delta")


# -- what goes out


@pytest.mark.requirement("language-server:conversation")
async def test_the_first_request_names_the_model_in_all_words_and_asks_for_nothing_more(fake):
    async with conversations(fake) as way:
        told = await answer_of(way, asked("Hello", system="Be terse.", thinking="high"))

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
    assert told.text == "You said: <instructions>\nBe terse.\n</instructions>\n\nHello"
    assert told.usage.output_tokens == 5


@pytest.mark.requirement("language-server:reports")
async def test_a_level_without_any_reasoning_is_told(fake):
    async with conversations(fake) as way:
        thinking = await events_of(way, asked("Hello", thinking="low"))
        plain = await events_of(way, asked("Hello"))

    assert [event.code for event in thinking if isinstance(event, WarningEvent)] == ["thinking_ignored"]
    assert [event for event in plain if isinstance(event, WarningEvent)] == []


@pytest.mark.requirement("language-server:conversation")
async def test_thinking_cannot_be_switched_off_and_the_last_words_cannot_be_the_assistants(fake):
    async with conversations(fake) as way:
        events = await events_of(way, asked("Hello", "Well,", thinking="off"))

    (params,) = fake.params(CREATE)
    assert params["modelInfo"] == {"id": "gpt-4.1"}
    codes = [event.code for event in events if isinstance(event, WarningEvent)]
    assert codes == ["prefill_replaced", "thinking_dropped"]


@pytest.mark.requirement("language-server:tools-away")
async def test_its_own_tools_are_taken_away_once_before_the_first_conversation(fake):
    fake.on("conversation/registerTools", [{"id": "1", "name": "read_file"}, {"id": "2", "name": "list_dir"}])
    async with conversations(fake) as way:
        await asyncio.gather(*(answer_of(way, asked(word)) for word in ("One", "Two", "Three")))

    assert fake.params("conversation/registerTools") == [{"tools": []}]
    assert fake.params("conversation/unregisterTools") == [{"toolIds": ["1", "2"]}]
    assert fake.methods.index("conversation/unregisterTools") < fake.methods.index(CREATE)


@pytest.mark.requirement("language-server:tools-away")
@pytest.mark.parametrize("answer", [MISSING, None, {}, [7]], ids=["unknown", "null", "an object", "numbers"])
async def test_tools_that_cannot_be_taken_away_stop_no_chat(fake, answer):
    fake.on("conversation/registerTools", answer)
    async with conversations(fake) as way:
        assert (await answer_of(way, asked("Hello"))).text == "You said: Hello"


# -- which conversation


@pytest.mark.requirement("language-server:second-turn")
async def test_a_chat_that_a_message_is_added_to_goes_on_in_its_conversation(fake):
    async with conversations(fake) as way:
        first = await answer_of(way, asked("One", system="S"))
        second = await answer_of(way, asked("One", f"{first.text}\n", "Two", system="S", model="other"))
        await answer_of(way, asked("One", first.text, "Two", second.text, "Three", system="S"))

    assert len(fake.params(CREATE)) == 1
    more, again = fake.params(TURN)
    assert (more["conversationId"], more["message"], more["model"]) == ("conversation-1", "Two", "other")
    assert (more["modelInfo"], more["computeSuggestions"]) == ({"id": "other"}, False)
    assert (again["conversationId"], again["message"]) == ("conversation-1", "Three")
    assert fake.params(DESTROY) == []


@pytest.mark.requirement("language-server:second-turn")
@pytest.mark.parametrize(
    "other",
    [
        asked("One", "Another answer", "Two"),
        asked("Another one", "You said: One", "Two"),
        asked("One", "You said: One", "Two", system="S"),
        asked("One", "You said: One", "Two", "Due", "Three"),
        asked("One"),
    ],
    ids=["answer", "question", "system prompt", "two more", "from the beginning"],
)
async def test_any_other_chat_begins_a_conversation_with_itself_as_the_history(fake, other):
    async with conversations(fake) as way:
        await answer_of(way, asked("One"))
        await answer_of(way, other)

    assert fake.params(TURN) == []
    turns = fake.params(CREATE)[1]["turns"]
    assert len(turns) == (len(other.messages) + 1) // 2
    assert [each["response"] for each in turns[:-1]] == [
        message.content[0].text for message in other.messages if message.role == "assistant"
    ]


@pytest.mark.requirement("language-server:second-turn")
async def test_two_chats_that_fork_do_not_share_a_conversation(fake):
    async with conversations(fake) as way:
        first = await answer_of(way, asked("One"))
        fork = [asked("One", first.text, word) for word in ("Two", "Due")]
        told = await asyncio.gather(*(answer_of(way, each) for each in fork))

    assert [each.text for each in told] == ["You said: Two", "You said: Due"]
    assert len(fake.params(TURN)) == 1
    assert len(fake.params(CREATE)) == 2


@pytest.mark.requirement("language-server:second-turn")
async def test_a_conversation_that_the_server_has_forgotten_is_begun_anew_once(fake):
    async with conversations(fake) as way:
        first = await answer_of(way, asked("One"))
        fake.current.conversations.clear()
        told = await answer_of(way, asked("One", first.text, "Two"))

    assert told.text == "You said: Two"
    assert len(fake.params(TURN)) == 1
    assert fake.params(CREATE)[1]["turns"] == [{"request": "One", "response": first.text}, {"request": "Two"}]


@pytest.mark.requirement("language-server:second-turn")
async def test_a_turn_that_failed_after_it_began_is_not_asked_again(fake):
    fake.on(TURN, turn(fake, begin(), round_reply("Half"), result=RpcError(-32603, "terminated")))
    async with conversations(fake) as way:
        first = await answer_of(way, asked("One"))
        error, events = await failure_of(way, asked("One", first.text, "Two"))
        await fake.wait_for(DESTROY)

    assert type(error) is ConnectionError
    assert text_in(events) == "Half"
    assert len(fake.params(CREATE)) == 1


@pytest.mark.requirement("language-server:second-turn")
async def test_only_so_many_conversations_are_kept_and_the_oldest_is_given_up(fake):
    async with conversations(fake) as way:
        for number in range(KEPT_CONVERSATIONS):
            await answer_of(way, asked(f"Chat {number}"))
        assert fake.params(DESTROY) == []
        # The first is used again, so the second is the oldest now.
        await answer_of(way, asked("Chat 0", "You said: Chat 0", "More"))
        await answer_of(way, asked("One more"))
        given_up = await fake.wait_for(DESTROY)
        await answer_of(way, asked("Chat 1", "You said: Chat 1", "More"))

    assert given_up["conversationId"] == "conversation-2"
    assert [each["conversationId"] for each in fake.params(TURN)] == ["conversation-1"]


@pytest.mark.requirement("language-server:second-turn")
async def test_of_two_chats_that_say_the_same_one_conversation_is_kept(fake):
    async with conversations(fake) as way:
        await answer_of(way, asked("One"))
        await answer_of(way, asked("One"))
        given_up = await fake.wait_for(DESTROY)
        await answer_of(way, asked("One", "You said: One", "Two"))

    assert given_up["conversationId"] == "conversation-1"
    assert [each["conversationId"] for each in fake.params(TURN)] == ["conversation-2"]


@pytest.mark.requirement("language-server:second-turn", "language-server:crash")
async def test_a_server_that_was_started_again_knows_no_conversation_and_has_its_tools_back(fake):
    async with conversations(fake) as way:
        first = await answer_of(way, asked("One"))
        fake.on(CREATE, NEVER, lambda params: fake.default(CREATE, params))
        dying = asyncio.ensure_future(failure_of(way, asked("x")))
        await fake.wait_for(CREATE, 2)
        fake.kill()
        error, _ = await dying
        told = await answer_of(way, asked("One", first.text, "Two"))

    assert type(error) is ProtocolError
    assert told.text == "You said: Two"
    assert fake.params(TURN) == []
    assert len(fake.params("conversation/unregisterTools")) == 2


@pytest.mark.requirement("language-server:auto")
async def test_a_server_without_conversations_says_so_before_anything_else(fake):
    fake.on(CREATE, MISSING)
    async with conversations(fake) as way:
        error, events = await failure_of(way, asked("Hello", thinking="off"))

    assert type(error) is NotOffered
    assert events == []


@pytest.mark.requirement("language-server:second-turn")
async def test_a_server_without_second_turns_gets_the_whole_chat(fake):
    fake.on(TURN, MISSING)
    async with conversations(fake) as way:
        first = await answer_of(way, asked("One"))
        assert (await answer_of(way, asked("One", first.text, "Two"))).text == "You said: Two"


# -- how a turn fails


@pytest.mark.requirement("language-server:errors")
@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (RpcError(1000, "Not authenticated"), AuthenticationError),
        (RpcError(-32603, "A model id is required"), RequestError),
        (RpcError(-32602, "Schema validation failed"), ProtocolError),
    ],
)
async def test_a_refused_request_is_an_error_of_its_kind(fake, answer, kind):
    fake.on(CREATE, answer)
    async with conversations(fake) as way:
        error, events = await failure_of(way, asked("Hello"))

    assert (type(error), error.provider, events) == (kind, "helper", [])


@pytest.mark.requirement("language-server:errors", "language-server:second-turn")
async def test_a_turn_that_ends_in_an_error_keeps_what_came_and_gives_its_conversation_up(fake):
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), end({"message": "No more.", "code": 402})))
    async with conversations(fake) as way:
        error, events = await failure_of(way, asked("Hello"))
        given_up = await fake.wait_for(DESTROY)

    assert type(error) is QuotaExceededError
    assert text_in(events) == "Half"
    assert given_up["conversationId"] == "conversation-1"


@pytest.mark.requirement("language-server:expired-token")
async def test_a_request_that_is_refused_for_an_expired_token_is_worth_another_attempt_too(fake):
    unauthorized = RpcError(-32603, "Request conversation/create failed with message: HTTP 401 Unauthorized")
    fake.on(CREATE, unauthorized, turn(fake, begin(), result=unauthorized))
    async with conversations(fake) as way:
        early, _ = await failure_of(way, asked("Hello"))
        late, _ = await failure_of(way, asked("Hello"))

    assert (type(early), early.reason, type(early.error)) == (Replan, "expired_token", AuthenticationError)
    assert type(late) is AuthenticationError


@pytest.mark.requirement("language-server:second-turn")
@pytest.mark.parametrize(
    "cut", [{"message": "Oops, the response got too long."}, {"message": "x", "responseIsFiltered": True}]
)
async def test_a_chat_whose_answer_was_cut_off_goes_on_elsewhere(fake, cut):
    # The server puts the sentence of its error behind the answer that it remembers.
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), end(cut)), chat(fake, "Whole"))
    async with conversations(fake) as way:
        half = await answer_of(way, asked("One"))
        given_up = await fake.wait_for(DESTROY)
        await answer_of(way, asked("One", half.text, "Go on"))

    assert (half.text, given_up["conversationId"]) == ("Half", "conversation-1")
    assert fake.params(TURN) == []
    assert fake.params(CREATE)[1]["turns"] == [{"request": "One", "response": "Half"}, {"request": "Go on"}]


@pytest.mark.requirement("language-server:errors", "language-server:conversation")
@pytest.mark.parametrize("blow", ["refused", "killed"])
async def test_what_the_end_has_said_counts_whatever_becomes_of_the_answer(fake, blow):
    """A good end is one, and an error keeps its kind, if a refusal or the death of the server follows."""

    async def refuse(params):
        if blow == "killed":
            fake.kill()
            await asyncio.Event().wait()
        return RpcError(-32603, "Request conversation/create failed.")

    def ended(*values):
        async def answer(params):
            await turn(fake, *values)(params)
            # What came before this is read by the time that it is answered.
            await fake.request("workspace/workspaceFolders")
            return await refuse(params)

        return answer

    quota = {"message": "No more.", "code": 402}
    fake.on(CREATE, ended(begin(), round_reply("Whole"), end()), ended(begin(), end(quota)))
    async with conversations(fake) as way:
        told = await answer_of(way, asked("Hello"))
        error, _ = await failure_of(way, asked("Hello"))

    assert (told.text, told.stop_reason) == ("Whole", "end_turn")
    assert type(error) is QuotaExceededError


@pytest.mark.requirement("language-server:expired-token")
async def test_an_expired_token_of_the_servers_is_worth_another_attempt_unless_something_was_said(fake):
    refused = end({"message": "Oops, you are not authorized. Please sign in.", "code": 401})
    forbidden = end({"message": "token expired or invalid: 403", "code": 403})
    fake.on(
        CREATE,
        turn(fake, begin(), refused),
        turn(fake, begin(), round_reply("Half"), refused),
        turn(fake, begin(), forbidden),
    )
    async with conversations(fake) as way:
        replanned, _ = await failure_of(way, asked("Hello"))
        late, _ = await failure_of(way, asked("Hello"))
        not_allowed, _ = await failure_of(way, asked("Hello"))

    assert isinstance(replanned, Replan)
    assert type(replanned.error) is AuthenticationError
    assert type(late) is AuthenticationError
    assert not_allowed.status_code == 403


@pytest.mark.requirement("language-server:limits")
@pytest.mark.parametrize(
    ("resets", "known"),
    [("2126-12-01T00:00:00Z", True), ("2026-01-01T00:00:00Z", False)],
    ids=["ahead", "over"],
)
async def test_a_limit_is_a_warning_of_the_chats_that_run_and_its_end_is_known_to_later_ones(
    fake, resets, known
):
    def notify(params):
        limit = {"entitlement": 9, "percentRemaining": 0, "resetDate": resets}
        fake.notify("$/copilot/rateLimitWarning", {"rateLimit": limit, "message": "All used."})
        return turn(fake, begin(), round_reply("x"), end({"message": "Oops."}))(params)

    refused = turn(fake, begin(), end({"message": "Sorry, you have been rate-limited.", "code": 429}))
    fake.on(CREATE, notify, chat(fake, "y"), turn(fake, begin(), end({"message": "Oops."})), refused)
    async with conversations(fake) as way:
        error, events = await failure_of(way, asked("Hello"))
        well = await events_of(way, asked("Hello"))
        other, _ = await failure_of(way, asked("Hello"))
        limited, _ = await failure_of(way, asked("Hello"))

    assert [event.message for event in events if isinstance(event, WarningEvent)] == ["All used."]
    assert type(error) is RateLimitError
    assert error.reset_at == datetime.fromisoformat(resets)
    assert [event for event in well if isinstance(event, WarningEvent)] == []
    assert way._running == set()
    assert type(other) is ProtocolError
    assert limited.reset_at == (datetime.fromisoformat(resets) if known else None)


# -- that it ends


@pytest.mark.requirement("language-server:cancel")
async def test_a_closed_chat_takes_its_request_back_at_once_and_gives_its_conversation_up(fake):
    never = asyncio.Event()
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), never))

    async def seconds_until_it_is_closed():
        async with conversations(fake) as way:
            count = len(fake.starts) + 1
            stream = way.stream(asked("Hello"))
            async for event in stream:
                if event.type == "text_delta":
                    break
            before = time.monotonic()
            await stream.aclose()
            took = time.monotonic() - before
            taken_back = await fake.wait_for("$/cancelRequest", count)
            given_up = await fake.wait_for(DESTROY, count)
            *_, request = [each for each in fake.received if each.get("method") == CREATE]
        assert taken_back == {"id": request["id"]}
        assert given_up["conversationId"] == "conversation-1"
        return took

    await is_quick(seconds_until_it_is_closed, within=1)


@pytest.mark.requirement("language-server:cancel")
async def test_a_cancelled_task_takes_its_request_back(fake):
    fake.on(CREATE, NEVER)
    async with conversations(fake) as way:
        task = asyncio.ensure_future(answer_of(way, asked("Hello")))
        await fake.wait_for(CREATE)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await fake.wait_for("$/cancelRequest")
        assert fake.params(DESTROY) == []


@pytest.mark.requirement("language-server:silence")
@pytest.mark.parametrize("said", [(), (begin(),), (begin(), round_reply("Half"))], ids=["0", "1", "2"])
async def test_silence_ends_a_chat_and_takes_its_request_back(fake, said):
    fake.on(CREATE, turn(fake, *said, result=NEVER))
    for silence_seconds in (0.3, 1.0, 4.0):
        async with conversations(fake, silence_seconds=silence_seconds) as way:
            error, events = await failure_of(way, asked("Hello"))
            await fake.wait_for("$/cancelRequest")
        if len(said) < 2 or text_in(events):
            break  # Else the machine was too busy for a word to come in so short a time.

    assert type(error) is ConnectionError
    assert "providers.helper.timeout" in error.hint
    assert text_in(events) == ("Half" if len(said) == 2 else "")


@pytest.mark.requirement("language-server:silence")
async def test_silence_is_counted_from_the_last_report(fake):
    # Each of five reports comes a third of it after the other; on a busy machine, perhaps, later.
    for silence_seconds in (1.2, 3.6, 7.2):
        steps = [asyncio.Event() for _ in range(5)]
        values = [value for step in steps for value in (step, report())]
        fake.on(CREATE, turn(fake, begin(), *values, round_reply("x"), end()))
        async with conversations(fake, silence_seconds=silence_seconds) as way:
            answering = asyncio.ensure_future(answer_of(way, asked("Hello")))
            await fake.wait_for(CREATE)
            loop = asyncio.get_running_loop()
            for number, step in enumerate(steps, 1):
                loop.call_later(silence_seconds / 3 * number, step.set)
            with contextlib.suppress(ConnectionError):
                assert (await answering).text == "x"
                return
    pytest.fail("silence was never counted from the last report")


@pytest.mark.requirement("language-server:silence")
async def test_an_end_without_an_answer_ends_the_chat_in_time(fake, monkeypatch):
    monkeypatch.setattr(exchange, "GRACE_SECONDS", 0.2)
    fake.on(CREATE, turn(fake, begin(), round_reply("Whole"), end(), result=NEVER))
    async with conversations(fake) as way:
        told = await answer_of(way, asked("Hello"))
        await fake.wait_for("$/cancelRequest")

    assert (told.text, told.stop_reason) == ("Whole", "end_turn")


@pytest.mark.requirement("language-server:silence")
async def test_an_answer_without_an_end_ends_the_chat_in_time(fake, monkeypatch):
    monkeypatch.setattr(exchange, "GRACE_SECONDS", 0.2)
    fake.on(CREATE, turn(fake, begin(), round_reply("Whole")), {"conversationId": "c", "turnId": "t"})
    async with conversations(fake) as way:
        assert (await answer_of(way, asked("Hello"))).text == "Whole"
        error, _ = await failure_of(way, asked("Hello"))

    assert type(error) is ProtocolError


@pytest.mark.requirement("language-server:silence")
async def test_an_end_that_comes_after_the_answer_still_counts(fake):
    asked_for = asyncio.get_running_loop().create_future()

    def answer_first(params):
        asked_for.set_result(params["workDoneToken"])
        return {"conversationId": "conversation-1", "turnId": "turn-1"}

    fake.on(CREATE, answer_first)
    async with conversations(fake) as way:
        answering = asyncio.ensure_future(answer_of(way, asked("Hello")))
        token = await asked_for
        # Once this is answered, the result of the chat has been read.
        await fake.request("workspace/workspaceFolders")
        fake.progress(token, round_reply("Late"))
        fake.progress(token, end())
        told = await answering

    assert told.text == "Late"


def test_the_grace_is_five_seconds():
    assert exchange.GRACE_SECONDS == 5


@pytest.mark.requirement("language-server:crash", "language-server:silence")
@pytest.mark.parametrize("blow", ["kill", "exit", "garbage"])
async def test_a_death_in_mid_chat_ends_it_within_a_second_with_what_came(fake, blow):
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), result=NEVER))

    def strike(event):
        if event.type == "text_delta":
            struck.append(time.monotonic())
            match blow:
                case "kill":
                    fake.kill()
                case "exit":
                    fake.exit(3)
                case _:
                    fake.send_bytes(b"\x00 no header at all\r\n\r\n")

    struck = []

    async def seconds_until_it_ends():
        struck.clear()
        async with conversations(fake) as way:
            error, events = await failure_of(way, asked("Hello"), strike)
            took = time.monotonic() - struck[0]
        assert text_in(events) == "Half"
        assert (type(error), error.provider) == (ProtocolError, "helper")
        return took

    await is_quick(seconds_until_it_ends, within=1)


@pytest.mark.requirement("language-server:conversation")
async def test_several_chats_at_once_keep_their_answers_apart(fake):
    async with conversations(fake) as way:
        told = await asyncio.gather(*(answer_of(way, asked(f"Chat {number}")) for number in range(8)))

    assert [each.text for each in told] == [f"You said: Chat {number}" for number in range(8)]


@pytest.mark.requirement("language-server:requests")
async def test_what_the_server_asks_in_a_turn_does_not_hold_it_up(fake):
    async def ask_first(params):
        confirmed = await fake.request("conversation/invokeClientToolConfirmation", {"name": "read_file"})
        return await chat(fake, str(confirmed))(params)

    fake.on(CREATE, ask_first)
    async with conversations(fake) as way:
        told = await answer_of(way, asked(Message.user("Hello")))

    assert told.text == "[{'result': 'dismiss'}, None]"
