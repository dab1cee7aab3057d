"""The formats in which models fill in the middle of a text, from the texts before and after the place."""

from jumpseat.dialects.infill.decode import (
    InfillDecoder,
    read_llama_piece,
    read_ollama_piece,
    read_openai_piece,
)
from jumpseat.dialects.infill.encode import encode_llama, encode_ollama, encode_openai

__all__ = [
    "InfillDecoder",
    "encode_llama",
    "encode_ollama",
    "encode_openai",
    "read_llama_piece",
    "read_ollama_piece",
    "read_openai_piece",
]
