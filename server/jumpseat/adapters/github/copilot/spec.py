"""The provider kind `copilot`."""

from __future__ import annotations

from jumpseat.adapters.base.settings_rows import CHAT, SAMPLING
from jumpseat.adapters.base.spec import ProviderSpec
from jumpseat.adapters.github.copilot.options import SOURCE_KEYS, CopilotOptions
from jumpseat.adapters.github.options import USER_ONLY_KEYS

COPILOT = ProviderSpec(
    kind="copilot",
    adapter="jumpseat.adapters.github.copilot.adapter:CopilotAdapter",
    settings_rows={**SAMPLING, **CHAT},
    options=CopilotOptions,
    source_keys=SOURCE_KEYS,
    user_only=USER_ONLY_KEYS,
    display_name="GitHub Copilot",
)
