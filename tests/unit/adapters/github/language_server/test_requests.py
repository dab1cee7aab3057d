"""Requests of the Copilot language server to an editor, and their answers."""

import logging

import pytest

from jumpseat.adapters.github.language_server.requests import answer
from jumpseat.wire import RpcError

pytestmark = pytest.mark.requirement("language-server:requests")

ANSWERS = [
    # The first two answers are pairs of a result and an error. `workspace/configuration` gets a list.
    ("conversation/context", {"skillId": "current-editor"}, [None, None]),
    ("conversation/invokeClientToolConfirmation", {"name": "x"}, [{"result": "dismiss"}, None]),
    ("copilot/watchedFiles", {"partialResultToken": "t"}, {"files": []}),
    ("workspace/configuration", {"items": [{"section": "a"}, {"section": "b"}]}, [None, None]),
    ("workspace/configuration", {"items": 7}, []),
    ("workspace/workspaceFolders", None, []),
    ("workspace/findFiles", {}, {"uris": []}),
    ("workspace/findTextInFiles", {}, {"matches": []}),
    ("workspace/readDirectory", {}, {"entries": []}),
    ("workspace/applyEdit", {"edit": {}}, {"applied": False}),
    ("window/showMessageRequest", {"type": 3, "message": "Hi", "actions": []}, None),
    ("window/workDoneProgress/create", {"token": 1}, None),
    ("client/registerCapability", {"registrations": []}, None),
    ("client/unregisterCapability", {"unregisterations": []}, None),
]


@pytest.mark.parametrize(("method", "params", "expected"), ANSWERS)
async def test_a_request_gets_the_answer_of_an_editor_without_windows(method, params, expected):
    assert await answer(method, params) == expected


async def test_a_tool_is_not_run():
    (result, error) = await answer("conversation/invokeClientTool", {"name": "run_in_terminal"})

    assert error is None
    assert result["status"] == "error"
    assert all(isinstance(part["value"], str) for part in result["content"])


async def test_pages_and_messages_are_logged_instead_of_shown(caplog):
    caplog.set_level(logging.INFO)

    # If the answer were false, the server would open a browser itself.
    assert await answer("window/showDocument", {"uri": "https://example.com/\x1b[31mx"}) == {"success": True}
    await answer("window/showMessageRequest", {"message": "Please\nread this."})
    await answer("window/showMessageRequest", {"message": "gho_abcdefghijklmnop1234"})

    assert "wants to show https://example.com/x" in caplog.text
    assert "message of the language server: Please read this." in caplog.text
    assert "gho_" not in caplog.text


@pytest.mark.parametrize("method", ["workspace/readFile", "mcp/elicitation", "copilot/token"])
async def test_an_unknown_method_is_refused(method):
    with pytest.raises(RpcError) as caught:
        await answer(method, {})

    assert caught.value.code == -32601
