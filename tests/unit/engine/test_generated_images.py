"""Images that a model generated, in later requests."""

from __future__ import annotations

from dataclasses import replace

import pytest

from jumpseat.adapters.base import Capabilities
from jumpseat.chat import ContentBlock, ImageBlock, Message, Origin, Response, TextBlock
from jumpseat.chat.transcript import parse, render
from jumpseat.conversations.same_content import is_same_content
from jumpseat.engine.generated_images import FOLLOWS, LEFT_OUT
from jumpseat.engine.memory import BlockMemory
from jumpseat.engine.plan import Plan, plan_turn
from jumpseat.providers import ResolvedModel
from tests.unit.engine.blocks import TEXT, assistant, call, result, user
from tests.unit.scripted import ScriptedAdapter, ask, model_info

HERE = Origin("fake", "m")
IMAGE = ImageBlock("iVBORw0K", "image/png", origin=HERE, opaque='{"field":"images"}')
PLAIN = ImageBlock("iVBORw0K", "image/png", origin=HERE)

pytestmark = pytest.mark.requirement("2:generated-images")


def plan(*messages: Message, sees: bool | None = True) -> Plan:
    info = model_info("fake", "m", supports_vision=sees)
    target = ResolvedModel("fake", ScriptedAdapter(), "m", info)
    return plan_turn(ask(*messages), target, Capabilities(), {}, {}, None)


def plan_messages(
    *messages: Message, sees: bool | None = True
) -> tuple[list[tuple[ContentBlock, ...]], list[str]]:
    made = plan(*messages, sees=sees)
    codes = [warning.code for warning in made.warnings]
    return [tuple(message.content) for message in made.request.messages], codes


@pytest.mark.parametrize("sees", [True, False, None])
def test_an_image_goes_back_to_the_model_that_generated_it(sees: bool | None) -> None:
    assert plan_messages(user(TEXT), assistant(IMAGE), user(TEXT), sees=sees)[0][1] == (IMAGE,)


def test_an_image_of_another_model_moves_to_the_users_next_message() -> None:
    other = replace(IMAGE, origin=Origin("fake", "other"))
    said = assistant(other, call("1"))
    messages, codes = plan_messages(user(TEXT), said, user(result("1"), TEXT))
    moved = replace(other, opaque=None)
    assert messages[1:] == [(TextBlock(FOLLOWS), call("1")), (result("1"), moved, TEXT)]
    assert codes == ["foreign_data_dropped"]


@pytest.mark.parametrize("sees", [False, None])
def test_an_image_becomes_a_note_for_a_model_that_is_not_known_to_see(sees: bool | None) -> None:
    messages, codes = plan_messages(user(TEXT), assistant(TEXT, PLAIN), user(TEXT), sees=sees)
    assert messages[1:] == [(TEXT, TextBlock(LEFT_OUT)), (TEXT,)]
    assert codes == ["images_replaced"]


def test_an_image_in_the_last_message_becomes_a_note() -> None:
    messages, codes = plan_messages(user(TEXT), assistant(PLAIN))
    assert (messages[-1], codes) == ((TextBlock(LEFT_OUT),), ["images_replaced"])


def test_a_client_that_keeps_only_text_gets_the_image_back() -> None:
    memory = BlockMemory()
    text = TextBlock("Here it is.", origin=HERE)
    response = Response(provider="fake", model="m", content=[text, IMAGE])
    memory.remember(response, [user(TEXT)])
    given = [user(TEXT), Message.assistant("Here it is."), user(TEXT)]
    assert [tuple(each.content) for each in memory.restore(given, HERE)] == [(TEXT,), (text, IMAGE), (TEXT,)]


def test_a_client_that_drops_the_image_continues_the_same_conversation() -> None:
    assert is_same_content("assistant", (TEXT, IMAGE), (TEXT,))
    assert not is_same_content("user", (TEXT, replace(PLAIN, origin=None)), (TEXT,))


def test_a_transcript_keeps_the_origin_of_a_generated_image() -> None:
    messages = [user(TEXT), assistant(TEXT, PLAIN)]
    assert parse(render(messages)).messages[1].content == (TextBlock("hi"), PLAIN)
