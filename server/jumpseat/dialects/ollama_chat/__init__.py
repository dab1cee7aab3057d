"""Ollama's native dialect (`POST /api/chat`), as opposed to the three others that it also supports."""

from jumpseat.dialects.ollama_chat.decode import OllamaChatDecoder
from jumpseat.dialects.ollama_chat.encode import LEVELS, ServerFacts, encode, find_losses

__all__ = ["LEVELS", "OllamaChatDecoder", "ServerFacts", "encode", "find_losses"]
