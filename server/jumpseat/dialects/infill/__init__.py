"""The formats in which models fill in text at a place, given the texts before and after that place."""

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
