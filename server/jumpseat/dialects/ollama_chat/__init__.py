"""The dialect of POST /api/chat of Ollama: native, not one of the three that it imitates."""

from jumpseat.dialects.ollama_chat.decode import OllamaChatDecoder
from jumpseat.dialects.ollama_chat.encode import ServerFacts, encode, losses

__all__ = ["OllamaChatDecoder", "ServerFacts", "encode", "losses"]
