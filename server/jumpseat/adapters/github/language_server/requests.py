"""Answers the requests that the Copilot language server sends to its client, usually an editor.

The daemon offers the server no files and no tools, so most results are empty. Source: the requests of
`@github/copilot-language-server` 1.539. The result of a `conversation/…` method is a pair `[result, error]`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from jumpseat.adapters.github.language_server.words import clean_text
from jumpseat.wire import METHOD_NOT_FOUND, RpcError

logger = logging.getLogger(__name__)

NO_TOOLS = "This client runs no tools."


async def answer(method: str, params: Any) -> Any:
    """Answer a request of the server.

    Raises:
        RpcError: the method is unknown (-32601).
    """
    respond = _ANSWERS.get(method)
    if respond is None:
        logger.debug("the language server requested %s, which is not supported", method)
        raise RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
    return respond(params if isinstance(params, Mapping) else {})


def _answer_configuration(params: Mapping[str, Any]) -> list[None]:
    items = params.get("items")
    return [None] * len(items) if isinstance(items, list) else []


def _answer_message(params: Mapping[str, Any]) -> None:
    # The message has buttons, which no client can show, so it is only logged.
    logger.info("message of the language server: %s", clean_text(str(params.get("message", ""))))


def _answer_document(params: Mapping[str, Any]) -> dict[str, bool]:
    # Report success: otherwise the server opens a browser itself.
    logger.info("the language server wants to show %s", clean_text(str(params.get("uri", ""))))
    return {"success": True}


# Each of these methods needs a result: with an error, or without a response, the turn would end or stall.
_ANSWERS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "conversation/context": lambda _: [None, None],
    "conversation/invokeClientTool": lambda _: [
        {"status": "error", "content": [{"value": NO_TOOLS}]},
        None,
    ],
    "conversation/invokeClientToolConfirmation": lambda _: [{"result": "dismiss"}, None],
    "copilot/watchedFiles": lambda _: {"files": []},
    "workspace/configuration": _answer_configuration,
    "workspace/workspaceFolders": lambda _: [],
    "workspace/findFiles": lambda _: {"uris": []},
    "workspace/findTextInFiles": lambda _: {"matches": []},
    "workspace/readDirectory": lambda _: {"entries": []},
    "workspace/applyEdit": lambda _: {"applied": False},
    "window/showMessageRequest": _answer_message,
    "window/showDocument": _answer_document,
    "window/workDoneProgress/create": lambda _: None,
    "client/registerCapability": lambda _: None,
    "client/unregisterCapability": lambda _: None,
}
