"""The headers of a request to Copilot.

`user-agent` identifies jumpseat as a third-party client. `editor-version` names the attached editor. The
integration id is the one that the service requires of clients without a contract. The provider's table can
replace the editor version and the integration id. Source: the Copilot API, request headers.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from typing import Any

import jumpseat
from jumpseat.adapters.base import ClientInfo
from jumpseat.adapters.github.copilot.bearer import Bearer
from jumpseat.adapters.github.copilot.options import CopilotOptions
from jumpseat.chat import ChatRequest
from jumpseat.chat.media import list_media
from jumpseat.dialects.anthropic_messages.models import family_and_version

API_VERSION = "2026-08-01"
"""The version of the data plane's API, which determines the shape of prices.

`models` also reads prices in the shape of older versions. The REST host has its own versions.
"""

ANTHROPIC_VERSION = "2023-06-01"
INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
"""The beta feature with which Claude 4 to 4.5 think between tool calls; newer models do so without it."""

INTEGRATION_ID = "vscode-chat"
INTEGRATION_ID_OF_PERSONAL_TOKENS = "copilot-developer-cli"
"""The only integration id that the service accepts with personal access tokens."""

_OUR_NAME = f"jumpseat/{jumpseat.__version__}"
_EDITOR_NAMES = {"neovim": "Neovim", "emacs": "Emacs", "visual studio code": "vscode"}
_INVALID_CHARACTERS = re.compile(r"[^A-Za-z0-9!#$%&'*+.^_`|~-]+")
_CONVERSATION_NAMESPACE = uuid.UUID("7a3a6d0e-64c2-5b0b-9a7f-3d1f5f1f7d55")


def identity_headers(options: CopilotOptions, client: ClientInfo | None) -> dict[str, str]:
    """Return the client's identity, for requests to the data plane and for token exchanges.

    Args:
        options: the provider's options; `editor_version` and `integration_id` are used.
        client: the attached client.
    """
    return {
        "user-agent": _OUR_NAME,
        "editor-version": options.editor_version or editor_version(client),
        "editor-plugin-version": _OUR_NAME,
        "copilot-integration-id": options.integration_id or INTEGRATION_ID,
    }


def editor_version(client: ClientInfo | None) -> str:
    """Return `name/version` of the attached client, or of jumpseat if no client is known."""
    if client is None or not client.name.strip():
        return _OUR_NAME
    known = _EDITOR_NAMES.get(client.name.strip().lower(), client.name)
    name = _INVALID_CHARACTERS.sub("-", known).strip("-") or "unknown"
    version = _INVALID_CHARACTERS.sub("-", client.version or "").strip("-") or "0"
    return f"{name}/{version}"


def with_bearer(headers: Mapping[str, str], bearer: Bearer, options: CopilotOptions) -> dict[str, str]:
    """Return the headers with a bearer, a request id, and the integration id that the bearer requires.

    They may be sent only to the bearer's data host.
    """
    token = bearer.token.reveal()
    result = {**headers, "authorization": f"Bearer {token}", "x-request-id": str(uuid.uuid4())}
    if token.startswith("github_pat_") and options.integration_id is None:
        result["copilot-integration-id"] = INTEGRATION_ID_OF_PERSONAL_TOKENS
    return result


def chat_headers(request: ChatRequest) -> dict[str, str]:
    """Return the headers that describe a chat, on every route."""
    # `x-initiator` decides whether the request is billed: only the first request of a user's turn is marked
    # `user`. A request that was refused for its form or its token was not billed, so when it is repeated, it
    # is marked `user` again.
    initiator = request.effective_initiator()
    intent = "conversation-panel" if initiator == "user" else "conversation-agent"
    headers = {"x-initiator": initiator, "openai-intent": intent, "x-interaction-type": intent}
    if request.conversation_id:
        # The id is constant for the whole conversation and reveals nothing about it.
        headers["x-interaction-id"] = str(uuid.uuid5(_CONVERSATION_NAMESPACE, request.conversation_id))
    if any(block.type == "image" for block in list_media(request.messages)):
        # The service requires this as long as an image is anywhere in the history.
        headers["copilot-vision-request"] = "true"
    return headers


def messages_headers(body: Mapping[str, Any], betas: str | None) -> dict[str, str]:
    """Return the headers for Anthropic's Messages API.

    Args:
        body: the request's body.
        betas: the configured `anthropic-beta`.
    """
    headers = {"anthropic-version": ANTHROPIC_VERSION}
    named = [beta.strip() for beta in (betas or "").split(",") if beta.strip()]
    known = family_and_version(body["model"])
    if body.get("tools") and known is not None and (4, 0) <= known[1] <= (4, 5):
        named.append(INTERLEAVED_THINKING)
    return {**headers, "anthropic-beta": ",".join(dict.fromkeys(named))} if named else headers
