"""Chats by the language server's conversations that fail, are cut off, or meet a limit."""

import asyncio
from datetime import datetime

import pytest

from jumpseat.adapters.base import Replan
from jumpseat.chat import (
    AuthenticationError,
    ProtocolError,
    QuotaExceededError,
    RateLimitError,
    RequestError,
    WarningEvent,
)
from jumpseat.wire import RpcError
from tests.fakes.language_server_answers import begin, chat, end, round_reply, turn
from tests.unit.adapters.github.language_server.chats import (
    CREATE,
    DESTROY,
    TURN,
    answer_of,
    asked,
    conversations,
    events_of,
    failure_of,
    text_in,
)


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


@pytest.mark.requirement("language-server:errors-of-turns", "language-server:second-turn-other")
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


@pytest.mark.requirement("language-server:second-turn-other")
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


@pytest.mark.requirement("language-server:errors-of-turns", "language-server:conversation")
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
        answer = await answer_of(way, asked("Hello"))
        error, _ = await failure_of(way, asked("Hello"))

    assert (answer.text, answer.stop_reason) == ("Whole", "end_turn")
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
