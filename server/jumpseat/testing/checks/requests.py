"""Checks that the provider receives every part of a request once.

The checks search the request's JSON for texts and numbers, so they apply to every dialect.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import DEFAULT_MAX_TOKENS, ChatRequest, Message, Role, TextBlock
from jumpseat.testing.laws import assert_laws, assert_response, check
from jumpseat.testing.recordings import strings_in, values_in
from jumpseat.testing.stage import TOOLS, ContractBase, Stage, run_as_test


class RequestChecks(ContractBase):
    """The checks of the requests that a scripted provider receives."""

    @run_as_test
    async def test_a_text_becomes_blocks_streamed_and_not(self) -> None:
        """Check that `content` is a list of blocks and `text` is the joined string."""
        script = self.answers()
        async with self.open_stage() as stage:
            for streamed in (True, False):
                stage.answer(script.text_answer(["Hel", "lo."], streamed=streamed))
                request = self.hello(stream=streamed)
                response = await stage.chat(request)
                assert_response(response, provider=stage.provider, model=self.model)
                check(response.text == "Hello.", f"text is {response.text!r}.")
                check([block.type for block in response.content] == ["text"], f"{response.content!r}")
                check(response.stop_reason == "end_turn", f"the stop reason is {response.stop_reason!r}.")
                requested = script.asks_to_stream(stage.chats[-1])
                check(requested == streamed, f"stream is {streamed}, but the request has {requested}.")

    @run_as_test
    async def test_on_delta_gets_every_event(self) -> None:
        """Use an async `on_delta`, with and without streaming."""
        script = self.answers()
        async with self.open_stage() as stage:
            for streamed in (True, False):
                stage.answer(script.text_answer(["Hel", "lo."], streamed=streamed))
                seen: list[Any] = []

                async def take(event: Any, seen: list[Any] = seen) -> None:
                    seen.append(event)

                await stage.adapter.bind(self.model).chat(
                    self.hello().messages, stream=streamed, on_delta=take
                )
                assert_laws(seen)

    @run_as_test
    async def test_the_model_reaches_the_provider(self) -> None:
        """Check that the request contains the model's name."""
        script = self.answers()
        async with self.open_stage() as stage:
            for name in self.models:
                stage.answer(script.text_answer(["Yes."], streamed=True))
                await stage.collect_events(self.hello(model=name))
                texts = [*strings_in(stage.request_body()), *stage.chats[-1].path.split("/")]
                check(name in texts, f"the model {name!r} is not in the request: {stage.request_body()!r}")

    @run_as_test
    async def test_the_limit_of_tokens_reaches_the_provider(self) -> None:
        """Check the limit that the call sets, else the limit that `bind` sets, else 8192."""
        script = self.answers()
        async with self.open_stage() as stage:
            bound = stage.adapter.bind(self.model, max_tokens=4321)
            limits: list[tuple[Any, int | None, int]] = [
                (bound, None, 4321),
                (bound, 1234, 1234),
                (stage.adapter.bind(self.model), None, DEFAULT_MAX_TOKENS),
            ]
            for model, call_limit, expected in limits:
                stage.answer(script.text_answer(["Yes."], streamed=False))
                await model.chat(self.hello().messages, max_tokens=call_limit)
                numbers = [value for value in values_in(stage.request_body()) if type(value) is int]
                check(
                    expected in numbers,
                    f"the limit {expected} is not in the request: {stage.request_body()!r}",
                )

    @run_as_test
    async def test_tools_as_mappings_and_as_definitions_are_the_same(self) -> None:
        """Check that names, descriptions and schemas reach the provider."""
        script = self.answers()
        async with self.open_stage() as stage:
            bodies = []
            mappings = [
                {"name": each.name, "description": each.description, "parameters": each.parameters}
                for each in TOOLS
            ]
            for tools in (TOOLS, mappings):
                stage.answer(script.text_answer(["Yes."], streamed=False))
                await stage.adapter.bind(self.model).chat(self.hello().messages, tools=tools)
                bodies.append(stage.request_body())
            check(bodies[0] == bodies[1], f"tools as mappings send {bodies[1]!r}\ninstead of {bodies[0]!r}")
            texts = list(strings_in(bodies[0]))
            for tool in TOOLS:
                check(tool.name in texts, f"the tool {tool.name!r} is not in the request: {bodies[0]!r}")
                check(tool.description in texts, f"the description of {tool.name!r} is not in the request.")
            objects = [value for value in values_in(bodies[0]) if isinstance(value, Mapping)]
            for name, schema in TOOLS[0].parameters["properties"].items():
                is_sent = any(_extends(value.get(name), schema) for value in objects)
                check(is_sent, f"the parameter {name!r} of the tool is not in the request: {bodies[0]!r}")

    @run_as_test
    async def test_the_system_prompt_reaches_the_provider_and_is_not_a_user_message(self) -> None:
        """Search the whole request for it, because its place depends on the dialect."""
        script = self.answers()
        async with self.open_stage() as stage:
            stage.answer(script.text_answer(["Yes."], streamed=True))
            await stage.collect_events(self.hello(system="Be-brief-prompt."))
            body = stage.request_body()
            found = sum("Be-brief-prompt." in text for text in strings_in(body))
            check(found == 1, f"the system prompt is {found} times in the request: {body!r}")
            objects = (value for value in values_in(body) if isinstance(value, dict))
            users = [value for value in objects if value.get("role") == "user"]
            is_users = any("Be-brief-prompt." in text for user in users for text in strings_in(user))
            check(not is_users, f"the system prompt is sent as a message of the user: {body!r}")

    @run_as_test
    async def test_consecutive_messages_of_one_role_are_complete_and_in_order(self) -> None:
        """Accept merged and separate messages, because the dialect determines which is right."""
        script = self.answers()
        roles: list[Role] = ["user", "user", "assistant", "assistant", "user", "user", "user"]
        texts = [f"passage-{number}-of-the-talk" for number in range(len(roles))]
        messages = [
            Message(role, (TextBlock(text), TextBlock(f"{text}-goes-on")))
            for role, text in zip(roles, texts, strict=True)
        ]
        async with self.open_stage() as stage:
            stage.answer(script.text_answer(["Yes."], streamed=True))
            await stage.collect_events(self.hello(messages=messages))
            sent = "\n".join(strings_in(stage.request_body()))
            for text in texts:
                check(
                    sent.count(f"{text}-goes-on") == 1, f"{text!r} is not exactly once in the request: {sent}"
                )
            places = [sent.index(part) for text in texts for part in (text, f"{text}-goes-on")]
            check(places == sorted(places), f"the messages lost their order: {sent}")

    @run_as_test
    async def test_one_chat_sends_one_request(self) -> None:
        """Check that the adapter makes only one attempt, because the turn engine retries."""
        script = self.answers()
        async with self.open_stage() as stage:
            stage.answer_all(script.error_answer(500, "Down for a moment."))
            await stage.collect_failure(self.hello())
            check(len(stage.chats) == 1, f"a failing chat was sent {len(stage.chats)} times.")

    @run_as_test
    async def test_a_chat_does_not_change_the_next_one(self) -> None:
        """Check that a repeated request has the same body: the adapter must not store conversations."""
        async with self.open_stage() as stage:
            first = await self._fetch_body(stage, self.hello(tools=TOOLS, system="Be brief."))
            await self._fetch_body(stage, self.hello(messages=(Message.user("Other."),)))
            again = await self._fetch_body(stage, self.hello(tools=TOOLS, system="Be brief."))
            check(first == again, f"the second time it sends {again!r}\ninstead of {first!r}")

    async def _fetch_body(self, stage: Stage, request: ChatRequest) -> Any:
        stage.answer(self.answers().text_answer(["Yes."], streamed=True))
        await stage.collect_events(request)
        return stage.request_body()


def _extends(value: Any, schema: Mapping[str, Any]) -> bool:
    return isinstance(value, Mapping) and schema.items() <= value.items()
