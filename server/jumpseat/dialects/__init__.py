"""The wire formats of model APIs: pure functions that encode requests and decode answers.

This is a stable, public API for plug-ins. A new dialect needs only `Decoder`, `BlockAssembler` and
`render_context`.
"""

from typing import TYPE_CHECKING

from jumpseat.system.lazy_package import make_lazy_getattr

if TYPE_CHECKING:
    from jumpseat.dialects.arguments import parse_arguments
    from jumpseat.dialects.assembly import BlockAssembler
    from jumpseat.dialects.base import Decoder
    from jumpseat.dialects.context_text import render_context
    from jumpseat.dialects.provider_errors import ProviderFault, clean_message, error_from_fault, read_fault

__all__ = [
    "BlockAssembler",
    "Decoder",
    "ProviderFault",
    "clean_message",
    "error_from_fault",
    "parse_arguments",
    "read_fault",
    "render_context",
]

# These names are imported on first use, because the daemon does not need them to start.
__getattr__ = make_lazy_getattr(
    __name__,
    {
        "arguments": "parse_arguments",
        "assembly": "BlockAssembler",
        "base": "Decoder",
        "context_text": "render_context",
        "provider_errors": "ProviderFault clean_message error_from_fault read_fault",
    },
)
