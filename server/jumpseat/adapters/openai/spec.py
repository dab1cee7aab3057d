"""The provider kinds `openai` (chat completions) and `openai-responses`."""

from __future__ import annotations

from jumpseat.adapters.base.settings_rows import CHAT, SAMPLING, SEED, row
from jumpseat.adapters.base.spec import ProviderSpec

OPENAI = ProviderSpec(
    kind="openai",
    adapter="jumpseat.adapters.openai.adapter:OpenAIAdapter",
    settings_rows={
        **SAMPLING,
        "frequency_penalty": row(
            "number",
            3,
            "Values above 0 penalize each token by how often it was already used.",
            minimum=-2,
            maximum=2,
        ),
        "presence_penalty": row(
            "number", 4, "Values above 0 penalize tokens that were already used.", minimum=-2, maximum=2
        ),
        "seed": SEED,
        **CHAT,
    },
)

RESPONSES = ProviderSpec(
    kind="openai-responses",
    adapter="jumpseat.adapters.openai.responses:OpenAIResponsesAdapter",
    settings_rows={
        **SAMPLING,
        "verbosity": row(
            "enum",
            3,
            "The length of answers. Only newer models support it.",
            choices=["low", "medium", "high"],
            mapping="parameters.text",
        ),
        "summary": row(
            "enum",
            4,
            "How thinking is summarized.",
            choices=["auto", "concise", "detailed"],
            mapping="parameters.reasoning",
        ),
        **CHAT,
    },
)
