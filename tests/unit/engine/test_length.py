"""The check of a prompt's length: the prompt is refused, or sent with or without a warning."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import pytest

from jumpseat.adapters.base import ChatTraits
from jumpseat.chat import (
    ChatError,
    ContextExceededError,
    Message,
    QuotaExceededError,
    RateLimitError,
    Usage,
    WarningEvent,
)
from jumpseat.engine import TokenMemory, run_turn
from jumpseat.engine.plan import Plan
from jumpseat.engine.prepare import Planner
from jumpseat.providers import resolve_model
from tests.unit.scripted import DONE, RecordingSink, ScriptedAdapter, Step, ask, registry_of, script_text

pytestmark = pytest.mark.requirement("6:context-exceeded", "6:too-long-before-sending")

LIMIT = 1000


class Roomy(ScriptedAdapter):
    """Uses the context limit that a chat's setting requests."""

    traits = ChatTraits(context_setting="room")


def make_message(tokens: int) -> Message:
    """Return a message whose request is estimated at this many tokens: 7 for framing, 1 for each 4 bytes."""
    return Message.user("x" * 4 * (tokens - 7))


async def warnings_of(
    tokens: int, facts: dict[str, Any] | None = None, *, room: int | None = None, **more: Any
) -> list[WarningEvent]:
    """Return the warnings of a turn whose prompt is estimated at this many tokens.

    Raises:
        ContextExceededError: the prompt is too long. In this case, check that nothing was sent.
    """
    adapter = Roomy([*script_text("Hi"), DONE])
    settings = {} if room is None else {"room": room}
    row = {"type": "integer", "optional": True}
    facts = {"max_prompt_tokens": LIMIT} if facts is None else facts
    registry = registry_of(
        adapter, tables={"fake": {"models": [{"id": "m", **facts}], "settings": {"room": row}}}
    )
    sink = RecordingSink()
    try:
        await run_turn(registry, ask(make_message(tokens), settings=settings, **more), sink)
    except ChatError:
        assert adapter.requests == []
        assert sink.events == []
        raise
    assert len(adapter.requests) == 1
    return [event for event in sink.events if isinstance(event, WarningEvent)]


@pytest.mark.parametrize("tokens", [20, LIMIT // 4, LIMIT // 4 + 1, LIMIT])
async def test_a_prompt_that_fits_is_sent_without_a_warning(tokens: int) -> None:
    assert await warnings_of(tokens) == []


@pytest.mark.parametrize("tokens", [LIMIT + 1, 2 * LIMIT])
async def test_an_estimate_up_to_twice_the_limit_warns(tokens: int) -> None:
    (warning,) = await warnings_of(tokens)

    assert warning.code == "prompt_may_be_too_long"
    assert str(tokens) in warning.message
    assert str(LIMIT) in warning.message


async def test_an_estimate_above_twice_the_limit_is_refused_without_a_request() -> None:
    with pytest.raises(
        ContextExceededError, match=f"about {2 * LIMIT + 1} tokens.*fake accepts at most {LIMIT}"
    ) as caught:
        await warnings_of(2 * LIMIT + 1)

    assert caught.value.provider == "fake"
    assert caught.value.hint


async def test_the_limit_of_prompts_takes_precedence_over_the_context() -> None:
    facts = {"max_prompt_tokens": LIMIT, "max_context_tokens": 100 * LIMIT}
    with pytest.raises(ContextExceededError):
        await warnings_of(3 * LIMIT, facts)
    with pytest.raises(ContextExceededError):
        await warnings_of(3 * LIMIT, {"max_context_tokens": LIMIT})


async def test_an_unknown_limit_does_not_cause_a_warning() -> None:
    assert await warnings_of(100 * LIMIT, {}) == []


async def test_the_context_that_a_setting_requests_is_the_limit() -> None:
    assert await warnings_of(10 * LIMIT, room=10 * LIMIT) == []
    with pytest.raises(ContextExceededError):
        await warnings_of(300, room=100)


async def test_a_limit_of_the_snapshot_warns_and_never_refuses() -> None:
    adapter = ScriptedAdapter([*script_text("Hi"), DONE])
    registry = registry_of(adapter, tables={"fake": {"kind": "anthropic"}})
    sink = RecordingSink()
    await run_turn(registry, ask(Message.user("x" * 4_000_000), model="fake:claude-haiku-4-5"), sink)

    assert [event.code for event in sink.events if isinstance(event, WarningEvent)] == [
        "prompt_may_be_too_long"
    ]


async def run(memory: TokenMemory, *messages: Message) -> list[str]:
    """Run a turn, and return the codes of its warnings."""
    registry = registry_of(
        ScriptedAdapter([*script_text("Hi"), DONE]),
        tables={"fake": {"models": [{"id": "m", "max_prompt_tokens": LIMIT}]}},
    )
    sink = RecordingSink()
    await run_turn(registry, ask(*messages), sink, None, memory)
    return [event.code for event in sink.events if isinstance(event, WarningEvent)]


async def plan(text: str) -> Plan:
    """Return the plan for a message of this text."""
    registry = registry_of(ScriptedAdapter())
    return await Planner(registry, await resolve_model(registry, "fake:m")).plan(ask(Message.user(text)))


async def remember_count(tokens: int, text: str, *, exact: bool) -> TokenMemory:
    """Return a memory in which a message of this text has this many tokens."""
    memory = TokenMemory()
    planned = await plan(text)
    if exact:
        memory.remember_count("fake", planned.request, tokens)
    else:
        memory.remember_turn("fake", planned.request, Usage(tokens, 5))
    return memory


async def test_an_exact_count_above_the_limit_is_refused_and_one_below_it_passes() -> None:
    text = "x" * (LIMIT + 1)
    with pytest.raises(ContextExceededError, match=f"has {LIMIT + 1} tokens"):
        await run(await remember_count(LIMIT + 1, text, exact=True), Message.user(text))
    assert await run(await remember_count(LIMIT, text, exact=True), Message.user(text)) == []
    text = "x" * 4 * LIMIT
    assert await run(await remember_count(LIMIT, text, exact=True), Message.user(text)) == []
    assert await run(TokenMemory(), Message.user(text)) == ["prompt_may_be_too_long"]


async def test_a_reported_usage_warns_and_never_refuses() -> None:
    text = "x" * 2 * LIMIT
    memory = await remember_count(50 * LIMIT, text, exact=False)

    assert await run(memory, Message.user(text), Message.assistant("Hi"), Message.user("Go on.")) == [
        "prompt_may_be_too_long"
    ]


async def test_a_turn_is_remembered_for_the_next_one() -> None:
    memory = TokenMemory()
    await run(memory, Message.user("Hi"))
    planned = await plan("Hi")

    assert memory.measure("fake", planned.request).tokens == 3  # The script reports this usage.


WINDOW = {"max_context_tokens": 100_000, "max_output_tokens": 64_000}


async def limits_of(
    *attempts: Sequence[Step],
    prompt: int = 100,
    facts: dict[str, Any] | None = None,
    asked: dict[str, Any] | None = None,
    settings: dict[str, Any] | None = None,
) -> list[int]:
    """Return `max_tokens` of each request of a turn, which by default asks for the model's own limit."""
    adapter = ScriptedAdapter(*attempts or [[*script_text("Hi"), DONE]])
    facts = WINDOW if facts is None else facts
    table = {"fake": {"models": [{"id": "m", **facts}], "max_retries": 0}}
    registry = registry_of(adapter, tables=table, settings=settings or {})
    more = {"max_tokens_default": "model"} if asked is None else asked
    with suppress(ChatError):
        await run_turn(registry, ask(make_message(prompt), **more), RecordingSink())
    return [request.max_tokens for request in adapter.requests]


@pytest.mark.requirement("2:max-tokens-default")
@pytest.mark.parametrize(
    ("changes", "limit"),
    [
        ({}, 64_000),
        ({"asked": {}}, 8192),
        ({"asked": {"max_tokens_default": "model", "max_tokens": 500}}, 500),
        ({"settings": {"max_tokens": 500}}, 500),
        ({"facts": {}}, 8192),
        ({"facts": {"max_output_tokens": 4096}}, 4096),
        ({"facts": {"max_output_tokens": 64_000}}, 64_000),
        ({"prompt": 40_000}, 40_000),
        ({"prompt": 65_000}, 8192),
    ],
)
async def test_an_answer_may_be_as_long_as_the_model_and_the_context_allow(
    changes: dict[str, Any], limit: int
) -> None:
    assert await limits_of(**changes) == [limit]


@pytest.mark.requirement("2:max-tokens-default")
@pytest.mark.parametrize(
    "refusal",
    [
        QuotaExceededError("This request requires more credits, or fewer max_tokens.", status_code=402),
        RateLimitError("Request too large on tokens per minute (TPM): Limit 8000.", status_code=413),
        ContextExceededError("input length and `max_tokens` exceed context limit", status_code=400),
    ],
)
async def test_a_provider_that_refuses_the_limit_gets_the_usual_one_once(refusal: ChatError) -> None:
    assert await limits_of([refusal], [*script_text("Hi"), DONE]) == [64_000, 8192]
    assert await limits_of([refusal], [refusal]) == [64_000, 8192]
    assert await limits_of([refusal], asked={"max_tokens": 64_000}) == [64_000]


@pytest.mark.requirement("2:max-tokens-default")
async def test_another_refusal_does_not_lower_the_limit() -> None:
    assert await limits_of([QuotaExceededError("You have no credits.", status_code=402)]) == [64_000]
