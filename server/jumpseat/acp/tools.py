"""Chooses the tools of a prompt."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from jumpseat.acp.client import AcpClient
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.tool_calls import TurnCalls
from jumpseat.acp.workspace import AcpWorkspace
from jumpseat.connections.tools import begin_turn_with_tools, open_tools
from jumpseat.engine import TurnRequest
from jumpseat.engine.plan import accepts_tools
from jumpseat.providers import resolve_model
from jumpseat.tools.files.server import NAME as FILES
from jumpseat.tools.selectors import Selector
from jumpseat.tools.turn_tools import TurnTools


async def begin_tools(
    client: AcpClient, conversation: AcpConversation, request: TurnRequest, turn_id: str
) -> tuple[TurnTools, TurnCalls] | None:
    """Return the tools for a prompt, and the view of their calls; None if the model does not accept tools.

    Raises:
        ChatError: the model of the prompt cannot be found.
    """
    target = await resolve_model(client.registry, request.model)
    capabilities, _ = client.registry.capabilities(target.provider, probed=False)
    if not accepts_tools(target, capabilities):
        return None
    host = await open_tools(client)
    tools = await begin_turn_with_tools(
        client,
        _select_tools(client, conversation, {**host.servers, **conversation.servers}),
        AcpWorkspace(client, conversation),
        turn_id=turn_id,
        conversation_id=conversation.branch,
        max_rounds=None,
        can_ask=True,
        own_servers=conversation.servers,
    )
    return tools, TurnCalls(client, conversation, tools, host.approvals, turn_id)


def _select_tools(
    client: AcpClient, conversation: AcpConversation, servers: Collection[str]
) -> Sequence[str]:
    """Return the selectors of the tools that the conversation offers to the model.

    If the configuration selects tools of an unknown server, this warns the user.

    Args:
        servers: the names of all servers.
    """
    chosen = [f"{name}/*" for name in (FILES, *conversation.servers)]
    for text in client.registry.config.acp.tools:
        selector = Selector.parse(text)
        if selector is not None and selector.server in servers:
            chosen.append(text)
        else:
            problem = f"acp.tools in the configuration names {text}, but there is no such tool server."
            client.notify(conversation.id, "warning", problem)
    return chosen
