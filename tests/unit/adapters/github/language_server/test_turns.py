"""A chat as turns of the Copilot language server."""

import pytest

from jumpseat.adapters.github.language_server.turns import (
    GO_ON,
    OPENING,
    Turn,
    as_text_turns,
    fingerprint,
    goes_on_itself,
    turns_of,
)
from jumpseat.chat import (
    ChatRequest,
    ContextBlock,
    ImageBlock,
    Message,
    Origin,
    OtherBlock,
    RedactedThinkingBlock,
    RequestError,
    TextBlock,
    ThinkingBlock,
    ToolResultBlock,
    ToolUseBlock,
)

HERE = Origin("helper", "m")


def asked(*messages, system=None):
    return ChatRequest(messages=messages, model="m", system=system)


@pytest.mark.requirement("language-server:history")
def test_a_history_becomes_turns_of_a_request_and_its_response():
    chat = asked(Message.user("One"), Message.assistant("Uno"), Message.user("Two"))

    turns = turns_of(chat)

    assert [turn.to_wire() for turn in turns] == [{"request": "One", "response": "Uno"}, {"request": "Two"}]
    assert not goes_on_itself(chat)


@pytest.mark.requirement("language-server:history")
def test_the_system_prompt_stands_in_front_of_the_first_request_alone():
    history = (Message.user("One"), Message.assistant("Uno"), Message.user("Two"))

    first, last = turns_of(asked(*history, system="Be terse."))

    assert first.request == "<instructions>\nBe terse.\n</instructions>\n\nOne"
    assert last.request == "Two"
    assert turns_of(asked(*history, system=" \n")) == turns_of(asked(*history))


@pytest.mark.requirement("language-server:history")
def test_messages_of_one_role_in_a_row_are_one():
    chat = asked(
        Message.user("One"),
        Message.user("and a half"),
        Message.assistant("Uno"),
        Message.assistant("e mezzo"),
        Message.user("Two"),
    )

    assert turns_of(chat) == [Turn("One\n\nand a half", "Uno\n\ne mezzo"), Turn("Two")]


@pytest.mark.requirement("language-server:history")
def test_a_chat_that_the_assistant_begins_or_ends_gets_a_line_of_the_users():
    chat = asked(Message.assistant("Hello."), Message.user("Hi"), Message.assistant("So"))

    assert turns_of(chat) == [Turn(OPENING, "Hello."), Turn("Hi", "So"), Turn(GO_ON)]
    assert goes_on_itself(chat)


@pytest.mark.requirement("language-server:history")
def test_an_image_makes_parts_whose_texts_keep_their_distance():
    image = ImageBlock("QUJD", "image/png")
    message = Message(
        "user", (TextBlock("Look"), image, TextBlock("at this"), ContextBlock("x = 1", label="a.py"))
    )

    (turn,) = turns_of(asked(message, system="S"))

    assert turn.request == [
        {"type": "text", "text": "<instructions>\nS\n</instructions>\n\n"},
        {"type": "text", "text": "Look"},
        {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": "\n\nat this"},
        {"type": "text", "text": "\n\n`a.py`:\n```\nx = 1\n```"},
    ]


@pytest.mark.requirement("language-server:history")
def test_texts_that_are_the_same_keep_their_distance_too():
    message = Message("user", (ImageBlock("QUJD"), TextBlock("x"), TextBlock("x")))

    (turn,) = turns_of(asked(message))

    assert [part["text"] for part in turn.request if part["type"] == "text"] == ["x", "\n\nx"]


@pytest.mark.requirement("language-server:errors-of-images", "language-server:history")
@pytest.mark.parametrize(
    ("source", "words"),
    [("https://example.test/a.png", "not an address"), ("data:image/svg+xml,%3Csvg/%3E", "in base64 only")],
)
def test_an_image_that_the_server_cannot_read_is_refused(source, words):
    with pytest.raises(RequestError, match=words):
        turns_of(asked(Message("user", (TextBlock("Look"), ImageBlock(source)))))


@pytest.mark.requirement("language-server:history")
@pytest.mark.parametrize(
    "said", ["/help", "  /tests for this", "@github what?", "\n@x", "\ufeff/fix", "/etc/hosts"]
)
def test_no_first_words_are_a_command_to_the_server(said):
    request = asked(Message.user(said), Message.assistant("Yes."), Message.user(said))
    picture = Message("user", (ImageBlock("QUJD"), TextBlock(said)))

    assert [turn.request for turn in turns_of(request)] == [f"\u200b{said}"] * 2
    (seen,) = turns_of(asked(picture))
    assert seen.request[1] == {"type": "text", "text": f"\u200b{said}"}
    assert seen.request[0]["type"] == "image_url"
    (apart,) = turns_of(asked(Message("user", (TextBlock(" "), ImageBlock("QUJD"), TextBlock(said)))))
    assert [part.get("text") for part in apart.request] == ["\u200b ", None, f"\n\n{said}"]
    (instructed,) = turns_of(asked(Message.user(said), system="S"))
    assert instructed.request.endswith(f"\n\n{said}")
    assert as_text_turns(asked(Message.user(said))) == [(said, None)]


def test_an_attached_piece_of_a_file_is_fenced_text():
    message = Message("user", (TextBlock("Why?"), ContextBlock("x = ```1```", "file:///a.py", "python")))

    assert turns_of(asked(message)) == [Turn("Why?\n\n`/a.py`:\n````python\nx = ```1```\n````")]


@pytest.mark.requirement("language-server:history")
def test_tool_calls_and_results_of_another_providers_history_become_text():
    chat = asked(
        Message.user("Read a.py"),
        Message("assistant", (TextBlock("Yes."), ToolUseBlock("c1", "read", {"p": 1}, '{"p":1}'))),
        Message("user", (ToolResultBlock("c1", "no such file", is_error=True), TextBlock("Well?"))),
    )

    assert turns_of(chat) == [
        Turn("Read a.py", 'Yes.\n\n`Call of the tool read`:\n```json\n{"p":1}\n```'),
        Turn("`Result of the tool read`:\n```\nError: no such file\n```\n\nWell?"),
    ]


def test_what_only_its_own_provider_can_read_is_left_out():
    answer = (
        ThinkingBlock("hm", origin=HERE),
        TextBlock("Uno", origin=HERE),
        RedactedThinkingBlock("x"),
        OtherBlock("search", "y"),
        TextBlock(", due"),
    )

    assert turns_of(asked(Message.user("One"), Message("assistant", answer), Message.user("Two")))[0] == Turn(
        "One", "Uno, due"
    )


@pytest.mark.requirement("language-server:second-turn")
def test_the_same_chat_has_the_same_fingerprint_however_its_answers_were_trimmed_and_cut():
    system = "Be terse."
    before = turns_of(asked(Message.user("One"), system=system))
    kept = fingerprint([Turn(before[0].request, "\nUno, due\n")])
    parts = Message("assistant", (ThinkingBlock("hm"), TextBlock("Uno, "), TextBlock("due")))
    after = turns_of(asked(Message.user("One"), parts, Message.user("Two"), system=system))

    assert fingerprint(after[:-1]) == kept


@pytest.mark.requirement("language-server:second-turn-other")
@pytest.mark.parametrize(
    "other",
    [
        asked(Message.user("One"), Message.assistant("Uno, due"), Message.user("Two")),
        asked(Message.user("One"), Message.assistant("Uno"), Message.user("Two"), system="Be terse."),
        asked(Message.user("One."), Message.assistant("Uno, due"), Message.user("Two"), system="Be terse."),
        asked(
            Message("user", (TextBlock("One"), ImageBlock("QUJD"))),
            Message.assistant("Uno, due"),
            Message.user("Two"),
            system="Be terse.",
        ),
    ],
    ids=["another system prompt", "another answer", "another question", "an image"],
)
def test_another_chat_has_another_fingerprint(other):
    same = asked(Message.user("One"), Message.assistant("Uno, due"), Message.user("Two"), system="Be terse.")

    assert fingerprint(turns_of(other)[:-1]) != fingerprint(turns_of(same)[:-1])


def test_for_who_takes_text_alone_images_and_the_system_prompt_are_left_out():
    message = Message("user", (TextBlock("Look"), ImageBlock("QUJD"), TextBlock("here")))

    assert as_text_turns(asked(message, system="S")) == [("Look\n\nhere", None)]
