"""The provider kind `ollama`."""

from __future__ import annotations

from jumpseat.adapters.base.settings_rows import CHAT, LLAMA, row
from jumpseat.adapters.base.spec import ProviderSpec

OLLAMA = ProviderSpec(
    kind="ollama",
    adapter="jumpseat.adapters.ollama.adapter:OllamaAdapter",
    settings_rows={
        **LLAMA,
        "num_ctx": row(
            "integer",
            7,
            "The context length in tokens. The server reloads the model if this changes.",
            minimum=1,
        ),
        "keep_alive": row("string", 8, "How long the model stays loaded: 10m, 24h, 0s, or -1m for always."),
        **CHAT,
    },
)
