"""The conversion of a chat to the Copilot language server's turns."""

import pytest

from jumpseat.adapters.github.language_server.turns import (
    GO_ON,
    OPENING,
    Turn,
    as_text_turns,
    ends_with_assistant,
    fingerprint,
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


def make_request(*messages, system=None):
    return ChatRequest(messages=messages, model="m", system=system)


@pytest.mark.requirement("language-server:history")
def test_a_history_becomes_pairs_of_request_and_response():
    chat = make_request(Message.user("One"), Message.assistant("Uno"), Message.user("Two"))

    turns = turns_of(chat)

    assert [turn.to_wire() for turn in turns] == [{"request": "One", "response": "Uno"}, {"request": "Two"}]
    assert not ends_with_assistant(chat)


@pytest.mark.requirement("language-server:history")
def test_the_system_prompt_precedes_the_first_request_only():
    history = (Message.user("One"), Message.assistant("Uno"), Message.user("Two"))

    first, last = turns_of(make_request(*history, system="Be terse."))

    assert first.request == "<instructions>\nBe terse.\n</instructions>\n\nOne"
    assert last.request == "Two"
    assert turns_of(make_request(*history, system=" \n")) == turns_of(make_request(*history))


@pytest.mark.requirement("language-server:history")
def test_consecutive_messages_of_one_role_are_joined():
    chat = make_request(
        Message.user("One"),
        Message.user("and a half"),
        Message.assistant("Uno"),
        Message.assistant("e mezzo"),
        Message.user("Two"),
    )

    assert turns_of(chat) == [Turn("One\n\nand a half", "Uno\n\ne mezzo"), Turn("Two")]


@pytest.mark.requirement("language-server:history")
def test_a_chat_that_begins_or_ends_with_the_assistant_gets_a_user_line():
    chat = make_request(Message.assistant("Hello."), Message.user("Hi"), Message.assistant("So"))

    assert turns_of(chat) == [Turn(OPENING, "Hello."), Turn("Hi", "So"), Turn(GO_ON)]
    assert ends_with_assistant(chat)


@pytest.mark.requirement("language-server:history")
def test_texts_around_an_image_are_separated_by_blank_lines():
    image = ImageBlock("QUJD", "image/png")
    message = Message(
        "user", (TextBlock("Look"), image, TextBlock("at this"), ContextBlock("x = 1", label="a.py"))
    )

    (turn,) = turns_of(make_request(message, system="S"))

    assert turn.request == [
        {"type": "text", "text": "<instructions>\nS\n</instructions>\n\n"},
        {"type": "text", "text": "Look"},
        {"type": "image_url", "imageUrl": {"url": "data:image/png;base64,QUJD"}},
        {"type": "text", "text": "\n\nat this"},
        {"type": "text", "text": "\n\n`a.py`:\n```\nx = 1\n```"},
    ]


@pytest.mark.requirement("language-server:history")
def test_equal_texts_are_separated_by_blank_lines():
    message = Message("user", (ImageBlock("QUJD"), TextBlock("x"), TextBlock("x")))

    (turn,) = turns_of(make_request(message))

    assert [part["text"] for part in turn.request if part["type"] == "text"] == ["x", "\n\nx"]


@pytest.mark.requirement("language-server:errors-of-images", "language-server:history")
@pytest.mark.parametrize(
    ("source", "words"),
    [("https://example.test/a.png", "by its URL"), ("data:image/svg+xml,%3Csvg/%3E", "only in base64")],
)
def test_an_unsupported_image_is_refused(source, words):
    with pytest.raises(RequestError, match=words):
        turns_of(make_request(Message("user", (TextBlock("Look"), ImageBlock(source)))))


@pytest.mark.requirement("language-server:history")
@pytest.mark.parametrize(
    "said", ["/help", "  /tests for this", "@github what?", "\n@x", "\ufeff/fix", "/etc/hosts"]
)
def test_a_message_is_never_read_as_a_command_of_the_server(said):
    request = make_request(Message.user(said), Message.assistant("Yes."), Message.user(said))
    picture = Message("user", (ImageBlock("QUJD"), TextBlock(said)))

    assert [turn.request for turn in turns_of(request)] == [f"\u200b{said}"] * 2
    (seen,) = turns_of(make_request(picture))
    assert seen.request[1] == {"type": "text", "text": f"\u200b{said}"}
    assert seen.request[0]["type"] == "image_url"
    (apart,) = turns_of(make_request(Message("user", (TextBlock(" "), ImageBlock("QUJD"), TextBlock(said)))))
    assert [part.get("text") for part in apart.request] == ["\u200b ", None, f"\n\n{said}"]
    (instructed,) = turns_of(make_request(Message.user(said), system="S"))
    assert instructed.request.endswith(f"\n\n{said}")
    assert as_text_turns(make_request(Message.user(said))) == [(said, None)]


def test_an_attached_excerpt_becomes_fenced_text():
    message = Message("user", (TextBlock("Why?"), ContextBlock("x = ```1```", "file:///a.py", "python")))

    assert turns_of(make_request(message)) == [Turn("Why?\n\n`/a.py`:\n````python\nx = ```1```\n````")]


@pytest.mark.requirement("language-server:history")
def test_tool_calls_and_results_of_another_providers_history_become_text():
    chat = make_request(
        Message.user("Read a.py"),
        Message("assistant", (TextBlock("Yes."), ToolUseBlock("c1", "read", {"p": 1}, '{"p":1}'))),
        Message("user", (ToolResultBlock("c1", "no such file", is_error=True), TextBlock("Well?"))),
    )

    assert turns_of(chat) == [
        Turn("Read a.py", 'Yes.\n\n`Call of the tool read`:\n```json\n{"p":1}\n```'),
        Turn("`Result of the tool read`:\n```\nError: no such file\n```\n\nWell?"),
    ]


def test_provider_specific_blocks_are_dropped():
    answer = (
        ThinkingBlock("hm", origin=HERE),
        TextBlock("Uno", origin=HERE),
        RedactedThinkingBlock("x"),
        OtherBlock("search", "y"),
        TextBlock(", due"),
    )

    assert turns_of(make_request(Message.user("One"), Message("assistant", answer), Message.user("Two")))[
        0
    ] == Turn("One", "Uno, due")


@pytest.mark.requirement("language-server:second-turn")
def test_the_fingerprint_ignores_how_answers_are_trimmed_and_split():
    system = "Be terse."
    before = turns_of(make_request(Message.user("One"), system=system))
    kept = fingerprint([Turn(before[0].request, "\nUno, due\n")])
    parts = Message("assistant", (ThinkingBlock("hm"), TextBlock("Uno, "), TextBlock("due")))
    after = turns_of(make_request(Message.user("One"), parts, Message.user("Two"), system=system))

    assert fingerprint(after[:-1]) == kept


@pytest.mark.requirement("language-server:second-turn-other")
@pytest.mark.parametrize(
    "other",
    [
        make_request(Message.user("One"), Message.assistant("Uno, due"), Message.user("Two")),
        make_request(Message.user("One"), Message.assistant("Uno"), Message.user("Two"), system="Be terse."),
        make_request(
            Message.user("One."), Message.assistant("Uno, due"), Message.user("Two"), system="Be terse."
        ),
        make_request(
            Message("user", (TextBlock("One"), ImageBlock("QUJD"))),
            Message.assistant("Uno, due"),
            Message.user("Two"),
            system="Be terse.",
        ),
    ],
    ids=["another system prompt", "another answer", "another question", "an image"],
)
def test_another_chat_has_another_fingerprint(other):
    same = make_request(
        Message.user("One"), Message.assistant("Uno, due"), Message.user("Two"), system="Be terse."
    )

    assert fingerprint(turns_of(other)[:-1]) != fingerprint(turns_of(same)[:-1])


def test_text_turns_omit_images_and_the_system_prompt():
    message = Message("user", (TextBlock("Look"), ImageBlock("QUJD"), TextBlock("here")))

    assert as_text_turns(make_request(message, system="S")) == [("Look\n\nhere", None)]
