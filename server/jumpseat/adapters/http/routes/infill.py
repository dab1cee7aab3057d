"""The routes of infill requests, in which the model fills in text between two given texts.

Sources: see `dialects/infill/encode.py`; vLLM's error for `suffix`; OpenAI's error for a chat model.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from jumpseat.adapters.base import Replan
from jumpseat.adapters.http.attempt import Prepared, Route
from jumpseat.adapters.http.refusals import unknown_model_error
from jumpseat.chat import ChatError, ChatRequest, InfillUnsupportedError
from jumpseat.dialects import ProviderFault, clean_message
from jumpseat.dialects.infill import (
    InfillDecoder,
    encode_llama,
    encode_ollama,
    encode_openai,
    read_llama_piece,
    read_ollama_piece,
    read_openai_piece,
)
from jumpseat.dialects.ollama_chat import ServerFacts
from jumpseat.http import Refine

_INFILL = re.compile(r"\b(suffix|insert|infill|fim)\b", re.IGNORECASE)
"""Matches a word in errors about filling in text."""


class InfillRoute(Route):
    """A route that does not learn from refusals, because they mean that the model cannot fill in."""

    def _refine(self, request: ChatRequest, body: Mapping[str, Any]) -> Refine:
        return refine_infill(self._provider, request.model)


class CompletionsRoute(InfillRoute):
    """OpenAI's `/completions` at one endpoint, or `/infill` if the server turns out to be llama.cpp."""

    def __init__(self, provider: str, path: str) -> None:
        """
        Args:
            provider: the configured provider's id.
            path: the path below the base URL.
        """
        super().__init__(provider)
        self.path = path
        self.is_llama = False
        """Whether the server is llama.cpp, whose `/completions` ignores the suffix."""

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request."""
        body = encode_llama(request) if self.is_llama else encode_openai(request)
        read_piece = read_llama_piece if self.is_llama else read_openai_piece
        decoder = InfillDecoder(self._provider, request.model, read_piece)
        check = partial(self._check_server, request.model) if "suffix" in body else None
        return Prepared(body, (), decoder, self._refine(request, body), on_headers=check)

    def _check_server(self, model: str, headers: Mapping[str, str]) -> None:
        if headers.get("server", "").lower().startswith("llama.cpp"):
            self.is_llama, self.path = True, "/infill"
            raise Replan("infill_endpoint", InfillUnsupportedError.of(self._provider, model))


class OllamaInfillRoute(InfillRoute):
    """Ollama's `/api/generate` at one server."""

    path = "/api/generate"

    def __init__(self, provider: str, facts_of: Callable[[str], ServerFacts]) -> None:
        """
        Args:
            provider: the configured provider's id.
            facts_of: returns the server's current facts for a model.
        """
        super().__init__(provider)
        self._facts_of = facts_of

    def prepare(self, request: ChatRequest) -> Prepared:
        """Encode a request."""
        body = encode_ollama(request, self._facts_of(request.model))
        decoder = InfillDecoder(self._provider, request.model, read_ollama_piece)
        return Prepared(body, (), decoder, self._refine(request, body))


def refine_infill(provider: str, model: str) -> Refine:
    """Return a function that recognises errors about an unknown model, or about unsupported infill."""

    def refine(fault: ProviderFault, error: ChatError) -> Exception:
        unknown = unknown_model_error(fault, error, provider, model)
        if unknown is not None:
            return unknown
        lacks_path = error.status_code in (404, 405, 501)
        if lacks_path or (error.status_code in (400, 422) and _INFILL.search(fault.message)):
            words = clean_message(fault.message)
            return InfillUnsupportedError.of(provider, model, words, status_code=error.status_code)
        return error

    return refine
