"""Tools in sessions of the Agent Client Protocol: calls, their approvals and results."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.acp import AcpAgent, AcpExchange, provider_table, running_agent
from tests.fakes import tool_plugin
from tests.hub import Hub
from tests.protocol.test_acp import answers, sent_messages

pytestmark = pytest.mark.slow

Json = dict[str, Any]
Answer = Callable[[Json], Any]
REFUSED, SILENT = object(), object()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a project."""
    root = tmp_path / "project"
    root.mkdir()
    (root / "main.py").write_text("print('hello')\n")
    return root


@pytest.fixture
async def agent(hub: Hub, upstream: FakeUpstream, root: Path) -> AsyncIterator[AcpAgent]:
    """An initialized agent in the project, whose only provider is the upstream."""
    async with running_agent(hub, root, config=provider_table(upstream.base_url)) as running:
        await running.initialize()
        yield running


def call(name: str, call_id: str = "c1", **arguments: Any) -> FakeCall:
    """Return a call of the model."""
    return FakeCall(call_id, name, [json.dumps(arguments)])


def calls(upstream: FakeUpstream, *rounds: FakeCall) -> None:
    """Script answers of the model: one call after the other, then a text."""
    for each in rounds:
        upstream.script(Reply.events(completion_stream(tool_calls=[each])), path="/v1/chat/completions")
    answers(upstream, "Done.")


def write(text: str = "1\n", path: str = "new.txt", call_id: str = "c1") -> FakeCall:
    """Return a call that creates a file, which needs an approval."""
    return call("files__write", call_id, path=path, text=text)


def choose(option: str) -> Answer:
    """Return a client whose user always chooses this option."""
    return lambda request: {"outcome": {"outcome": "selected", "optionId": option}}


async def serve(agent: AcpAgent, prompt: int, answer: Answer) -> tuple[AcpExchange, list[Json]]:
    """Answer the agent's requests up to the end of a prompt, and return its exchange and the requests.

    Args:
        answer: returns the result for a request, `REFUSED`, or `SILENT` for no answer.
    """
    requests: list[Json] = []
    messages: list[Json] = []
    while "method" in (message := await agent.read()):
        messages.append(message)
        if "id" in message:
            requests.append(message)
            result = answer(message)
            if result is REFUSED:
                error = {"code": -32601, "message": "unknown"}
                agent.send({"jsonrpc": "2.0", "id": message["id"], "error": error})
            elif result is not SILENT:
                agent.answer(message, result)
    assert message["id"] == prompt, message
    return AcpExchange(message, messages), requests


async def ask(agent: AcpAgent, session: str, answer: Answer) -> tuple[AcpExchange, list[Json]]:
    """Send a prompt, and answer the agent's requests up to its end."""
    return await serve(agent, agent.start_prompt(session, "Go."), answer)


def states(exchange: AcpExchange) -> list[tuple[str, str]]:
    """Return the status of each call in the order of the updates."""
    updates = [each["params"]["update"] for each in exchange.messages if each["method"] == "session/update"]
    return [
        (update["toolCallId"], update["status"])
        for update in updates
        if update["sessionUpdate"] in ("tool_call", "tool_call_update") and "status" in update
    ]


def results(upstream: FakeUpstream) -> list[str]:
    """Return the results of calls that the model received last."""
    return [message["content"] for message in sent_messages(upstream) if message["role"] == "tool"]


def names(folder: Path) -> list[str]:
    """Return the names of the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.requirement("12:acp-calls", "12:acp-permission")
async def test_a_model_reads_and_edits_a_file_after_the_users_decision(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    file = root / "main.py"
    edit = {"path": "main.py", "oldText": "hello", "newText": "bye"}
    calls(upstream, call("files__read", "c1", path="main.py"), call("files__edit", "c2", **edit))
    session = await agent.new_session()
    exchange, (request,) = await ask(agent, session, choose("allow"))

    assert file.read_text() == "print('bye')\n"
    assert exchange.result == {"stopReason": "end_turn"}
    begun = [(each["toolCallId"], each["title"], each["kind"]) for each in exchange.updates("tool_call")]
    assert begun == [("c1", "Read a file", "read"), ("c2", "Edit a file", "edit")]
    assert states(exchange) == [
        *(("c1", status) for status in ("pending", "in_progress", "completed", "completed")),
        *(("c2", status) for status in ("pending", "in_progress", "completed", "completed")),
    ]
    diff = {
        "type": "diff",
        "path": str(file),
        "oldText": "print('hello')\n",
        "newText": "print('bye')\n",
    }
    updates = exchange.updates("tool_call_update")
    assert {"title": "Read main.py", "locations": [{"path": str(file)}]}.items() <= updates[1].items()
    assert updates[-1]["content"] == [
        diff,
        {"type": "content", "content": {"type": "text", "text": "Changed main.py."}},
    ]
    assert request["params"] == {
        "sessionId": session,
        "toolCall": {
            "toolCallId": "c2",
            "title": "Edit main.py",
            "kind": "edit",
            "status": "pending",
            "rawInput": edit,
            "content": [diff],
            "locations": [{"path": str(file)}],
        },
        "options": [
            {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
            {
                "optionId": "allow_conversation",
                "name": "Allow files/edit in this conversation",
                "kind": "allow_always",
            },
            {"optionId": "allow_always", "name": "Always allow files/edit", "kind": "allow_always"},
            {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
        ],
    }


@pytest.mark.requirement("12:acp-calls")
async def test_text_after_a_call_is_another_message(agent: AcpAgent, upstream: FakeUpstream) -> None:
    read = call("files__read", path="main.py")
    stream = completion_stream(["Let me see."], tool_calls=[read])
    upstream.script(Reply.events(stream), path="/v1/chat/completions")
    answers(upstream, "I see.")
    exchange = await agent.prompt(await agent.new_session(), "Go.")

    chunks = exchange.updates("agent_message_chunk")
    assert [each["content"]["text"] for each in chunks] == ["Let me see.", "I see."]
    assert len({each["messageId"] for each in chunks}) == 2


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
    calls(upstream, write())
    exchange, _ = await ask(agent, await agent.new_session(), lambda request: outcome)

    assert exchange.result == {"stopReason": "end_turn"}
    assert states(exchange) == [("c1", "pending"), ("c1", "failed"), ("c1", "failed")]
    assert results(upstream) == ["Error: The user denied this call."]
    assert not (root / "new.txt").exists()


@pytest.mark.requirement("12:acp-permission")
async def test_a_client_that_cannot_ask_denies(agent: AcpAgent, upstream: FakeUpstream) -> None:
    calls(upstream, write())
    exchange, _ = await ask(agent, await agent.new_session(), lambda request: REFUSED)

    assert exchange.text() == "Done."
    assert results(upstream) == ["Error: The user denied this call."]


@pytest.mark.requirement("12:acp-permission")
async def test_a_permission_for_the_conversation_does_not_hold_in_another(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    one, two = await agent.new_session(), await agent.new_session()
    calls(upstream, write(path="a"), write(path="b", call_id="c2"))
    _, first = await ask(agent, one, choose("allow_conversation"))
    calls(upstream, write(path="c"))
    _, second = await ask(agent, one, choose("reject"))
    calls(upstream, write(path="d"))
    _, third = await ask(agent, two, choose("allow_always"))
    calls(upstream, write(path="e"))
    _, fourth = await ask(agent, await agent.new_session(), choose("reject"))

    assert list(map(len, (first, second, third, fourth))) == [1, 0, 1, 0]
    assert names(root) == ["a", "b", "c", "d", "e", "main.py"]


@pytest.mark.requirement("12:acp-permission")
async def test_a_call_outside_the_directories_says_so_and_cannot_be_remembered(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    calls(upstream, write(path="../new.txt"))
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
    calls(upstream, write())
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
async def test_a_cancelled_call_is_shown_as_failed_and_the_session_goes_on(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    calls(upstream, write())
    session = await agent.new_session()
    prompt = agent.start_prompt(session, "Go.")
    await agent.read_request("session/request_permission")
    agent.notify("session/cancel", {"sessionId": session})
    cancelled = await agent.read_until(prompt)

    assert states(cancelled)[-1] == ("c1", "failed")
    await agent.prompt(session, "And now?")
    assert results(upstream) == ["Error: Cancelled."]


@pytest.mark.requirement("12:acp-cancel")
async def test_a_client_that_leaves_while_it_is_asked_ends_the_prompt(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    calls(upstream, write())
    agent.start_prompt(await agent.new_session(), "Go.")
    await agent.read_request("session/request_permission")

    assert await agent.exit_code() == 0
    assert not (root / "new.txt").exists()


@pytest.mark.requirement("12:acp-permission")
async def test_two_sessions_that_ask_at_the_same_time_have_their_own_answers(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    one, two = await agent.new_session(), await agent.new_session()
    prompts, requests = {}, {}
    for session, name in ((one, "one"), (two, "two")):
        # Both calls have the same id, as some servers number them.
        stream = completion_stream(tool_calls=[write(path=name)])
        upstream.script(Reply.events(stream), path="/v1/chat/completions")
        prompts[session] = agent.start_prompt(session, "Go.")
        requests[session] = await agent.read_request("session/request_permission")
    answers(upstream, "Done.", "Done.")
    agent.answer(requests[two], choose("reject")(requests[two]))
    await agent.read_until(prompts[two])
    assert names(root) == ["main.py"]
    agent.answer(requests[one], choose("allow")(requests[one]))
    await agent.read_until(prompts[one])

    assert [requests[session]["params"]["sessionId"] for session in (one, two)] == [one, two]
    assert names(root) == ["main.py", "one"]


@pytest.mark.requirement("12:acp-permission")
async def test_an_answer_that_covers_another_question_withdraws_it(
    agent: AcpAgent, upstream: FakeUpstream, root: Path
) -> None:
    both = [write(path="a", call_id="c1"), write(path="b", call_id="c2")]
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


@pytest.mark.requirement("12:acp-max-rounds")
async def test_the_limit_of_rounds_ends_a_prompt_and_the_next_one_goes_on(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    config = provider_table(upstream.base_url) + "[tools]\nmax_rounds = 1\n"
    async with running_agent(hub, root, config=config) as agent:
        await agent.initialize()
        session = await agent.new_session()
        calls(upstream, call("files__list"))
        limited = await agent.prompt(session, "Go.")
        further = await agent.prompt(session, "Go on.")

    assert limited.result == {"stopReason": "max_turn_requests"}
    assert further.text() == "Done."
    assert [message["role"] for message in sent_messages(upstream)] == ["user", "assistant", "tool", "user"]


@pytest.mark.requirement("12:acp-tools")
async def test_a_session_offers_the_file_tools_and_those_of_the_configuration(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    config = provider_table(upstream.base_url) + '[acp]\ntools = ["shed/e*", "gone/*"]\n'
    environment = tool_plugin.install(hub.home / "site")
    (hub.home / "daemon").write_text("not a directory")  # The process serves its client itself.
    async with running_agent(hub, root, config=config, env=environment) as agent:
        await agent.initialize(session={"notices": {}})
        calls(upstream, call("shed__echo", text="x"))
        exchange, (request,) = await ask(agent, await agent.new_session(), choose("allow"))

    offered = [tool["function"]["name"] for tool in json.loads(upstream.requests[-1].body)["tools"]]
    names = ("edit", "list", "read", "search", "write")
    assert offered == [*(f"files__{name}" for name in names), "shed__echo"]
    assert request["params"]["toolCall"]["title"] == 'shed/echo {"text":"x"}'
    assert results(upstream) == [f"x in ['{root}']"]
    (notice,) = exchange.updates("notice")
    assert "gone/*" in notice["title"]


@pytest.mark.requirement("12:acp-tools")
async def test_a_model_that_does_not_accept_tools_gets_none(
    hub: Hub, upstream: FakeUpstream, root: Path
) -> None:
    config = provider_table(upstream.base_url) + "capabilities = { tool_calls = false }\n"
    async with running_agent(hub, root, config=config) as agent:
        await agent.initialize()
        answers(upstream, "Hello.")

        assert (await agent.prompt(await agent.new_session(), "Hi.")).text() == "Hello."
    assert "tools" not in json.loads(upstream.requests[-1].body)


@pytest.mark.requirement("12:acp-calls")
async def test_ids_of_calls_are_unique_in_a_session_and_inputs_are_bounded(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    session = await agent.new_session()
    calls(upstream, write(text="x" * 10_000), write(path="b\u202e"))
    first, _ = await ask(agent, session, choose("reject"))
    calls(upstream, call("files__list"))
    second = await agent.prompt(session, "Go.")

    assert [each["toolCallId"] for each in first.updates("tool_call")] == ["c1", "c1_r2"]
    assert [each["toolCallId"] for each in second.updates("tool_call")] == ["c1_2"]
    inputs = [each["rawInput"] for each in first.updates("tool_call_update") if "rawInput" in each]
    assert len(inputs[0]["text"]) == 2000
    assert inputs[1]["path"] == r"b\u202e"


@pytest.mark.requirement("12:acp-calls")
async def test_a_call_that_fails_before_any_question_is_shown(
    agent: AcpAgent, upstream: FakeUpstream
) -> None:
    calls(upstream, call("files__edit", path="main.py", oldText="a", newText="b"), call("files__gone", "c2"))
    exchange = await agent.prompt(await agent.new_session(), "Go.")

    assert [status for _, status in states(exchange)] == ["pending", "failed", "failed"] * 2
    assert [each["title"] for each in exchange.updates("tool_call")] == ["Edit a file", "files__gone"]
    texts = [each["content"][0]["content"]["text"] for each in exchange.updates("tool_call_update")[2::3]]
    assert [f"Error: {text}" for text in texts] == results(upstream)
    assert "Read the file first." in texts[0]


@pytest.mark.requirement("12:acp-replay")
async def test_a_loaded_session_shows_its_calls(agent: AcpAgent, upstream: FakeUpstream, root: Path) -> None:
    session = await agent.new_session()
    calls(upstream, call("files__read", path="main.py"), write(call_id="c2"))
    await ask(agent, session, choose("reject"))
    calls(upstream, call("files__list"))
    await agent.prompt(session, "And?")
    loaded = await agent.reopen("session/load", session)

    shown = [(each["toolCallId"], each["title"], each["kind"]) for each in loaded.updates("tool_call")]
    assert shown == [
        ("c1", 'files/read {"path":"main.py"}', "read"),
        ("c2", 'files/write {"path":"new.txt","text":"1\\n"}', "edit"),
        ("c1_2", "files/list", "read"),
    ]
    ends = loaded.updates("tool_call_update")
    assert [(each["toolCallId"], each["status"]) for each in ends] == [
        ("c1", "completed"),
        ("c2", "failed"),
        ("c1_2", "completed"),
    ]
    assert ends[0]["content"][0]["content"]["text"] == "print('hello')\n"
    assert loaded.text() == "Done.Done."
