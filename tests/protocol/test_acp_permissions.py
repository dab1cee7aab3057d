"""Permissions for tool calls in sessions of the Agent Client Protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.acp import AcpAgent, script_answers
from tests.acp_tools import REFUSED, Json, ask, call_to_write, choose, names, results, script_calls, states

pytestmark = pytest.mark.slow


@pytest.mark.requirement("12:acp-permission")
@pytest.mark.parametrize(
    "outcome",
    [
        {"outcome": {"outcome": "selected", "optionId": "reject"}},
        {"outcome": {"outcome": "selected", "optionId": "another"}},
        {"outcome": {"outcome": "selected", "optionId": ["allow"]}},
        {"outcome": {"outcome": "cancelled"}},
        {"outcome": {"outcome": "postponed", "optionId": "allow"}},
        {"outcome": "selected"},
        None,
    ],
)
async def test_everything_except_a_known_permission_is_a_denial(
    agent: AcpAgent, upstream: FakeUpstream, root: Path, outcome: Any
) -> None:
    script_calls(upstream, call_to_write())
    exchange, _ = await ask(agent, await agent.new_session(), lambda request: outcome)

    assert exchange.result == {"stopReason": "end_turn"}
    assert states(exchange) == [("c1", "pending"), ("c1", "failed"), ("c1", "failed")]
    assert results(upstream) == ["Error: The user denied this call."]
    assert not (root / "new.txt").exists()


@pytest.mark.requirement("12:acp-permission")
async def test_a_call_is_denied_if_the_client_cannot_ask_the_user(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    script_calls(upstream, call_to_write())
    exchange, _ = await ask(agent, await agent.new_session(), lambda request: REFUSED)

    assert exchange.text() == "Done."
    assert results(upstream) == ["Error: The user denied this call."]


@pytest.mark.requirement("12:acp-permission")
async def test_a_permission_for_one_conversation_does_not_apply_to_another(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    one, two = await agent.new_session(), await agent.new_session()
    script_calls(upstream, call_to_write(path="a"), call_to_write(path="b", call_id="c2"))
    _, first = await ask(agent, one, choose("allow_conversation"))
    script_calls(upstream, call_to_write(path="c"))
    _, second = await ask(agent, one, choose("reject"))
    script_calls(upstream, call_to_write(path="d"))
    _, third = await ask(agent, two, choose("allow_always"))
    script_calls(upstream, call_to_write(path="e"))
    _, fourth = await ask(agent, await agent.new_session(), choose("reject"))

    assert list(map(len, (first, second, third, fourth))) == [1, 0, 1, 0]
    assert names(root) == ["a", "b", "c", "d", "e", "main.py"]


@pytest.mark.requirement("12:acp-permission")
async def test_a_question_about_an_outside_file_has_a_reason_and_no_permanent_options(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    script_calls(upstream, call_to_write(path="../new.txt"))
    _, (request,) = await ask(agent, await agent.new_session(), choose("allow_always"))

    assert [each["optionId"] for each in request["params"]["options"]] == ["allow", "reject"]
    diff, reason = request["params"]["toolCall"]["content"]
    assert diff["path"] == str(root.parent / "new.txt")
    assert "outside" in reason["content"]["text"]
    assert results(upstream) == ["Error: The user denied this call."]


@pytest.mark.requirement("12:acp-cancel")
@pytest.mark.parametrize("method", ["session/cancel", "session/close", "session/delete", "$/cancel_request"])
async def test_a_cancel_closes_the_question(
    agent: AcpAgent, upstream: FakeUpstream, root: Path, method: str
) -> None:
    script_calls(upstream, call_to_write())
    session = await agent.new_session()
    prompt = agent.start_prompt(session, "Go.")
    request = await agent.read_request("session/request_permission")
    awaited = {prompt}
    if method == "$/cancel_request":
        agent.notify(method, {"requestId": prompt})
    elif method == "session/cancel":
        agent.notify(method, {"sessionId": session})
    else:
        awaited.add(agent.start(method, {"sessionId": session}))
    withdrawn: list[Json] = []
    responses: dict[int, Any] = {}
    while not withdrawn or not awaited <= responses.keys():
        message = await agent.read()
        if "method" not in message:
            responses[message["id"]] = message.get("result")
        elif message["method"] == "$/cancel_request":
            withdrawn.append(message["params"])
    # The user's late answer has no effect.
    agent.answer(request, choose("allow_always")(request))

    assert withdrawn == [{"requestId": request["id"]}]
    assert responses[prompt] == {"stopReason": "cancelled"}
    assert (await agent.request("session/list", {})).result is not None
    assert not (root / "new.txt").exists()


@pytest.mark.requirement("12:acp-cancel")
async def test_a_client_that_leaves_while_it_is_asked_ends_the_prompt(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    script_calls(upstream, call_to_write())
    agent.start_prompt(await agent.new_session(), "Go.")
    await agent.read_request("session/request_permission")

    assert await agent.exit_code() == 0
    assert not (root / "new.txt").exists()


@pytest.mark.requirement("12:acp-permission")
async def test_two_sessions_that_ask_at_the_same_time_are_answered_separately(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    one, two = await agent.new_session(), await agent.new_session()
    prompts, requests = {}, {}
    for session, name in ((one, "one"), (two, "two")):
        # Both calls have the same id, because some servers number the calls of each answer separately.
        stream = completion_stream(tool_calls=[call_to_write(path=name)])
        upstream.script(Reply.events(stream), path="/v1/chat/completions")
        prompts[session] = agent.start_prompt(session, "Go.")
        requests[session] = await agent.read_request("session/request_permission")
    script_answers(upstream, "Done.", "Done.")
    agent.answer(requests[two], choose("reject")(requests[two]))
    await agent.read_until(prompts[two])
    assert names(root) == ["main.py"]
    agent.answer(requests[one], choose("allow")(requests[one]))
    await agent.read_until(prompts[one])

    assert [requests[session]["params"]["sessionId"] for session in (one, two)] == [one, two]
    assert names(root) == ["main.py", "one"]


@pytest.mark.requirement("12:acp-permission")
async def test_a_permission_that_also_answers_another_question_withdraws_that_question(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    both = [call_to_write(path="a", call_id="c1"), call_to_write(path="b", call_id="c2")]
    gate = Gate()
    upstream.script(Reply.events(completion_stream(tool_calls=both)), path="/v1/chat/completions")
    upstream.script(Reply.events([gate, *completion_stream(["Done."])]), path="/v1/chat/completions")
    prompt = agent.start_prompt(await agent.new_session(), "Go.")
    requests = [await agent.read_request("session/request_permission") for _ in both]
    agent.answer(requests[1], choose("allow_conversation")(requests[1]))
    withdrawn = await agent.read_request("$/cancel_request")
    gate.open()
    await agent.read_until(prompt)

    assert withdrawn["params"] == {"requestId": requests[0]["id"]}
    assert results(upstream) == ["Created a.", "Created b."]
