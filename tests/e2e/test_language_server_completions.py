"""Inline completions of the real Copilot language server behind the real daemon."""

from __future__ import annotations

import pytest

from tests.e2e.language_server_harness import PROVIDER

pytestmark = [
    pytest.mark.slow,
    pytest.mark.requirement("14:language-server", "language-server:real-emulator"),
]


async def test_the_program_completes_a_line_of_a_document(harness, emulator):
    place = {"prefix": "x = 1\nprint(x", "suffix": ")\n", "languageId": "python", "uri": "file:///p/a.py"}
    exchange = await harness.daemon.request("complete/start", {"model": f"{PROVIDER}:copilot", **place})

    # The emulated model quotes the line that it completes.
    assert exchange.result["text"] == "  # completion 1 of: print(x"
    (request,) = [each for each in emulator.requests("proxy") if each.path.startswith("/v1/engines/")]
    assert request.json["prompt"].endswith(place["prefix"])
