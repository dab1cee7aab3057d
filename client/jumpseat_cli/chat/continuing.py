"""Which kept conversation a chat of the command line continues."""

from __future__ import annotations

from typing import Any

from jumpseat_cli.chat.answering import CLIENT_NAME, Continued
from jumpseat_cli.daemon.conversations import LARGEST_PAGE, LIST_HINT, find_conversation
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError


class NothingToContinue(ClientError):  # noqa: N818 - reads as what happened
    """The command line has kept no conversation in this directory."""

    hint = LIST_HINT

    def __init__(self) -> None:
        super().__init__("There is no conversation in this directory to continue.")


def continued(conversation_id: str | None, *, last: bool) -> Continued | None:
    """The kept conversation that a chat continues, for `ask`; None if it begins a new one."""
    if conversation_id is not None:
        return lambda client: find_conversation(client, conversation_id)
    return _last_conversation if last else None


async def _last_conversation(client: Client) -> dict[str, Any]:
    """The conversation of the command line that changed last in this directory or below it."""
    cursor = None
    while True:
        page = await client.list_conversations(cwd=".", limit=LARGEST_PAGE, cursor=cursor)
        for row in page["conversations"]:
            if row.get("client") == CLIENT_NAME:
                return await client.get_conversation(row["id"])
        cursor = page.get("nextCursor")
        if cursor is None:
            raise NothingToContinue
