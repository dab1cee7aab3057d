"""Kept conversations: lists, abbreviated ids, and the conversation that a chat continues."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from jumpseat_cli.daemon.session import CLIENT_NAME
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError, RequestFailed

MAX_PAGE_SIZE = 200
LIST_HINT = "Run `jumpseat conversations` to list the kept conversations."
MAX_IDS_NAMED = 5
"""How many conversations the error for an ambiguous id lists at most."""

_REQUEST_ERROR = 1004
"""The daemon's error code for an unknown id."""


FindContinued: TypeAlias = Callable[[Client], Awaitable[Mapping[str, Any]]]
"""Returns a kept conversation, or raises a ClientError."""


class RowsFound(NamedTuple):
    """Rows of `conversations/list`, most recently changed first."""

    rows: list[dict[str, Any]]
    has_more: bool
    """Whether rows were left out because of the limit."""


class NotFound(ClientError):  # noqa: N818 - reads as what happened
    """An id matches no kept conversation, or several."""

    hint = LIST_HINT


class NothingToContinue(ClientError):  # noqa: N818 - reads as what happened
    """There is no conversation that the command line kept in this directory."""

    hint = LIST_HINT

    def __init__(self) -> None:
        super().__init__("There is no conversation in this directory to continue.")


async def list_rows(
    client: Client, *, cwd: str | None = None, query: str | None = None, limit: int | None = None
) -> RowsFound:
    """List kept conversations, each once; without a limit, list all of them."""
    rows: dict[str, dict[str, Any]] = {}
    cursor = None
    while limit is None or len(rows) < limit:
        size = MAX_PAGE_SIZE if limit is None else min(limit - len(rows), MAX_PAGE_SIZE)
        page = await client.list_conversations(cwd=cwd, query=query, limit=size, cursor=cursor)
        rows.update((row["id"], row) for row in page["conversations"])
        cursor = page.get("nextCursor")
        if cursor is None:
            break
    return RowsFound(list(rows.values()), cursor is not None)


async def find_conversation(client: Client, name: str) -> dict[str, Any]:
    """Return the kept conversation with this id, or the only one whose id starts or ends with it.

    Raises:
        ClientError: the id matches none, or several.
    """
    (found,) = await find_conversations(client, [name])
    return found if "messages" in found else await client.get_conversation(found["id"])


async def find_conversations(client: Client, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the conversations with these ids, each once.

    For the start or the end of an id, only the conversation's row is returned, without the messages.

    Raises:
        ClientError: an id matches none, or several.
    """
    found: dict[str, dict[str, Any]] = {}
    rows: list[dict[str, Any]] | None = None
    faults: list[str] = []
    for name in names:
        kept = await _get_or_none(client, name)
        if kept is not None:
            found[kept["id"]] = kept
            continue
        if rows is None:
            rows = (await list_rows(client)).rows
        fitting = [row for row in rows if name and (row["id"].startswith(name) or row["id"].endswith(name))]
        if len(fitting) == 1:
            found[fitting[0]["id"]] = fitting[0]
        else:
            faults.append(_describe_fault(name, fitting))
    if faults:
        raise NotFound(" ".join(faults))
    return list(found.values())


async def _get_or_none(client: Client, name: str) -> dict[str, Any] | None:
    try:
        return await client.get_conversation(name)
    except RequestFailed as error:
        if error.code != _REQUEST_ERROR:
            raise
        return None


def _describe_fault(name: str, fitting: Sequence[Mapping[str, Any]]) -> str:
    if not fitting:
        return f"There is no kept conversation {name!r}."
    ids = [row["id"] for row in fitting[:MAX_IDS_NAMED]]
    more = f" and {len(fitting) - len(ids)} more" if len(fitting) > len(ids) else ""
    return f"{name!r} matches {len(fitting)} kept conversations: {', '.join(ids)}{more}."


def choose_continued(conversation_id: str | None, *, uses_last: bool) -> FindContinued | None:
    """Return a function that looks up the conversation to continue; None if the chat starts a new one.

    Args:
        conversation_id: the id on the command line, which may be abbreviated.
        uses_last: whether to continue the last conversation in this directory.
    """
    if conversation_id is not None:
        return lambda client: find_conversation(client, conversation_id)
    return _find_last_conversation if uses_last else None


async def _find_last_conversation(client: Client) -> dict[str, Any]:
    """Return the command line's most recently changed conversation in or below this directory."""
    cursor = None
    while True:
        page = await client.list_conversations(cwd=".", limit=MAX_PAGE_SIZE, cursor=cursor)
        for row in page["conversations"]:
            if row.get("client") == CLIENT_NAME:
                return await client.get_conversation(row["id"])
        cursor = page.get("nextCursor")
        if cursor is None:
            raise NothingToContinue
