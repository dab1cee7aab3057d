"""The provider kind `local`."""

from __future__ import annotations

from jumpseat.adapters.base.settings_rows import LLAMA, MAX_TOKENS
from jumpseat.adapters.base.spec import ProviderSpec
from jumpseat.adapters.local.options import LocalOptions

LOCAL = ProviderSpec(
    kind="local",
    adapter="jumpseat.adapters.local.adapter:LocalAdapter",
    settings_rows={**LLAMA, "max_tokens": MAX_TOKENS},
    options=LocalOptions,
    user_only={"model_path": "names a file, which only the user may choose to run"},
    display_name="Local model",
)
