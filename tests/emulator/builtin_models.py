"""The models of a new emulator, one of every kind that a client must support.

Ids and figures follow GET /models of the service in 2026. Terms and prices are rounded.
"""

from __future__ import annotations

from typing import Any

from tests.emulator.catalogue import Model

_IMAGES = ["image/jpeg", "image/png", "image/webp", "image/gif"]
_TOOLS = {"parallel_tool_calls": True, "streaming": True, "tool_calls": True}
_VISION = {**_TOOLS, "vision": True}
_THINKS = {**_VISION, "reasoning_effort": ["low", "medium", "high"], "structured_outputs": True}
_PAID = ("pro", "pro_plus", "individual_trial", "business", "enterprise", "max")
_ALL = ("free", "edu", *_PAID)
_CLAUDE = ("/chat/completions", "/v1/messages")


def _limits(context: int, prompt: int, output: int, **more: Any) -> dict[str, Any]:
    vision = {"max_prompt_image_size": 3145728, "max_prompt_images": 5, "supported_media_types": _IMAGES}
    return {
        "max_context_window_tokens": context,
        "max_output_tokens": output,
        "max_prompt_tokens": prompt,
        "vision": vision,
        **more,
    }


def _terms(name: str, maker: str) -> str:
    return f"Enable access to the latest {name} model from {maker}. [Learn more](https://gh.io/copilot)."


def builtin_models() -> list[Model]:
    """Return the models as new objects."""
    return [*_openai(), *_claude(), *_gemini(), *_others()]


def _openai() -> list[Model]:
    plain = _limits(128_000, 64_000, 16_384)
    large = _limits(400_000, 272_000, 128_000)
    # The oldest rows of the service have neither billing nor a list of endpoints.
    mini = Model(
        "gpt-4o-mini",
        "GPT-4o mini",
        "Azure OpenAI",
        version="gpt-4o-mini-2024-07-18",
        limits=_limits(128_000, 12_288, 4096),
        supports=_TOOLS,
        multiplier=0,
        picker=False,
    )
    alias = Model(
        "gpt-4o-mini-2024-07-18",
        mini.name,
        mini.vendor,
        version=mini.version,
        family="gpt-4o-mini",
        limits=mini.limits,
        supports=_TOOLS,
        multiplier=0,
        picker=False,
    )
    return [
        Model(
            "gpt-4.1",
            "GPT-4.1",
            "Azure OpenAI",
            version="gpt-4.1-2025-04-14",
            limits=plain,
            supports=_VISION,
            multiplier=0,
            picker_category="versatile",
            is_default=True,
            is_fallback=True,
            tiers=_ALL,
        ),
        Model("gpt-4o", "GPT-4o", "Azure OpenAI", limits=plain, supports=_VISION, multiplier=0),
        mini,
        alias,
        Model(
            "o4-mini",
            "o4-mini",
            "Azure OpenAI",
            limits=plain,
            supports=_THINKS,
            multiplier=0.33,
            prices=(110, 440, 28, 0),
            quirks={"cot"},
            refuses={"temperature", "top_p"},
        ),
        Model(
            "gpt-5-mini",
            "GPT-5 mini",
            "OpenAI",
            limits=large,
            supports=_THINKS,
            multiplier=0,
            endpoints=("/responses", "/chat/completions", "ws:/responses"),
            picker_category="lightweight",
        ),
        Model(
            "gpt-5.3-codex",
            "GPT-5.3-Codex",
            "OpenAI",
            limits=large,
            supports=_THINKS,
            multiplier=1,
            prices=(175, 1400, 18, 0),
            endpoints=("/responses",),
            refuses={"temperature", "top_p"},
            tiers=_PAID,
            picker_category="powerful",
        ),
    ]


def _claude() -> list[Model]:
    limits = _limits(200_000, 128_000, 64_000, max_non_streaming_output_tokens=16_000)
    thinks = {**_THINKS, "max_thinking_budget": 32_000, "min_thinking_budget": 1024}
    return [
        Model(
            "claude-sonnet-4.6",
            "Claude Sonnet 4.6",
            "Anthropic",
            "claude",
            limits=limits,
            supports={**thinks, "adaptive_thinking": True},
            endpoints=_CLAUDE,
            policy="enabled",
            terms=_terms("Claude Sonnet 4.6", "Anthropic"),
            multiplier=1,
            prices=(330, 1650, 33, 412),
            tiers=_PAID,
            picker_category="versatile",
            warnings=({"code": "model_degraded_github", "message": "This model is degraded at present."},),
        ),
        Model(
            "claude-haiku-4.5",
            "Claude Haiku 4.5",
            "Anthropic",
            "claude",
            limits=limits,
            supports=thinks,
            endpoints=_CLAUDE,
            policy="unconfigured",
            terms=_terms("Claude Haiku 4.5", "Anthropic"),
            multiplier=0.33,
            prices=(110, 550, 11, 138),
        ),
        Model(
            "claude-opus-4.7",
            "Claude Opus 4.7",
            "Anthropic",
            "claude",
            limits=limits,
            supports={**thinks, "adaptive_thinking": True},
            endpoints=_CLAUDE,
            policy="disabled",
            terms=_terms("Claude Opus 4.7", "Anthropic"),
            multiplier=7.5,
            prices=(550, 2750, 55, 688),
            tiers=("pro_plus", "business", "enterprise", "max"),
            picker_category="powerful",
        ),
    ]


def _gemini() -> list[Model]:
    limits = _limits(264_000, 128_000, 64_000)
    return [
        Model(
            "gemini-3.1-pro-preview",
            "Gemini 3.1 Pro (Preview)",
            "Google",
            "gemini",
            limits=limits,
            supports=_THINKS,
            endpoints=("/chat/completions",),
            multiplier=1,
            prices=(200, 1200, 20, 0),
            preview=True,
            needs_opaque=True,
            policy="enabled",
            terms=_terms("Gemini 3.1 Pro", "Google"),
        ),
        Model(
            "gemini-2.5-pro",
            "Gemini 2.5 Pro",
            "Google",
            "gemini",
            limits=limits,
            supports=_THINKS,
            multiplier=1,
            prices=(125, 1000, 13, 0),
            infos=({"code": "model_pending_deprecation", "message": "This model goes away in a month."},),
        ),
    ]


def _others() -> list[Model]:
    return [
        # This row has neither limits nor endpoints, and is not for chats.
        Model(
            "text-embedding-ada-002",
            "Embedding V2 Ada",
            "Azure OpenAI",
            type="embeddings",
            tokenizer="cl100k_base",
            picker=False,
        ),
        Model(
            "text-embedding-3-small",
            "Embedding V3 small",
            "Azure OpenAI",
            type="embeddings",
            limits={"max_inputs": 512},
            supports={"dimensions": True},
            picker=False,
        ),
        Model(
            "gpt-41-copilot",
            "GPT-4.1 Copilot",
            "Azure OpenAI",
            type="completion",
            supports={"streaming": True},
            picker=False,
        ),
        Model(
            "copilot-cli-only",
            "Experimental for the CLI",
            "Experimental",
            limits=_limits(128_000, 64_000, 4096),
            supports=_TOOLS,
            multiplier=0,
            picker=False,
            integrators=frozenset({"copilot-developer-cli"}),
        ),
    ]


BROKEN_ROW = Model("broken-row", "", "", broken={"id": "broken-row", "object": "model", "capabilities": None})
"""A row that matches no schema. A client must drop only this row.

It is not among the built-in models, because with it the official language server does not list any models.
"""
