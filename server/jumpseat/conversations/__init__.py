"""Kept conversations: a record beside the chats, never the source of a chat's context."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jumpseat.conversations.directories import conversations_directory
    from jumpseat.conversations.files import is_id, new_id
    from jumpseat.conversations.library import ConversationLibrary
    from jumpseat.conversations.records import BegunTurn, NewTurn
    from jumpseat.conversations.rows import Kept, Row
    from jumpseat.conversations.store import Change, ConversationStore, UnknownConversationError

_MODULES = {
    "BegunTurn": "records",
    "Change": "store",
    "ConversationLibrary": "library",
    "ConversationStore": "store",
    "Kept": "rows",
    "NewTurn": "records",
    "Row": "rows",
    "UnknownConversationError": "store",
    "conversations_directory": "directories",
    "is_id": "files",
    "new_id": "files",
}

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


def __getattr__(name: str) -> Any:
    # Deferred: a daemon that keeps nothing starts without the store.
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
