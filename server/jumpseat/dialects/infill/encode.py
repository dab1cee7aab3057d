"""Encodes requests to fill in the middle of a text.

Sources: the API references of OpenAI (POST /completions), Mistral (/fim/completions) and Ollama
(/api/generate), the `GenerateHandler` of Ollama's server, and the README of llama.cpp's server (/infill).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jumpseat.chat import ChatRequest, Infill
from jumpseat.dialects.ollama_chat import ServerFacts
from jumpseat.dialects.ollama_chat.encode import TOP_LEVEL

TEMPERATURE = 0
"""Selects the most probable text, so that the same place always gets the same completion."""


def encode_openai(request: ChatRequest) -> dict[str, Any]:
    """Return the JSON body for `/completions`, and for Mistral's `/fim/completions`."""
    place = _place_of(request)
    body: dict[str, Any] = {
        "model": request.model,
        "prompt": place.prefix,
        "max_tokens": request.max_tokens,
        "temperature": TEMPERATURE,
        "stream": request.stream,
    }
    # Omit an empty suffix, because some servers do not support the parameter.
    if place.suffix:
        body["suffix"] = place.suffix
    return _with_stop(body, request)


def encode_llama(request: ChatRequest) -> dict[str, Any]:
    """Return the JSON body for llama.cpp's `/infill`."""
    place = _place_of(request)
    body = {
        "model": request.model,
        "input_prefix": place.prefix,
        "input_suffix": place.suffix,
        "n_predict": request.max_tokens,
        "temperature": TEMPERATURE,
        "stream": request.stream,
    }
    return _with_stop(body, request)


def encode_ollama(request: ChatRequest, facts: ServerFacts) -> dict[str, Any]:
    """Return the JSON body for Ollama's `/api/generate`.

    The options of the provider's table are sent too. If the context size or the number of layers differed
    from those of the provider's chats, the server would load the model again.
    """
    place = _place_of(request)
    options: dict[str, Any] = {"num_predict": request.max_tokens, "temperature": TEMPERATURE}
    if facts.num_ctx is not None:
        options["num_ctx"] = facts.num_ctx
    options |= {name: value for name, value in facts.parameters.items() if name not in TOP_LEVEL}
    configured = facts.parameters.get("options")
    options |= configured if isinstance(configured, Mapping) else {}
    body: dict[str, Any] = {
        "model": request.model,
        "prompt": place.prefix,
        # Without a suffix, the server would apply the model's chat template.
        "suffix": place.suffix or "\n",
        "stream": request.stream,
        "options": _with_stop(options, request),
    }
    if "keep_alive" in facts.parameters:
        body["keep_alive"] = facts.parameters["keep_alive"]
    return body


def _place_of(request: ChatRequest) -> Infill:
    assert request.infill is not None  # noqa: S101 - the caller has checked it
    return request.infill.trim()


def _with_stop(body: dict[str, Any], request: ChatRequest) -> dict[str, Any]:
    return {**body, "stop": list(request.stop_sequences)} if request.stop_sequences else body
