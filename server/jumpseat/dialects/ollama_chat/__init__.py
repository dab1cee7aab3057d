"""Ollama's native dialect (`POST /api/chat`). Ollama also supports three other dialects."""

from jumpseat.dialects.ollama_chat.decode import OllamaChatDecoder
from jumpseat.dialects.ollama_chat.encode import LEVELS, ServerFacts, encode, find_losses

__all__ = ["LEVELS", "OllamaChatDecoder", "ServerFacts", "encode", "find_losses"]
