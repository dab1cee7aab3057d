"""Adding a provider to the user's configuration file."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon

MODELS = Reply.json({"object": "list", "data": [{"id": "m"}]})


async def add(daemon: Daemon, name: str = "mine", kind: str = "openai", **values: str) -> Any:
    return await daemon.request("providers/add", {"id": name, "kind": kind, "values": values})


@pytest.mark.requirement("5:templates")
async def test_templates_have_the_fields_of_a_form(daemon: Daemon) -> None:
    await daemon.initialize()
    templates = {
        each["id"]: each for each in (await daemon.request("providers/templates", {})).result["templates"]
    }

    groq = templates["groq"]
    assert (groq["title"], groq["kind"], groq["needsKey"]) == ("Groq", "openai", True)
    assert [row["key"] for row in groq["fields"]] == ["base_url", "default_model"]
    address, model = templates["server"]["fields"]
    assert "default" not in address
    assert (address["optional"], model["optional"]) == (False, True)
    assert templates["ollama"]["needsKey"] is False


@pytest.mark.requirement("5:add")
async def test_an_added_provider_can_be_used_immediately_and_the_file_keeps_its_text(
    daemon: Daemon, home: Path, upstream: FakeUpstream
) -> None:
    (home / "config.toml").write_text("# Mine\n", "utf-8")
    await daemon.initialize()
    upstream.default(MODELS, path="/v1/models")
    row = (await add(daemon, base_url=upstream.base_url)).result["provider"]

    assert (row["id"], row["kind"], row["configured"]) == ("mine", "openai", True)
    listed = (await daemon.request("models/list", {"provider": "mine"})).result
    assert [each["id"] for each in listed["models"]] == ["mine:m"]
    text = (home / "config.toml").read_text("utf-8")
    assert text.startswith("# Mine\n")
    table = {"kind": "openai", "base_url": upstream.base_url}
    assert tomllib.loads(text) == {"providers": {"mine": table}}


@pytest.mark.requirement("5:add")
@pytest.mark.parametrize(
    ("name", "kind", "values", "code"),
    [
        ("old", "openai", {"base_url": "http://127.0.0.1:9/v1"}, 1010),
        ("local", "openai", {}, 1010),
        ("mine", "opanai", {}, -32602),
        ("mine", "openai", {"base_url": "ftp://example.org"}, 1010),
        ("mi:ne", "openai", {}, 1010),
    ],
)
async def test_a_provider_that_exists_or_is_not_valid_is_not_added(
    daemon: Daemon, home: Path, name: str, kind: str, values: dict[str, str], code: int
) -> None:
    before = '[providers.old]\nkind = "ollama"\n'
    (home / "config.toml").write_text(before, "utf-8")
    await daemon.initialize()
    error = (await add(daemon, name, kind, **values)).error

    assert error["code"] == code
    assert (home / "config.toml").read_text("utf-8") == before
