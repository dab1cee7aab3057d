"""Chats through the language server's conversations that fail, are truncated, or reach a limit."""

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
    conversations,
    events_of,
    failure_of,
    make_request,
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
    async with conversations(fake) as api:
        error, events = await failure_of(api, make_request("Hello"))

    assert (type(error), error.provider, events) == (kind, "helper", [])


@pytest.mark.requirement("language-server:errors-of-turns", "language-server:second-turn-other")
async def test_a_turn_that_ends_in_an_error_keeps_its_text_and_destroys_its_conversation(fake):
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), end({"message": "No more.", "code": 402})))
    async with conversations(fake) as api:
        error, events = await failure_of(api, make_request("Hello"))
        destroyed = await fake.wait_for(DESTROY)

    assert type(error) is QuotaExceededError
    assert text_in(events) == "Half"
    assert destroyed["conversationId"] == "conversation-1"


@pytest.mark.requirement("language-server:expired-token")
async def test_a_refusal_for_an_expired_token_causes_a_replan_unless_the_turn_has_begun(fake):
    unauthorized = RpcError(-32603, "Request conversation/create failed with message: HTTP 401 Unauthorized")
    fake.on(CREATE, unauthorized, turn(fake, begin(), result=unauthorized))
    async with conversations(fake) as api:
        early, _ = await failure_of(api, make_request("Hello"))
        late, _ = await failure_of(api, make_request("Hello"))

    assert (type(early), early.reason, type(early.error)) == (Replan, "expired_token", AuthenticationError)
    assert type(late) is AuthenticationError


@pytest.mark.requirement("language-server:second-turn-other")
@pytest.mark.parametrize(
    "cut", [{"message": "Oops, the response got too long."}, {"message": "x", "responseIsFiltered": True}]
)
async def test_a_chat_after_a_truncated_answer_creates_a_new_conversation(fake, cut):
    # The server appends the text of its error to its copy of the answer, so the next chat does not match.
    fake.on(CREATE, turn(fake, begin(), round_reply("Half"), end(cut)), chat(fake, "Whole"))
    async with conversations(fake) as api:
        half = await answer_of(api, make_request("One"))
        destroyed = await fake.wait_for(DESTROY)
        await answer_of(api, make_request("One", half.text, "Go on"))

    assert (half.text, destroyed["conversationId"]) == ("Half", "conversation-1")
    assert fake.params(TURN) == []
    assert fake.params(CREATE)[1]["turns"] == [{"request": "One", "response": "Half"}, {"request": "Go on"}]


@pytest.mark.requirement("language-server:errors-of-turns", "language-server:conversation")
@pytest.mark.parametrize("cause", ["refused", "killed"])
async def test_the_end_report_decides_even_if_a_refusal_or_a_death_follows(fake, cause):
    """A chat that ended well succeeds, and one that ended in an error keeps that error."""

    async def refuse(params):
        if cause == "killed":
            fake.kill()
            await asyncio.Event().wait()
        return RpcError(-32603, "Request conversation/create failed.")

    def end_and_refuse(*values):
        async def answer(params):
            await turn(fake, *values)(params)
            # The response to this request shows that everything before it has been read.
            await fake.request("workspace/workspaceFolders")
            return await refuse(params)

        return answer

    quota = {"message": "No more.", "code": 402}
    fake.on(CREATE, end_and_refuse(begin(), round_reply("Whole"), end()), end_and_refuse(begin(), end(quota)))
    async with conversations(fake) as api:
        answer = await answer_of(api, make_request("Hello"))
        error, _ = await failure_of(api, make_request("Hello"))

    assert (answer.text, answer.stop_reason) == ("Whole", "end_turn")
    assert type(error) is QuotaExceededError


@pytest.mark.requirement("language-server:expired-token")
async def test_a_turn_ended_by_an_expired_token_causes_a_replan_unless_text_has_arrived(fake):
    refused = end({"message": "Oops, you are not authorized. Please sign in.", "code": 401})
    forbidden = end({"message": "token expired or invalid: 403", "code": 403})
    fake.on(
        CREATE,
        turn(fake, begin(), refused),
        turn(fake, begin(), round_reply("Half"), refused),
        turn(fake, begin(), forbidden),
    )
    async with conversations(fake) as api:
        replanned, _ = await failure_of(api, make_request("Hello"))
        late, _ = await failure_of(api, make_request("Hello"))
        not_allowed, _ = await failure_of(api, make_request("Hello"))

    assert isinstance(replanned, Replan)
    assert type(replanned.error) is AuthenticationError
    assert type(late) is AuthenticationError
    assert not_allowed.status_code == 403


@pytest.mark.requirement("language-server:limits")
@pytest.mark.parametrize(
    ("resets", "known"),
    [("2126-12-01T00:00:00Z", True), ("2026-01-01T00:00:00Z", False)],
    ids=["future", "past"],
)
async def test_a_limit_warns_running_chats_and_gives_later_errors_its_reset_time(fake, resets, known):
    def notify(params):
        limit = {"entitlement": 9, "percentRemaining": 0, "resetDate": resets}
        fake.notify("$/copilot/rateLimitWarning", {"rateLimit": limit, "message": "All used."})
        return turn(fake, begin(), round_reply("x"), end({"message": "Oops."}))(params)

    refused = turn(fake, begin(), end({"message": "Sorry, you have been rate-limited.", "code": 429}))
    fake.on(CREATE, notify, chat(fake, "y"), turn(fake, begin(), end({"message": "Oops."})), refused)
    async with conversations(fake) as api:
        error, events = await failure_of(api, make_request("Hello"))
        well = await events_of(api, make_request("Hello"))
        other, _ = await failure_of(api, make_request("Hello"))
        limited, _ = await failure_of(api, make_request("Hello"))

    assert [event.message for event in events if isinstance(event, WarningEvent)] == ["All used."]
    assert type(error) is RateLimitError
    assert error.reset_at == datetime.fromisoformat(resets)
    assert [event for event in well if isinstance(event, WarningEvent)] == []
    assert api._running == set()
    assert type(other) is ProtocolError
    assert limited.reset_at == (datetime.fromisoformat(resets) if known else None)
