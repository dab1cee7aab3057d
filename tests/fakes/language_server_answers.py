"""The default answers of a `FakeLanguageServer`, and functions that build the messages of scripted chats.

The shapes were taken from the Copilot language server 1.539.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from jumpseat.wire import METHOD_NOT_FOUND, RpcError

if TYPE_CHECKING:
    from tests.fakes.language_server import FakeLanguageServer

NOT_SIGNED_IN = RpcError(1000, "Not signed into GitHub.")

MODELS: Sequence[Mapping[str, Any]] = (
    {
        "id": "gpt-4.1",
        "modelName": "GPT-4.1",
        "modelFamily": "gpt-4.1",
        "vendor": "Azure OpenAI",
        "scopes": ["chat-panel", "edit-panel", "agent-panel", "inline"],
        "preview": False,
        "isChatDefault": True,
        "isChatFallback": True,
        "capabilities": {
            "supports": {"vision": True},
            "limits": {"maxContextWindowTokens": 128000, "maxOutputTokens": 16384, "maxInputTokens": 111616},
        },
        "billing": {"isPremium": False, "multiplier": 0},
    },
    {
        "id": "claude-sonnet-4.6",
        "modelName": "Claude Sonnet 4.6",
        "modelFamily": "claude-sonnet-4.6",
        "vendor": "Anthropic",
        "scopes": ["chat-panel", "agent-panel"],
        "preview": False,
        "isChatDefault": False,
        "isChatFallback": False,
        "modelPolicy": {"state": "unconfigured", "terms": "Enable access to Claude Sonnet 4.6."},
        "capabilities": {
            "supports": {
                "vision": True,
                "reasoningEfforts": ["low", "medium", "high"],
                "supportsReasoningEffortLevel": True,
            },
            "limits": {"maxContextWindowTokens": 200000, "maxOutputTokens": 32000, "maxInputTokens": 168000},
        },
        "billing": {"isPremium": True, "multiplier": 1},
    },
    {
        "id": "gpt-41-copilot",
        "modelName": "GPT-4.1 Copilot",
        "modelFamily": "gpt-4.1",
        "scopes": ["completion"],
        "preview": False,
        "isChatDefault": False,
        "isChatFallback": False,
    },
)

QUOTA: Mapping[str, Any] = {
    "chat": {"percentRemaining": 100, "unlimited": True, "overagePermitted": False},
    "completions": {"percentRemaining": 100, "unlimited": True, "overagePermitted": False},
    "premiumInteractions": {"percentRemaining": 82.5, "unlimited": False, "overagePermitted": False},
    "resetDate": "2026-12-01",
    "copilotPlan": "individual",
}

DEVICE_FLOW: Mapping[str, Any] = {
    "status": "PromptUserDeviceFlow",
    "userCode": "ABCD-1234",
    "verificationUri": "https://github.com/login/device",
    "expiresIn": 899,
    "interval": 5,
    "command": {"command": "github.copilot.finishDeviceFlow", "title": "Sign in", "arguments": []},
}

_TOOLS = [
    {"id": f"id-of-{name}", "name": name} for name in ("list_dir", "read_file", "file_search", "grep_search")
]


# -- values for $/progress


def begin(conversation: str = "conversation-1", turn: str = "turn-1") -> dict[str, Any]:
    """Return the first report of a turn."""
    return {"kind": "begin", "title": "", "conversationId": conversation, "turnId": turn, "agentSlug": ""}


def reply(text: str, **more: Any) -> dict[str, Any]:
    """Return a piece of the answer in the form of older servers."""
    return {"kind": "report", "conversationId": "conversation-1", "turnId": "turn-1", "reply": text, **more}


def round_reply(text: str, round_id: int = 1, **more: Any) -> dict[str, Any]:
    """Return a piece of the answer in the form of Ask and Agent mode."""
    return report(editAgentRounds=[{"roundId": round_id, "reply": text, "toolCalls": []}], **more)


def report(**more: Any) -> dict[str, Any]:
    """Return a report with these additional keys."""
    return {"kind": "report", "conversationId": "conversation-1", "turnId": "turn-1", **more}


def token_usage(prompt: int = 10, completion: int = 5, cached: int = 0) -> dict[str, Any]:
    """Return the report of token counts, which comes near the end."""
    counts = {"promptTokens": prompt, "completionTokens": completion, "cachedTokens": cached}
    return report(tokenUsage=counts)


def end(error: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return the last report of a turn."""
    value = {"kind": "end", "conversationId": "conversation-1", "turnId": "turn-1", **more}
    return {**value, "error": error} if error is not None else value


def turn(
    fake: FakeLanguageServer,
    *values: Mapping[str, Any] | asyncio.Event,
    result: Any = None,
) -> Callable[[Any], Awaitable[Any]]:
    """Return an answer to `conversation/create` or `conversation/turn` that sends reports, then the result.

    Args:
        fake: the server that sends the reports.
        values: the reports, and events to wait for. In the reports, the ids `conversation-1` and `turn-1`
            are replaced with the ids of the turn.
        result: any value, an `RpcError` or `NEVER`; None for the usual result.
    """

    async def answer(params: Any) -> Any:
        ids = _ids(fake, params)
        token = params["workDoneToken"]
        try:
            for value in values:
                if isinstance(value, asyncio.Event):
                    await value.wait()
                else:
                    fake.progress(token, _replace_ids(value, ids))
        except asyncio.CancelledError:
            fake.progress(token, end(**ids, cancellationReason="CancelledByUser"))
            raise
        return _turn_result(params, ids) if result is None else result

    return answer


def chat(fake: FakeLanguageServer, *pieces: str) -> Callable[[Any], Awaitable[Any]]:
    """Return an answer like that of `turn`, with these pieces of text and a normal end."""
    return turn(fake, begin(), *(round_reply(piece) for piece in pieces), token_usage(), end())


def panel_item(text: str, line: int = 0) -> dict[str, Any]:
    """Return a completion item, which replaces its line from the beginning."""
    place = {"line": line, "character": 0}
    return {
        "insertText": text,
        "range": {"start": place, "end": place},
        "command": {"command": "github.copilot.didAcceptCompletionItem", "title": "", "arguments": []},
    }


# -- the defaults


async def default(fake: FakeLanguageServer, method: str, params: Any) -> Any:
    """Return the default answer to a method."""
    found = _DEFAULTS.get(method)
    if found is None:
        raise RpcError(METHOD_NOT_FOUND, f"Unhandled method {method}")
    answer = found(fake, params)
    return await answer if isinstance(answer, Awaitable) else answer


def _initialize(fake: FakeLanguageServer, params: Any) -> Any:
    # The real server sends these before its answer.
    fake.notify("copilot/hook/didChange", {})
    fake.notify("window/logMessage", {"type": 3, "message": "starting"})
    return {
        "capabilities": {
            "textDocumentSync": {"openClose": True, "change": 2},
            "inlineCompletionProvider": {},
        },
        "serverInfo": {"name": "GitHub Copilot Language Server", "version": "1.539.0"},
    }


def _exit(fake: FakeLanguageServer, params: Any) -> None:
    if not fake.stubborn:
        fake.exit(0)


async def _shutdown(fake: FakeLanguageServer, params: Any) -> None:
    if fake.stubborn:
        await asyncio.Event().wait()


def _execute(fake: FakeLanguageServer, params: Any) -> Any:
    fake.status = {"status": "OK", "user": "octocat"}
    return fake.status


def _sign_out(fake: FakeLanguageServer, params: Any) -> Any:
    fake.status = {"status": "NotSignedIn"}
    return fake.status


def _sign_in(fake: FakeLanguageServer, params: Any) -> Any:
    if fake.status["status"] == "OK":
        return {"status": "AlreadySignedIn", "user": fake.status["user"]}
    return DEVICE_FLOW


def _when_signed_in(answer: Any) -> Callable[[FakeLanguageServer, Any], Any]:
    def answer_if_signed_in(fake: FakeLanguageServer, params: Any) -> Any:
        if fake.status["status"] != "OK":
            raise NOT_SIGNED_IN
        return answer(fake, params) if callable(answer) else answer

    return answer_if_signed_in


async def _converse(fake: FakeLanguageServer, params: Any) -> Any:
    known = params.get("conversationId")
    if known is not None and known not in fake.current.conversations:
        raise RpcError(-32603, f"Conversation with id {known} does not exist")
    asked = params["turns"][-1]["request"] if "turns" in params else params["message"]
    text = asked if isinstance(asked, str) else "".join(each.get("text", "") for each in asked)
    return await chat(fake, "You said: ", text)(params)


def _destroy(fake: FakeLanguageServer, params: Any) -> str:
    fake.current.conversations.discard(params["conversationId"])
    return "OK"


def _panel(fake: FakeLanguageServer, params: Any) -> Any:
    item = panel_item("A completion.", params["position"]["line"])
    fake.progress(params["partialResultToken"], {"items": [item]})
    return {"items": []}


def _ids(fake: FakeLanguageServer, params: Any) -> dict[str, str]:
    conversation = params.get("conversationId") or f"conversation-{fake.number('conversation')}"
    fake.current.conversations.add(conversation)
    return {"conversationId": conversation, "turnId": f"turn-{fake.number('turn')}"}


def _replace_ids(value: Mapping[str, Any], ids: Mapping[str, str]) -> dict[str, Any]:
    usual = {"conversationId": "conversation-1", "turnId": "turn-1"}
    return {key: ids[key] if key in usual and usual[key] == each else each for key, each in value.items()}


def _turn_result(params: Any, ids: Mapping[str, str]) -> dict[str, Any]:
    return {**ids, "agentSlug": "", "modelName": params.get("model"), "billingMultiplier": 0}


_DEFAULTS: Mapping[str, Callable[[FakeLanguageServer, Any], Any]] = {
    "initialize": _initialize,
    "initialized": lambda fake, params: None,
    "workspace/didChangeConfiguration": lambda fake, params: None,
    "shutdown": _shutdown,
    "exit": _exit,
    "getVersion": lambda fake, params: {"version": "1.539.0", "buildType": "prod"},
    "checkStatus": lambda fake, params: fake.status,
    "signIn": _sign_in,
    "signInConfirm": _execute,
    "signOut": _sign_out,
    "workspace/executeCommand": _execute,
    "checkQuota": _when_signed_in(QUOTA),
    "copilot/models": _when_signed_in(lambda fake, params: list(MODELS)),
    "copilot/setModelPolicy": _when_signed_in("OK"),
    "conversation/registerTools": lambda fake, params: _TOOLS,
    "conversation/unregisterTools": lambda fake, params: "OK",
    "conversation/create": _when_signed_in(_converse),
    "conversation/turn": _when_signed_in(_converse),
    "conversation/destroy": _destroy,
    "textDocument/didOpen": lambda fake, params: None,
    "textDocument/didClose": lambda fake, params: None,
    "textDocument/copilotPanelCompletion": _when_signed_in(_panel),
    "textDocument/inlineCompletion": _when_signed_in({"items": []}),
}
