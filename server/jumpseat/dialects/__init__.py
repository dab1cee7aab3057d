"""The wire formats that models speak, as pure functions: requests encoded, answers decoded.

No network, no credentials, no provider names: an adapter brings those. Public for plug-ins, and kept
stable: a new dialect needs `Decoder`, `BlockAssembler` and `render_context`, and nothing else of ours.
"""

from jumpseat.dialects.arguments import parse_arguments
from jumpseat.dialects.assembly import BlockAssembler
from jumpseat.dialects.base import Decoder
from jumpseat.dialects.context_text import render_context
from jumpseat.dialects.provider_errors import ProviderFault, error_from_fault, plain_words, read_fault

__all__ = [
    "BlockAssembler",
    "Decoder",
    "ProviderFault",
    "error_from_fault",
    "parse_arguments",
    "plain_words",
    "read_fault",
    "render_context",
]
