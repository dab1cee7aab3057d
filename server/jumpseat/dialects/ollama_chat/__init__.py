"""Ollama's native dialect (`POST /api/chat`), not one of the three that it is compatible with."""

from jumpseat.dialects.ollama_chat.decode import OllamaChatDecoder
from jumpseat.dialects.ollama_chat.encode import LEVELS, ServerFacts, encode, losses

__all__ = ["LEVELS", "OllamaChatDecoder", "ServerFacts", "encode", "losses"]
