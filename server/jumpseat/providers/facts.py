"""Collects the facts about a model from its provider, else the configuration, else the snapshot."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from jumpseat.chat import ModelInfo
from jumpseat.config import ProviderConfig
from jumpseat.providers.snapshot import SnapshotRow, find_catalogue, read_snapshot
from jumpseat.providers.spellings import find_candidates
from jumpseat.system.threads import compute

logger = logging.getLogger(__name__)

FactSource: TypeAlias = Literal["provider", "config", "snapshot"]

_LIMITS = ("max_context_tokens", "max_prompt_tokens", "max_output_tokens")
_ABILITIES = {
    "supports_vision": "vision",
    "supports_tool_use": "tool_calls",
    "supports_thinking": "thinking",
    "supports_json": "json_mode",
}
"""A model's abilities, and the keys of `capabilities` with which the user overrides the snapshot."""

_LABELLED = frozenset({"copilot", "copilot-language-server"})
"""Kinds whose lists have labels (`name` and `family`) for every model.

In lists of other kinds, a label that equals the model's id is a placeholder.
"""

_FACTS = (*_LIMITS, *_ABILITIES, "supports_infill", "vendor")


@dataclass(frozen=True, slots=True)
class KnownModel:
    """A model with all known facts."""

    info: ModelInfo
    sources: Mapping[str, FactSource] = field(default_factory=dict)
    """The source of each known fact, by field of `ModelInfo`."""


async def preload_snapshot(table: ProviderConfig) -> None:
    """Read the snapshot in a thread if this provider needs it, so that `complete_row` does not block."""
    if not read_snapshot.cache_info().currsize and find_catalogue(table) is not None:
        await compute(True, read_snapshot)


def list_offline_names(table: ProviderConfig, *more: str | None) -> list[str]:
    """Return the models that a provider is known to offer before its list is fetched; may be incomplete."""
    return list(dict.fromkeys([*table.model_names, *filter(None, more), *_list_snapshot_rows(table)]))


def _list_snapshot_rows(table: ProviderConfig) -> Mapping[str, SnapshotRow]:
    """Return the snapshot's rows of the provider's models, by name."""
    catalogue = find_catalogue(table)
    return read_snapshot().get(catalogue, {}) if catalogue is not None else {}


def complete_row(info: ModelInfo, table: ProviderConfig) -> KnownModel:
    """Complete a row of a provider's list with facts from the configuration and the snapshot."""
    return _complete(info, _read_stated_facts(table, info.model), keeps_labels=table.kind in _LABELLED)


def _complete(
    info: ModelInfo, stated: Mapping[FactSource, Mapping[str, Any]], *, keeps_labels: bool
) -> KnownModel:
    labels = () if keeps_labels else ("name", "family")
    values: dict[str, Any] = {}
    sources: dict[str, FactSource] = {fact: "provider" for fact in _FACTS if getattr(info, fact) is not None}
    for source, facts in stated.items():
        for fact in _FACTS:
            value = facts.get(fact)
            if value is not None and fact not in sources:
                values[fact], sources[fact] = value, source
        for label in labels:
            # Replace the label if it is a placeholder.
            if getattr(info, label) == info.model and facts.get(label) and label not in values:
                values[label] = facts[label]
        if facts.get("deprecated"):
            values["deprecated"] = True
    if values:
        logger.debug("facts of %s: %s", info.id, sources)
    return KnownModel(replace(info, **values) if values else info, sources)


def complete_rows(models: Sequence[ModelInfo], table: ProviderConfig) -> dict[str, KnownModel]:
    """Return the rows of a provider's list by model, with all known facts."""
    return {model.model: complete_row(model, table) for model in models}


def find_facts_by_name(
    provider: str, model: str, table: ProviderConfig, max_context_tokens: int | None
) -> KnownModel | None:
    """Return the facts of a model that is not in any fetched list; None if no facts are known.

    Args:
        provider: the configured provider's id.
        model: the model's name.
        table: the provider's configuration.
        max_context_tokens: the context length that the adapter reports without a request.
    """
    stated = _read_stated_facts(table, model)
    if max_context_tokens is None and not any(stated.values()):
        return None
    # The name, the family and the version are placeholders.
    bare = ModelInfo(
        provider=provider,
        model=model,
        name=model,
        family=model,
        version=model,
        max_context_tokens=max_context_tokens,
    )
    found = _complete(bare, stated, keeps_labels=False)
    return found if found.sources or found.info is not bare else None


def _read_stated_facts(table: ProviderConfig, model: str) -> Mapping[FactSource, Mapping[str, Any]]:
    """Return the facts from each source other than the provider, in order of precedence."""
    row = next((row for row in table.models if row.id == model), None)
    configured = {} if row is None else row.model_dump(exclude_none=True)
    return {"config": configured, "snapshot": _read_snapshot_facts(table, model)}


def _read_snapshot_facts(table: ProviderConfig, model: str) -> Mapping[str, Any]:
    """Return the snapshot's facts of a model, except abilities that the user configured for the provider."""
    rows = _list_snapshot_rows(table)
    names = find_candidates(model, rows)
    if len(names) != 1:  # The facts of several candidates may differ.
        return {}
    row = rows[names[0]]
    facts = {fact: getattr(row, fact) for fact in (*_LIMITS, *_ABILITIES, "name", "family", "deprecated")}
    for fact, capability in _ABILITIES.items():
        if getattr(table.capabilities, capability) is not None:
            facts[fact] = None
    if names[0] != model:
        # The row may be of a model with another date, and its display name may contain that date.
        facts["name"] = None
    return facts
