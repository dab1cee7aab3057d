"""Sends the messages of a loaded conversation to the client."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from uuid import uuid4

from jumpseat.acp.client import AcpClient
from jumpseat.acp.content import encode_block
from jumpseat.acp.conversation import AcpConversation
from jumpseat.acp.tool_calls import encode_result
from jumpseat.acp.updates import ANSWER, QUESTION, THOUGHT
from jumpseat.chat import Message, ThinkingBlock, ToolKind, ToolResultBlock, ToolUseBlock
from jumpseat.connections.tools import open_tools
from jumpseat.tools.display import make_title, show_arguments, summarize_call
from jumpseat.tools.turn_tools import DAEMON


async def replay(client: AcpClient, conversation: AcpConversation) -> None:
    """Send the messages of a conversation to the client."""
    sender = _MessageSender(client, conversation, await _find_kinds(client, conversation.messages))
    for message in conversation.messages:
        sender.send(message)
        await client.outbox.wait_until_ready()


async def _find_kinds(client: AcpClient, messages: Iterable[Message]) -> Mapping[str, ToolKind]:
    """Return the kinds of the known tools, by `server/tool`; empty if the daemon ran no tool."""
    if not any(_list_tools(message) for message in messages):
        return {}
    servers = (await open_tools(client)).servers.values()
    return {f"{server.name}/{tool.name}": tool.kind for server in servers for tool in server.known_tools}


def _list_tools(message: Message) -> dict[str, str]:
    """Return the tools that the daemon ran for a message, as `server/tool`, by the id of the call.

    The origin of such a result has the tool's name in place of a model.
    """
    return {
        block.tool_use_id: block.origin.model
        for block in message.content
        if isinstance(block, ToolResultBlock) and block.origin is not None and block.origin.provider == DAEMON
    }


class _MessageSender:
    def __init__(
        self, client: AcpClient, conversation: AcpConversation, kinds: Mapping[str, ToolKind]
    ) -> None:
        self._client = client
        self._conversation = conversation
        self._kinds = kinds
        self._ids: dict[str, str] = {}
        """The id that `make_call_id` returned for each call, by the provider's id of the call."""

    def send(self, message: Message) -> None:
        message_id, tools = str(uuid4()), _list_tools(message)
        for block in message.content:
            match block:
                case ToolUseBlock():
                    self._send_call(block, tools.get(block.id))
                case ToolResultBlock():
                    self._update(
                        "tool_call_update",
                        toolCallId=self._ids.get(block.tool_use_id, block.tool_use_id),
                        **encode_result(block),
                    )
                    message_id = str(uuid4())
                case ThinkingBlock():
                    content = {"type": "text", "text": block.thinking}
                    self._update(THOUGHT, messageId=message_id, content=content)
                case _:
                    if (shown := encode_block(block)) is not None:
                        kind = QUESTION if message.role == "user" else ANSWER
                        self._update(kind, messageId=message_id, content=shown)

    def _send_call(self, block: ToolUseBlock, tool: str | None) -> None:
        arguments, title = block.arguments or {}, block.name
        if tool is not None:
            server, _, name = tool.partition("/")
            title = summarize_call(server, name, arguments)
        call_id = self._ids[block.id] = self._conversation.make_call_id(block.id)
        self._update(
            "tool_call",
            toolCallId=call_id,
            title=make_title(title),
            kind=self._kinds.get(tool or "", "other"),
            status="completed",
            rawInput=show_arguments(arguments),
        )

    def _update(self, variant: str, **fields: object) -> None:
        self._client.update(self._conversation.id, variant, **fields)
