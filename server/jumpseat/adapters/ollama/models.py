"""Reads an Ollama server's list of models, and its facts of a model.

Source: `GET /api/tags` and `POST /api/show` in Ollama's API reference, and
`tests/dialect_rows/ollama_chat.py`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jumpseat.adapters.base.rows import first_rows
from jumpseat.chat import ModelInfo, ProtocolError
from jumpseat.dialects.loose_values import limit_in, mapping_in, texts_in
from jumpseat.dialects.ollama_chat import LEVELS

# A model's limit may be 256k tokens, and its cache needs about 100 KiB per token: with its full context, a
# small model fills the memory of a large machine.
MAX_NUM_CTX = 65_536
"""The largest context in tokens that is requested by default, as Ollama recommends for coding."""

_NUM_CTX = re.compile(r'^\s*num_ctx\s+"?(\d{1,9})\b', re.MULTILINE)
_FAMILIES_WITH_LEVELS = frozenset({"gptoss", "gpt-oss"})


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """A response of /api/show; None for values that it lacks."""

    context_length: int | None = None
    """The context length that the model was trained for, in tokens."""

    fixed_num_ctx: int | None = None
    """The `num_ctx` of the Modelfile, which the user has chosen for this machine."""

    capabilities: frozenset[str] | None = None
    family: str | None = None
    is_remote: bool = False
    """Whether the model runs in Ollama's cloud, so that its context needs no local memory."""

    @property
    def thinks_in_levels(self) -> bool:
        """Whether `think` in requests is a level instead of a boolean. Such models always think."""
        return self.family in _FAMILIES_WITH_LEVELS

    @property
    def num_ctx(self) -> int | None:
        """The context to request, which is constant for a model.

        Requests with different values would make the server load the model again.
        """
        if self.fixed_num_ctx is not None:
            return min(self.fixed_num_ctx, self.context_length or self.fixed_num_ctx)
        if self.context_length is None or self.is_remote:
            return self.context_length
        return min(self.context_length, MAX_NUM_CTX)


def read_show(answer: Any, *, is_remote: bool = False) -> ModelFacts:
    """Read the facts from a response of /api/show, in which any field may be missing.

    Args:
        answer: the parsed JSON.
        is_remote: whether the server itself is Ollama's cloud.
    """
    answer = answer if isinstance(answer, Mapping) else {}
    info = mapping_in(answer.get("model_info"))
    architecture = info.get("general.architecture")
    context = limit_in(info.get(f"{architecture}.context_length"))
    if context is None:
        # The architecture may be that of a vision projector. The text model's length then has another key.
        lengths = (value for key, value in info.items() if key.endswith(".context_length"))
        context = next((value for value in map(limit_in, lengths) if value), None)
    parameters = answer.get("parameters")
    fixed = _NUM_CTX.search(parameters) if isinstance(parameters, str) else None
    family = mapping_in(answer.get("details")).get("family") or architecture
    return ModelFacts(
        context_length=context,
        fixed_num_ctx=limit_in(int(fixed[1])) if fixed else None,
        capabilities=_read_capabilities(answer.get("capabilities")),
        family=family if isinstance(family, str) else None,
        is_remote=is_remote or bool(answer.get("remote_host") or answer.get("remote_model")),
    )


def read_tags(answer: Any, provider: str) -> dict[str, Mapping[str, Any]]:
    """Return the rows of a response of /api/tags by the model's name, in order.

    Raises:
        ProtocolError: the response has no list of models.
    """
    rows = answer.get("models") if isinstance(answer, Mapping) else None
    if isinstance(answer, Mapping) and "models" in answer and rows is None:
        rows = []  # Go encodes an empty list as null.
    if not isinstance(rows, list):
        raise ProtocolError(f"{provider} sent a list of models in an unknown shape.", provider=provider)
    tables = (row for row in first_rows(rows, provider) if isinstance(row, Mapping))
    named = ((row.get("model") or row.get("name"), row) for row in tables)
    return {name: row for name, row in named if isinstance(name, str) and name}


def model_info(
    name: str,
    row: Mapping[str, Any],
    facts: ModelFacts | None,
    provider: str,
    *,
    num_ctx: int | None = None,
) -> ModelInfo:
    """Return one entry of the provider's list; abilities that the server does not report are None.

    Args:
        name: the model's name in requests.
        row: the model's row in /api/tags.
        facts: the facts of /api/show; None if that request failed.
        provider: the configured provider's id.
        num_ctx: the configured context, which takes precedence over the derived one.
    """
    capabilities = facts.capabilities if facts else None
    if capabilities is None:
        capabilities = _read_capabilities(row.get("capabilities"))
    family = (facts.family if facts else None) or mapping_in(row.get("details")).get("family")
    family = family if isinstance(family, str) and family else name
    digest, title = row.get("digest"), row.get("name")
    has_levels = family in _FAMILIES_WITH_LEVELS
    return ModelInfo(
        provider=provider,
        model=name,
        name=title if isinstance(title, str) and title else name,
        family=family,
        # `ollama list` shows the first twelve digits as the id.
        version=digest.removeprefix("sha256:")[:12] if isinstance(digest, str) and digest else name,
        max_context_tokens=num_ctx or (facts.num_ctx if facts else None),
        supports_vision=None if capabilities is None else "vision" in capabilities,
        supports_tool_use=None if capabilities is None else "tools" in capabilities,
        supports_thinking=None if capabilities is None else "thinking" in capabilities,
        thinking_levels=LEVELS if has_levels else None,
        supports_infill=None if capabilities is None else "insert" in capabilities,
        # The server also lists models for embeddings, which cannot chat.
        picker_enabled=capabilities is None or "completion" in capabilities,
    )


def _read_capabilities(value: Any) -> frozenset[str] | None:
    # Servers before 0.6.4 do not send capabilities. Treat an empty list in the same way, as unknown.
    return frozenset(texts_in(value)) or None
