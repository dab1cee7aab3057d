"""Describes what each model family accepts: thinking, sampling, forced tools, schemas.

The endpoint's list of models overrides these rules. Sources: `tests/dialect_rows/anthropic_messages.py` for
the rules, and `ModelCapabilities` in Anthropic's API reference for the list.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

ThinkingForm: TypeAlias = Literal["adaptive", "enabled", "none"]
OffForm: TypeAlias = Literal["disabled", "between_tools", "low_effort", "absent"]

EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""The efforts of the dialect."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelRules:
    """The features that one model accepts. The defaults are for an unknown model."""

    thinking: ThinkingForm = "enabled"
    """The form of thinking: `adaptive` with an effort, `enabled` with a budget, or `none`."""

    off: OffForm = "disabled"
    """The way to turn thinking off.

    `between_tools` means that the model may still think briefly between tool calls, `low_effort` that
    thinking can only be reduced, and `absent` that the model never thinks.
    """

    hides_thinking: bool = False
    """Whether the API sends the text of thinking only if `display` asks for it."""

    takes_sampling: bool = True
    """Whether `temperature`, `top_p` and `top_k` are accepted at all."""

    strict_thinking: bool = False
    """Whether the API rejects most sampling values while the model thinks.

    If `thinking` is `enabled`, the API also rejects forced tools, and thinking that starts between tool
    calls.
    """

    takes_forced_tools: bool = True
    takes_prefill: bool = True
    """Whether the model can continue a final assistant message; if not, the API rejects such a message."""

    takes_schemas: bool = False
    """Whether `output_config.format` is accepted."""

    effort_levels: frozenset[str] = frozenset({"low", "medium", "high"})
    max_output_tokens: int | None = None
    """The maximum of `max_tokens`, if known."""


_FAMILY_THEN_VERSION = re.compile(
    r"(opus|sonnet|haiku|fable|mythos)[-_ ]?v?(\d{1,2})(?:[-._](\d{1,2}))?(?!\d)"
)
_VERSION_THEN_FAMILY = re.compile(r"claude[-_ ]?v?(\d)(?:[-._](\d))?[-_ ](opus|sonnet|haiku)")
_FAMILY_ONLY = re.compile(r"fable|mythos")


def family_and_version(model: str) -> tuple[str, tuple[int, int]] | None:
    """Return the family and version of a Claude model, however a gateway spells it; None for other models."""
    name = model.lower()
    if "claude" not in name:
        return None
    if match := _FAMILY_THEN_VERSION.search(name):
        return match[1], (int(match[2]), int(match[3] or 0))
    if match := _VERSION_THEN_FAMILY.search(name):
        return match[3], (int(match[1]), int(match[2] or 0))
    if match := _FAMILY_ONLY.search(name):
        return match[0], (5, 0)
    return "", (0, 0)


def rules_of(model: str) -> ModelRules:
    """Return the rules for a model name."""
    known = family_and_version(model)
    if known is None:
        return ModelRules()
    family, version = known
    if version < (3, 7):
        limit = 8192 if version == (3, 5) else 4096
        return ModelRules(thinking="none", off="absent", max_output_tokens=limit)
    if version <= (4, 5):
        return ModelRules(
            strict_thinking=True,
            takes_schemas=version >= (4, 5) or (family == "opus" and version == (4, 1)),
            max_output_tokens=32_000 if family == "opus" and version < (4, 5) else 64_000,
        )
    if version < (4, 7):
        return ModelRules(
            thinking="adaptive",
            strict_thinking=True,
            takes_prefill=False,
            takes_schemas=True,
            effort_levels=frozenset({"low", "medium", "high", "max"}),
        )
    return ModelRules(
        thinking="adaptive",
        off=_off_form(family, version),
        hides_thinking=True,
        takes_sampling=False,
        strict_thinking=True,
        takes_prefill=False,
        takes_forced_tools=not (family == "mythos" or (family == "fable" and version == (5, 0))),
        takes_schemas=True,
        effort_levels=frozenset(EFFORTS),
    )


def _off_form(family: str, version: tuple[int, int]) -> OffForm:
    if family in ("fable", "mythos"):
        return "low_effort"
    if version < (5, 5):
        return "disabled"
    return "between_tools" if family == "sonnet" else "low_effort"


def override_rules(rules: ModelRules, row: Mapping[str, Any]) -> ModelRules:
    """Return the rules, overridden by a row of the endpoint's list of models.

    Args:
        rules: the rules without the row.
        row: `{"max_tokens"?, "capabilities"?: {"thinking": {"types": {…}}, "effort": {…}, …}}`.
    """
    limit = row.get("max_tokens")
    if type(limit) is int and limit > 0:
        rules = replace(rules, max_output_tokens=limit)
    schemas = read_supported(row, "structured_outputs")
    if schemas is not None:
        rules = replace(rules, takes_schemas=schemas)
    adaptive = read_supported(row, "thinking", "types", "adaptive")
    enabled = read_supported(row, "thinking", "types", "enabled")
    if adaptive or enabled:
        rules = replace(rules, thinking="adaptive" if adaptive else "enabled")
    elif adaptive is False and enabled is False:
        rules = replace(rules, thinking="none")
    disabled = read_supported(row, "thinking", "types", "disabled")
    if disabled:
        rules = replace(rules, off="disabled")
    elif disabled is False:
        between = read_supported(row, "thinking", "types", "between_tools")
        rules = replace(rules, off="between_tools" if between else "low_effort")
    if (effort := read_supported(row, "effort")) is not None:
        levels = {level for level in EFFORTS if read_supported(row, "effort", level)}
        rules = replace(rules, effort_levels=frozenset(levels if effort else ()))
    return rules


def read_supported(row: Mapping[str, Any], *path: str) -> bool | None:
    """Return the `supported` flag of a capability in a row of the list of models; None if it is absent."""
    value: Any = row.get("capabilities")
    for key in path:
        value = value.get(key) if isinstance(value, Mapping) else None
    flag = value.get("supported") if isinstance(value, Mapping) else None
    return flag if isinstance(flag, bool) else None
