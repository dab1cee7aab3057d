"""The dialect of OpenAI's Responses API."""

from jumpseat.dialects.responses.decode import ResponsesDecoder
from jumpseat.dialects.responses.encode import ResponsesFacts, encode
from jumpseat.dialects.responses.history import (
    without_encrypted_content,
    without_item_ids,
    without_unfollowed,
)
from jumpseat.dialects.responses.refusals import find_known_refusals, find_unsupported

__all__ = [
    "ResponsesDecoder",
    "ResponsesFacts",
    "encode",
    "find_known_refusals",
    "find_unsupported",
    "without_encrypted_content",
    "without_item_ids",
    "without_unfollowed",
]
