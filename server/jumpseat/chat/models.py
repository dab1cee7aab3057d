"""Information about models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

PolicyState: TypeAlias = Literal["enabled", "disabled", "unconfigured"]


@dataclass(frozen=True, slots=True)
class Billing:
    """The billing of a model. Fields that the provider does not report are None."""

    is_premium: bool | None = None
    multiplier: float | None = None
    token_prices: Mapping[str, Any] | None = None
    restricted_to: Sequence[str] | None = None
    """The provider's names for the plans that include the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelInfo:
    """An entry of a provider's model list. Unknown limits and capabilities are None."""

    provider: str
    model: str
    """The provider's name for the model, which requests use."""

    name: str
    family: str
    version: str
    vendor: str | None = None
    max_context_tokens: int | None = None
    max_prompt_tokens: int | None = None
    max_output_tokens: int | None = None
    max_prompt_images: int | None = None
    supports_vision: bool | None = None
    """Whether the model accepts images. None if the provider does not report it, in which case the provider's
    capabilities apply. The same is true of the following fields for tool use, thinking and JSON."""

    supports_tool_use: bool | None = None
    supports_parallel_tool_calls: bool | None = None
    supports_streaming: bool = True
    supports_thinking: bool | None = None
    supports_json: bool | None = None
    thinking_levels: Sequence[str] | None = None
    supports_infill: bool | None = None
    """Whether the model can fill in the middle of a text; None if that is unknown."""

    preview: bool = False
    deprecated: bool = False
    picker_enabled: bool = True
    is_default: bool = False
    policy: PolicyState | None = None
    policy_terms: str | None = None
    billing: Billing | None = None
    endpoints: Sequence[str] | None = None
    messages: Sequence[str] | None = None
    """The provider's warnings about the model, for users."""

    @property
    def id(self) -> str:
        """The name that clients use: `provider:model`."""
        return f"{self.provider}:{self.model}"
