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
            "number", 3, "Above 0, a token is avoided the more often it was used.", minimum=-2, maximum=2
        ),
        "presence_penalty": row(
            "number", 4, "Above 0, tokens that were used are avoided.", minimum=-2, maximum=2
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
            "How long answers are; newer models only.",
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
