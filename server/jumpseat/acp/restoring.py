"""Restores a kept conversation with its choices, usage and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_args

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.models import resolve_choice
from jumpseat.acp.turns import report_usage
from jumpseat.chat import ThinkingLevel

if TYPE_CHECKING:
    from jumpseat.conversations import KeptSession


def restore(client: AcpClient, conversation: AcpConversation, kept: KeptSession) -> None:
    """Restore the state that the conversation had at the end of its last turn."""
    conversation.branch = kept.conversation.row.id
    conversation.messages = tuple(kept.conversation.messages)
    conversation.cost = kept.cost
    choices = _choices_of_other_client(kept) if kept.choices is None else kept.choices
    conversation.system = choices.get("system")
    model = choices.get("model")
    if model is not None and _is_configured(client, model):
        conversation.model = model
    thinking = choices.get("thinking")
    conversation.thinking = next((level for level in get_args(ThinkingLevel) if level == thinking), None)
    conversation.settings = {provider: dict(each) for provider, each in choices.get("settings", {}).items()}


def _choices_of_other_client(kept: KeptSession) -> Mapping[str, Any]:
    """Return the choices that the last turn implies, if a client of another protocol kept that turn."""
    whole, model = kept.conversation, kept.conversation.row.model or ""
    return {
        "model": model or None,
        "system": whole.system,
        "settings": {model.partition(":")[0]: whole.settings},
    }


def _is_configured(client: AcpClient, model: str) -> bool:
    return model.partition(":")[0] in client.registry.ids


async def report_kept_usage(client: AcpClient, conversation: AcpConversation, kept: KeptSession) -> None:
    """Send how much context the last turn used, and the cost of all turns."""
    target = await resolve_choice(client.registry, kept.conversation.row.model)
    if target is not None and kept.usage is not None:
        report_usage(client, conversation, target.provider, target.model, kept.usage)
