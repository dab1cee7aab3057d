"""The dialect of OpenAI's Responses API."""

from jumpseat.dialects.responses.decode import ResponsesDecoder
from jumpseat.dialects.responses.encode import ResponsesFacts, encode
from jumpseat.dialects.responses.history import (
    without_encrypted_content,
    without_item_ids,
    without_unfollowed,
)
from jumpseat.dialects.responses.refusals import refused_by_model, unsupported

__all__ = [
    "ResponsesDecoder",
    "ResponsesFacts",
    "encode",
    "refused_by_model",
    "unsupported",
    "without_encrypted_content",
    "without_item_ids",
    "without_unfollowed",
]
