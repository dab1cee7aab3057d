"""The configuration page agrees with the code: keys, kinds, value sources."""

from __future__ import annotations

from collections.abc import Collection
from itertools import chain

import pytest

from jumpseat.config.config import Config
from jumpseat.config.mcp import McpServerConfig
from jumpseat.config.own_keys import own_keys
from jumpseat.config.prompts import Prompt
from jumpseat.config.schema import CapabilityOverrides, ConfiguredModel, ProviderConfig
from jumpseat.config.sources import SOURCES
from jumpseat.providers import KINDS
from tests.unit.pages import CONFIGURATION, names_in, prose, spans, table


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param("top-level key", list(Config.model_fields), id="top-level keys"),
        pytest.param(
            "key of a provider",
            {*ProviderConfig.model_fields, *chain(*(own_keys(spec.options) for spec in KINDS.values()))},
            id="keys of a provider",
        ),
        pytest.param("key of a prompt", list(Prompt.model_fields), id="keys of a prompt"),
        pytest.param("key of an MCP server", list(McpServerConfig.model_fields), id="keys of a server"),
    ],
)
def test_the_names_in_a_table_match_the_schema(header: str, expected: Collection[str]) -> None:
    assert sorted(names_in(table(CONFIGURATION, header))) == sorted(expected)


def test_the_kinds_and_capabilities_of_the_page_match_the_code() -> None:
    rows = {row[0]: row[2] for row in table(CONFIGURATION, "key of a provider")}

    assert set(spans(rows["`kind`"])) == set(KINDS)
    assert spans(rows["`capabilities`"]) == list(CapabilityOverrides.model_fields)


def test_the_value_sources_of_the_page_match_the_code() -> None:
    named = [name.partition(":")[0] + ":" for name in names_in(table(CONFIGURATION, "source"))]

    assert named == list(SOURCES)


def test_the_keys_of_a_model_match_the_schema() -> None:
    sentence = prose(CONFIGURATION).partition("Keys of a model:")[2].partition(".")[0]

    assert spans(sentence) == list(ConfiguredModel.model_fields)
