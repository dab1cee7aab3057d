"""Splits model names at their providers: `antropic:claude-x` has a misspelled one, `qwen3:4b` a tag.

A misspelled provider is refused, because the prompt would go to another vendor.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from os.path import commonprefix

from jumpseat.config import ProviderConfig
from jumpseat.config.suggestions import nearest
from jumpseat.providers.kinds import KINDS
from jumpseat.providers.services import SERVICES
from jumpseat.providers.snapshot import CATALOGUES, catalogue_of, snapshot
from jumpseat.providers.spellings import spelling
from jumpseat.system.threads import compute

# Ids are short and the user's own, so one letter of three may be wrong, or two of six.
_NEAR_AN_ID = 0.65

_NEAR_A_VENDOR = 0.85

# Tags of Ollama, OpenRouter and Bedrock after the colon of a model name: a size, a version, a variant.
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
    """The provider and the model in a name; only a configured provider's id counts as a prefix.

    Args:
        name: `provider:model` or a bare model name; None for the default.
        ids: The configured providers.
    """
    if name is None:
        return None, None
    prefix, colon, rest = name.partition(":")
    if colon and prefix in ids:
        return prefix, rest or None
    return None, name


async def fault_of_prefix(name: str, tables: Mapping[str, ProviderConfig]) -> str | None:
    """Why a name is not accepted as a bare model name, as the end of a sentence; None if it is accepted.

    Args:
        name: a model name; the part before its first colon is not an id of `tables`.
        tables: every provider's table by its id.
    """
    prefix, colon, model = name.partition(":")
    if not (colon and prefix) or has_tag(name):
        return None
    if any(name in (*table.model_names, table.default_model) for table in tables.values()):
        return None
    near = nearest(prefix, tables, most=3, close=_NEAR_AN_ID)
    service = nearest_service(prefix)
    near_vendor = [service] if service else nearest(prefix, await _vendors(), close=_NEAR_A_VENDOR)
    if not near and not near_vendor:
        return None
    near += [
        provider
        for provider, table in tables.items()
        if provider not in near
        and _serves(table) in near_vendor  # The vendor is configured under another id.
    ]
    message = f"begins with {prefix!r}, which is not a provider"
    if not near and service not in (None, prefix):
        near = [f"{service}"]
    if near:
        return f"{message}; did you mean {' or '.join(f'{each}:{model}' for each in near)}?"
    return f"{message}; there are: {', '.join(tables)}"


def nearest_service(name: str) -> str | None:
    """The well-known service whose id is this name or nearly this name; None if there is none."""
    near = nearest(name, SERVICES, close=_NEAR_A_VENDOR)
    near += [each for each in SERVICES if len(name) > 2 and _is_one_slip(name.casefold(), each)]
    return next(iter(near), None)


def _is_one_slip(one: str, other: str) -> bool:
    """Whether one letter was added, left out or replaced, or two neighbours were swapped."""
    start = len(commonprefix((one, other)))  # noqa: RUF071 - letters are compared on purpose
    one, other = one[start:], other[start:]
    end = len(commonprefix((one[::-1], other[::-1])))  # noqa: RUF071
    one, other = one[: len(one) - end], other[: len(other) - end]
    return max(len(one), len(other)) < 2 or (len(one) == 2 and one == other[::-1])


def _serves(table: ProviderConfig) -> str | None:
    """The vendor whose models the provider has; its kind if the kind is not a vendor."""
    return catalogue_of(table) or (table.kind if table.kind not in CATALOGUES else None)


async def _vendors() -> set[str]:
    if not snapshot.cache_info().currsize:
        await compute(True, snapshot)
    of_models = {spelling(name).vendor for models in snapshot().values() for name in models}
    return {*KINDS, *CATALOGUES, *of_models} - {""}
