"""The params of the methods for kept conversations."""

# Do not add `from __future__ import annotations`: pydantic would have to compile the text of each annotation.
from typing import Annotated

from pydantic import Field

from jumpseat.connections.param_model import Params


class ConversationsListParams(Params):
    """`conversations/list`."""

    cwd: Annotated[str, Field(min_length=1)] | None = None
    query: str | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 50
    cursor: str | None = None


class ConversationParams(Params):
    """`conversations/get` and `conversations/delete`."""

    id: str


class ConversationForkParams(ConversationParams):
    """`conversations/fork`."""

    messages: Annotated[int, Field(ge=1)] | None = None


class ConversationRenameParams(ConversationParams):
    """`conversations/rename`."""

    title: Annotated[str, Field(min_length=1)]


class SuggestTitleParams(ConversationParams):
    """`conversations/suggestTitle`."""

    model: Annotated[str, Field(min_length=1)] | None = None
