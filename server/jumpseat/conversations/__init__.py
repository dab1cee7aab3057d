"""Kept conversations: a record beside the chats, never the source of a chat's context."""

from jumpseat.conversations.files import is_id, new_id
from jumpseat.conversations.library import ConversationLibrary
from jumpseat.conversations.records import BegunTurn, NewTurn
from jumpseat.conversations.rows import Kept, Row
from jumpseat.conversations.store import (
    Change,
    ConversationStore,
    UnknownConversationError,
    conversations_directory,
)

__all__ = [
    "BegunTurn",
    "Change",
    "ConversationLibrary",
    "ConversationStore",
    "Kept",
    "NewTurn",
    "Row",
    "UnknownConversationError",
    "conversations_directory",
    "is_id",
    "new_id",
]
