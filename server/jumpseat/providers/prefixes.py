"""Splits model names into provider and model.

A misspelled provider, as in `antropic:claude-x`, is rejected. Otherwise the whole name would count as a model
of the default provider, and the prompt would go to the wrong vendor. A tag, as in `qwen3:4b`, is part of the
model's name.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from os.path import commonprefix

from jumpseat.config import ProviderConfig
from jumpseat.config.suggestions import find_similar
from jumpseat.providers.kinds import KINDS
from jumpseat.providers.services import SERVICES
from jumpseat.providers.snapshot import CATALOGUES, find_catalogue, read_snapshot
from jumpseat.providers.spellings import parse_spelling
from jumpseat.system.threads import compute

# Ids are short, and chosen by the user, so suggest an id even if a third of its letters are wrong.
_NEAR_AN_ID = 0.65

_NEAR_A_VENDOR = 0.85

# Matches a tag after the colon of a model name in Ollama, OpenRouter or Bedrock: a size, version or variant.
_TAG = re.compile(
    r"v?\d+(\.\d+)*"
    r"|(latest|cloud|free|beta|nitro|online|extended|exacto|floor|thinking|instruct|chat|text|code|base|vision"
    r"|mini|small|medium|large|[ae]?\d+(x\d+)?(\.\d+)?[bmk]|q\d\w*|fp?(8|16|32)|bf16)([-_.].*)?",
    re.IGNORECASE,
)


def has_tag(name: str) -> bool:
    """Whether the part after the first colon is a tag, as in `qwen3:4b`."""
    return _TAG.fullmatch(name.partition(":")[2]) is not None


def split_name(name: str | None, ids: Collection[str]) -> tuple[str | None, str | None]:
    """Split a name into provider and model; only a configured provider's id counts as a prefix.

    Args:
        name: `provider:model` or a bare model name; None for the default.
        ids: the ids of all providers, including built-in ones.
    """
    if name is None:
        return None, None
    prefix, colon, rest = name.partition(":")
    if colon and prefix in ids:
        return prefix, rest or None
    return None, name


async def explain_prefix_fault(name: str, tables: Mapping[str, ProviderConfig]) -> str | None:
    """Explain why a name is not a bare model name, as the end of a sentence; None if it is accepted as one.

    Args:
        name: a model name; the part before its first colon is not an id of `tables`.
        tables: every provider's table by its id.
    """
    prefix, colon, model = name.partition(":")
    if not (colon and prefix) or has_tag(name):
        return None
    if any(name in (*table.model_names, table.default_model) for table in tables.values()):
        return None
    near = find_similar(prefix, tables, most=3, close=_NEAR_AN_ID)
    service = find_nearest_service(prefix)
    near_vendor = [service] if service else find_similar(prefix, await _load_vendors(), close=_NEAR_A_VENDOR)
    if not near and not near_vendor:
        return None
    near += [
        provider
        for provider, table in tables.items()
        if provider not in near
        and _find_vendor(table) in near_vendor  # The vendor is configured under another id.
    ]
    message = f"begins with {prefix!r}, which is not a provider"
    if not near and service not in (None, prefix):
        near = [f"{service}"]
    if near:
        return f"{message}; did you mean {' or '.join(f'{each}:{model}' for each in near)}?"
    return f"{message}; available: {', '.join(tables)}"


def find_nearest_service(name: str) -> str | None:
    """Return the well-known service whose id is this name or nearly this name; None if there is none."""
    near = find_similar(name, SERVICES, close=_NEAR_A_VENDOR)
    near += [each for each in SERVICES if len(name) > 2 and _is_one_slip(name.casefold(), each)]
    return next(iter(near), None)


def _is_one_slip(one: str, other: str) -> bool:
    """Whether one letter was added, omitted or replaced, or two adjacent letters were swapped."""
    start = len(commonprefix((one, other)))  # noqa: RUF071 - letters are compared on purpose
    one, other = one[start:], other[start:]
    end = len(commonprefix((one[::-1], other[::-1])))  # noqa: RUF071 - as above
    one, other = one[: len(one) - end], other[: len(other) - end]
    return max(len(one), len(other)) < 2 or (len(one) == 2 and one == other[::-1])


def _find_vendor(table: ProviderConfig) -> str | None:
    """Return the vendor whose models the provider offers, or else the provider's kind.

    None if the kind is named after a vendor, but the provider's address is not a vendor's own host.
    """
    return find_catalogue(table) or (table.kind if table.kind not in CATALOGUES else None)


async def _load_vendors() -> set[str]:
    if not read_snapshot.cache_info().currsize:
        await compute(True, read_snapshot)
    vendors = {parse_spelling(name).vendor for models in read_snapshot().values() for name in models}
    return {*KINDS, *CATALOGUES, *vendors} - {""}
