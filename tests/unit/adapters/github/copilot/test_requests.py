"""Headers of requests to Copilot, and the adaptation of requests to a model."""

from __future__ import annotations

import pytest

from jumpseat import __version__
from jumpseat.adapters.base import ClientInfo
from jumpseat.adapters.github.copilot.bearer import Bearer
from jumpseat.adapters.github.copilot.fitting import NOTE, fit_request
from jumpseat.adapters.github.copilot.headers import (
    INTERLEAVED_THINKING,
    chat_headers,
    editor_version,
    identity_headers,
    messages_headers,
    with_bearer,
)
from jumpseat.adapters.github.copilot.options import CopilotOptions
from jumpseat.chat import (
    ChatRequest,
    ImageBlock,
    Message,
    ModelInfo,
    RequestError,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.system.secrets import Secret

OURS = f"jumpseat/{__version__}"
CALL = Message("assistant", (ToolUseBlock("c", "f", {}, "{}"),))
RESULT = Message("user", (ToolResultBlock("c", "done"),))


def request(*messages, **more):
    return ChatRequest(messages=messages or (Message.user("Hi"),), model="m", **more)


@pytest.mark.requirement("copilot:identity")
@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (ClientInfo("Neovim", "0.11.0"), "Neovim/0.11.0"),
        (ClientInfo("neovim", "0.11.0"), "Neovim/0.11.0"),
        (ClientInfo("Visual Studio Code", "1.107.0"), "vscode/1.107.0"),
        (ClientInfo("GNU Emacs", "30.1"), "GNU-Emacs/30.1"),
        (ClientInfo("a/b\r\nx-evil: 1", "1 2"), "a-b-x-evil-1/1-2"),
        (ClientInfo("Helix"), "Helix/0"),
        (ClientInfo("  ", "1"), OURS),
        (None, OURS),
    ],
)
def test_the_client_determines_the_editor_version(client, expected):
    assert editor_version(client) == expected


@pytest.mark.requirement("copilot:identity")
def test_jumpseats_identity_is_sent_unless_another_is_configured():
    plain = identity_headers(CopilotOptions(), ClientInfo("Neovim", "0.11.0"))
    configured = identity_headers(CopilotOptions(editor_version="Acme/1", integration_id="acme"), None)

    assert plain["user-agent"] == plain["editor-plugin-version"] == OURS
    assert plain["editor-version"] == "Neovim/0.11.0"
    assert plain["copilot-integration-id"] == "vscode-chat"
    assert (configured["editor-version"], configured["copilot-integration-id"]) == ("Acme/1", "acme")


@pytest.mark.requirement("copilot:initiator")
@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (request(), "user"),
        (request(Message.user("Hi"), CALL, RESULT), "agent"),
        (request(Message.user("Hi"), Message.assistant("Yes")), "agent"),
        (request(initiator="agent"), "agent"),
        (request(Message.user("Hi"), CALL, RESULT, initiator="user"), "user"),
    ],
)
def test_only_the_first_request_of_a_users_turn_has_the_initiator_user(sent, expected):
    assert chat_headers(sent)["x-initiator"] == expected


@pytest.mark.requirement("copilot:vision-header")
def test_an_image_anywhere_in_the_history_sets_the_vision_header():
    image = Message("user", (ImageBlock("AAAA", "image/png"),))

    assert chat_headers(request(image))["copilot-vision-request"] == "true"
    later = request(image, Message.assistant("A cat."), Message.user("Sure?"))
    assert chat_headers(later)["copilot-vision-request"] == "true"
    assert "copilot-vision-request" not in chat_headers(request())


@pytest.mark.requirement("copilot:interaction-id")
def test_the_interaction_id_is_stable_and_does_not_reveal_the_conversation():
    first, second, other = (
        chat_headers(request(conversation_id=name))["x-interaction-id"] for name in ("a", "a", "b")
    )

    assert first == second != other
    assert "x-interaction-id" not in chat_headers(request())


@pytest.mark.parametrize(
    ("token", "options", "expected"),
    [
        ("tid=1", CopilotOptions(), "vscode-chat"),
        ("github_pat_11AAAA", CopilotOptions(), "copilot-developer-cli"),
        ("github_pat_11AAAA", CopilotOptions(integration_id="acme"), "acme"),
    ],
)
def test_a_personal_token_is_sent_with_the_integration_id_that_accepts_it(token, options, expected):
    credential = Bearer(Secret(token), "https://api.githubcopilot.com")

    headers = with_bearer(identity_headers(options, None), credential, options)

    assert headers["authorization"] == f"Bearer {token}"
    assert headers["copilot-integration-id"] == expected


def info(**more):
    return ModelInfo(provider="copilot", model="m", name="M", family="m", version="m", **more)


def test_a_request_is_adapted_to_the_models_limits():
    sent, warnings = fit_request(
        request(max_tokens=8192), info(max_output_tokens=4096, supports_streaming=False)
    )

    assert (sent.max_tokens, sent.stream, warnings) == (4096, False, [])
    assert fit_request(request(max_tokens=100), info(max_output_tokens=4096))[0].max_tokens == 100
    assert fit_request(request(max_tokens=9000), None)[0].max_tokens == 9000


@pytest.mark.requirement("copilot:thinking-levels")
@pytest.mark.parametrize(
    ("level", "facts", "expected", "codes"),
    [
        ("high", {"supports_thinking": False}, None, ["thinking_dropped"]),
        ("off", {"supports_thinking": False}, None, []),
        ("high", {"supports_thinking": True}, "high", []),
        ("high", {}, "high", []),
    ],
)
def test_a_thinking_level_is_left_out_if_the_model_does_not_think(level, facts, expected, codes):
    sent, warnings = fit_request(request(thinking=level), info(**facts))

    assert sent.thinking == expected
    assert [warning.code for warning in warnings] == codes


def images(count):
    return tuple(ImageBlock(f"AAA{number}", "image/png") for number in range(count))


@pytest.mark.requirement("copilot:image-limit")
def test_the_oldest_of_too_many_images_become_a_note_with_a_warning():
    first, last = images(3), images(2)
    sent, warnings = fit_request(
        request(Message("user", first), Message.assistant("Cats."), Message("user", last)),
        info(max_prompt_images=3),
    )

    assert sent.messages[0].content == [TextBlock(NOTE), TextBlock(NOTE), first[2]]
    assert tuple(sent.messages[2].content) == last
    assert [warning.code for warning in warnings] == ["images_dropped"]


@pytest.mark.requirement("copilot:image-limit")
def test_more_images_in_the_last_message_than_the_model_takes_are_an_error():
    with pytest.raises(RequestError, match="has 4 images, but m accepts at most 3"):
        fit_request(request(Message("user", images(4))), info(max_prompt_images=3))


@pytest.mark.requirement("copilot:interleaved-thinking")
@pytest.mark.parametrize(
    ("model", "tools", "configured", "expected"),
    [
        ("claude-sonnet-4", True, None, INTERLEAVED_THINKING),
        ("claude-haiku-4.5", True, None, INTERLEAVED_THINKING),
        ("claude-opus-4.5", True, "a, b", f"a,b,{INTERLEAVED_THINKING}"),
        ("claude-opus-4.5", True, INTERLEAVED_THINKING, INTERLEAVED_THINKING),
        ("claude-sonnet-4.5", False, None, None),
        ("claude-sonnet-4.6", True, None, None),
        ("claude-3.7-sonnet", True, "a", "a"),
    ],
)
def test_claude_4_to_4_5_with_tools_may_think_between_calls(model, tools, configured, expected):
    headers = messages_headers({"model": model, "tools": [{"name": "f"}] if tools else []}, configured)

    assert headers.get("anthropic-beta") == expected
    assert headers["anthropic-version"] == "2023-06-01"


@pytest.mark.requirement("2:max-tokens")
@pytest.mark.parametrize(
    ("facts", "answer_tokens", "limit"),
    [
        ({"supports_thinking": True}, 8192, 16_384),
        ({"supports_thinking": True, "max_output_tokens": 10_000}, 8192, 10_000),
        ({"supports_thinking": True}, None, 8192),
        ({"supports_thinking": False}, 8192, 8192),
    ],
)
def test_a_default_limit_has_room_for_thinking_if_the_model_is_listed_as_thinking(
    facts, answer_tokens, limit
):
    assert fit_request(request(answer_tokens=answer_tokens), info(**facts))[0].max_tokens == limit
