"""The provider kind `anthropic`."""

from __future__ import annotations

from jumpseat.adapters.base.settings_rows import CHAT, TEMPERATURE, TOP_K, TOP_P
from jumpseat.adapters.base.spec import ProviderSpec

ANTHROPIC = ProviderSpec(
    kind="anthropic",
    adapter="jumpseat.adapters.anthropic.adapter:AnthropicAdapter",
    settings_rows={
        "temperature": TEMPERATURE.model_copy(update={"maximum": 1.0}),
        "top_p": TOP_P,
        "top_k": TOP_K.model_copy(update={"minimum": 1.0}),
        **CHAT,
    },
)
