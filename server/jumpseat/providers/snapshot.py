"""Facts about the models of well-known providers, as of the day on which they were recorded.

`python -m tests.tools.refresh_snapshot` regenerates `snapshot.json`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic_core import from_json

from jumpseat.config import ProviderConfig

FILE = "snapshot.json"

CATALOGUES: Mapping[str, str] = {
    "anthropic": "api.anthropic.com",
    "deepseek": "api.deepseek.com",
    "github-copilot": "api.githubcopilot.com",
    "google": "generativelanguage.googleapis.com",
    "groq": "api.groq.com",
    "mistral": "api.mistral.ai",
    "openai": "api.openai.com",
    "openrouter": "openrouter.ai",
    "xai": "api.x.ai",
}
"""The hosts of the providers that the snapshot describes, by the providers' names on models.dev."""

# A provider of one of these kinds uses this catalogue if its table has no `base_url`.
_KIND_CATALOGUES: Mapping[str, str] = {
    "anthropic": "anthropic",
    "copilot": "github-copilot",
    "openai": "openai",
    "openai-responses": "openai",
}


@dataclass(frozen=True, slots=True)
class SnapshotRow:
    """The facts of one model."""

    name: str | None
    family: str | None
    max_context_tokens: int | None
    max_prompt_tokens: int | None
    max_output_tokens: int | None
    supports_vision: bool
    supports_tool_use: bool
    supports_thinking: bool
    supports_json: bool | None
    """True or None: the source reports only which models support schemas. Others may still support JSON."""

    deprecated: bool


def find_catalogue(table: ProviderConfig) -> str | None:
    """Return the catalogue of a provider; None if the provider's address is not a vendor's own host."""
    # Only the vendor's host counts: another server may run a model of this name with another context length.
    address = table.url or table.base_url
    if address is None:
        return _KIND_CATALOGUES.get(table.kind)
    try:
        host = urlsplit(address).hostname
    except ValueError:
        return None  # A request to this address reports the fault.
    return next((name for name, where in CATALOGUES.items() if where == host), None)


@cache
def read_snapshot() -> Mapping[str, Mapping[str, SnapshotRow]]:
    """Return the models of each catalogue by name. The first call reads a file."""
    content = from_json(Path(__file__).with_name(FILE).read_bytes())
    return {
        catalogue: {name: _parse_row(row) for name, row in models.items()}
        for catalogue, models in content["catalogues"].items()
    }


def _parse_row(row: Mapping[str, Any]) -> SnapshotRow:
    can = row.get("can", "").split()
    return SnapshotRow(
        name=row.get("name"),
        family=row.get("family"),
        max_context_tokens=row.get("context"),
        max_prompt_tokens=row.get("input"),
        max_output_tokens=row.get("output"),
        supports_vision="vision" in can,
        supports_tool_use="tools" in can,
        supports_thinking="thinking" in can,
        supports_json=True if "schemas" in can else None,
        deprecated="deprecated" in can,
    )
