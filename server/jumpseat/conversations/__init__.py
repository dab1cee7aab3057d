"""Kept conversations: a record of chats.

Only ACP sessions are restored from it. In any other chat, the client sends all messages itself.
"""

from typing import TYPE_CHECKING

from jumpseat.system.lazy_package import make_lazy_getattr

if TYPE_CHECKING:
    from jumpseat.conversations.branches import KeptSession
    from jumpseat.conversations.changes import Change
    from jumpseat.conversations.directories import conversations_directory
    from jumpseat.conversations.files import UnknownConversationError, is_id, new_id
    from jumpseat.conversations.library import ConversationLibrary
    from jumpseat.conversations.prune import Limits
    from jumpseat.conversations.records import BegunTurn, NewTurn
    from jumpseat.conversations.rows import KeptConversation, Row
    from jumpseat.conversations.store import ConversationStore

__all__ = [
    "BegunTurn",
    "Change",
    "ConversationLibrary",
    "ConversationStore",
    "KeptConversation",
    "KeptSession",
    "Limits",
    "NewTurn",
    "Row",
    "UnknownConversationError",
    "conversations_directory",
    "is_id",
    "new_id",
]

# A daemon that does not save conversations starts without importing the store.
__getattr__ = make_lazy_getattr(
    __name__,
    {
        "directories": "conversations_directory",
        "files": "UnknownConversationError is_id new_id",
        "library": "ConversationLibrary",
        "prune": "Limits",
        "records": "BegunTurn NewTurn",
        "branches": "KeptSession",
        "rows": "KeptConversation Row",
        "changes": "Change",
        "store": "ConversationStore",
    },
)
