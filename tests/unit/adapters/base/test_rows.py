"""The limit on the length of a list of models, for each format."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from jumpseat.adapters.anthropic.adapter import AnthropicAdapter
from jumpseat.adapters.base import Capabilities
from jumpseat.adapters.base.rows import MAX_MODELS, first_rows
from jumpseat.adapters.github.copilot import models as copilot_models
from jumpseat.adapters.http import models as endpoint_models
from jumpseat.adapters.ollama import models as ollama_models
from jumpseat.config import ProviderConfig
from jumpseat.http import HttpClient
from jumpseat.testing.upstream import FakeUpstream, Reply

NAMES = [f"m{number}" for number in range(MAX_MODELS + 1)]
ROWS: list[dict[str, Any]] = [{"id": name, "name": name} for name in NAMES]


def test_a_long_list_is_cut_and_the_log_says_so(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        assert first_rows(ROWS[:-1], "acme") == ROWS[:-1]
        assert not caplog.text
        assert first_rows(ROWS, "acme") == ROWS[:-1]
    assert f"acme lists {len(ROWS)} models; only the first {MAX_MODELS} are used" in caplog.text


def test_lists_of_every_format_are_cut() -> None:
    openai = endpoint_models.read_models({"data": ROWS}, "acme", Capabilities())
    copilot = copilot_models.read_models({"data": ROWS}, "acme")
    for models in (openai, copilot):
        assert [model.model for model in models] == NAMES[:-1]
    assert list(ollama_models.read_tags({"models": ROWS}, "acme")) == NAMES[:-1]


async def test_no_page_is_requested_after_the_limit_is_exceeded(
    upstream: FakeUpstream, http: HttpClient
) -> None:
    def page(number: int) -> Reply:
        rows = [{"id": f"m{number}-{row}"} for row in range(MAX_MODELS // 2)]
        return Reply.json({"data": rows, "has_more": True, "last_id": rows[-1]["id"]})

    upstream.script(*map(page, range(4)))
    table = ProviderConfig(kind="anthropic", base_url=upstream.origin)
    models = await AnthropicAdapter("acme", table, http).list_models()
    # Two pages reach the limit, and the third exceeds it.
    assert (len(models), len(upstream.requests)) == (MAX_MODELS, 3)
