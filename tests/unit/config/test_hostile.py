"""Configurations that could exhaust memory or time, or trigger bugs, are rejected immediately."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from jumpseat.chat import ConfigError
from jumpseat.config import ProviderConfig, Values, load_config
from jumpseat.config.values import MAX_CHARACTERS

pytestmark = [pytest.mark.requirement("7:hostile-files"), pytest.mark.timeout(20)]


def refusal(tmp_path: Path, text: str, overlay: Any = None) -> str:
    """Load this configuration, which is rejected, and return the message of the error."""
    file = tmp_path / "config.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(file, overlay)
    return caught.value.message


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000 + "]" * 100_000,
        "a = " + "{ a = " * 100_000 + "1" + " }" * 100_000,
        "a = " + "[" * 150 + "]" * 150,
        "[" + ".".join("a" * 3000) + "]",
        "[providers.x]\nparameters." + ".".join("a" * 3000) + " = 1",
        "[providers.x]\nparameters = { " + ".".join("a" * 3000) + " = 1 }",
        "[providers.x.parameters." + ".".join("a" * 60) + "]\n" + ".".join("a" * 60) + " = 1",
        "[" + " . ".join(['"b. c"', "'d. e'"] * 3000) + "]",
        'a = { b = """c"""", ' + ".".join("d" * 3000) + " = 1 }",
    ],
)
def test_a_file_that_is_nested_too_deep_is_a_fault(tmp_path: Path, text: str) -> None:
    assert refusal(tmp_path, text).endswith("config.toml is nested more than 100 levels deep.")


@pytest.mark.parametrize("key", ["parameters", "later_key"])
def test_an_overlay_that_is_nested_too_deep_is_a_fault(tmp_path: Path, key: str) -> None:
    nested: dict[str, Any] = {}
    for _ in range(2000):
        nested = {"a": nested, "b": 1}

    message = refusal(tmp_path, "", {"providers": {"new": {"kind": "openai", key: nested}}})
    assert message == "initializationOptions.config is nested more than 100 levels deep."


@pytest.mark.parametrize("quotes", ['"', "'", '"""', "'''"])
def test_a_line_of_many_sentences_is_not_a_nested_key(tmp_path: Path, quotes: str) -> None:
    text = "Answer briefly. " * 200
    file = tmp_path / "config.toml"
    file.write_text(f"[prompts.long]\ntext = {quotes}{text}{quotes} # {text}\n", "utf-8")

    assert load_config(file, None).prompts["long"].text == text


@pytest.mark.parametrize("piece", ['"\\', '"""', "'", "'''", '."\n', "a", "\\"])
def test_a_text_with_unclosed_strings_is_examined_in_linear_time(tmp_path: Path, piece: str) -> None:
    assert "is not valid TOML" in refusal(tmp_path, "# " + "." * 200 + "\n" + piece * 100_000)


def test_usual_nesting_is_read(tmp_path: Path) -> None:
    file = tmp_path / "config.toml"
    deep = ".".join("a" * 80)
    file.write_text(
        f'default_model = "{"." * 99}"\n[providers.x]\nparameters.{deep} = ["${{model}}"]', "utf-8"
    )

    assert load_config(file, None).providers["x"].parameters


@pytest.mark.parametrize("key", ["base_url", "url"])
@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:99999/v1",
        "http://127.0.0.1:-1",
        "https://a.test:0/${model}",
        "http://a.test:x",
        "http://[::1/v1",
    ],
)
def test_an_invalid_address_is_a_fault_of_its_key(tmp_path: Path, key: str, address: str) -> None:
    file = tmp_path / "config.toml"
    file.write_text(f'[providers.x]\nkind = "openai"\n{key} = "{address}"', "utf-8")
    ((fault,),) = load_config(file, None).faults.values()

    assert fault.key == f"providers.x.{key}"
    assert fault.message == "must have a host, and a port from 1 to 65535 if it has one"


@pytest.mark.parametrize(
    "address",
    ["http://a.test:65535/v1", "http://[::1]:1/v1", "http://a.test/b:99999", "http://a.test:${port}/v1"],
)
def test_a_valid_address_is_accepted(address: str) -> None:
    assert ProviderConfig(kind="openai", base_url=address).base_url == address


@pytest.mark.parametrize("port", ["99999", "-1", "0"])
async def test_a_port_that_a_template_inserts_is_checked_before_anything_is_sent(port: str) -> None:
    table = ProviderConfig(base_url="http://127.0.0.1:${port}/v1", env={"port": port})

    with pytest.raises(ConfigError, match=r"^providers\.p\.base_url must have a host, and a port"):
        await Values("p", table).fill_url("base_url", table.base_url or "")


async def test_templates_are_filled_through_many_levels() -> None:
    levels, multiplying = 40, 3
    names = {
        f"n{level}": f"${{n{level + 1}}}" * (10 if level < multiplying else 1) for level in range(levels)
    }
    values = Values("p", ProviderConfig(env={**names, f"n{levels}": "x"}))

    assert await values.fill("headers.X", "${n0}") == "x" * 10**multiplying


async def test_nested_templates_do_not_take_exponential_time() -> None:
    # Each level uses the next one twice. The result is empty, so the limit on its length does not apply.
    names = {f"n{level}": f"${{n{level + 1}}}" * 2 for level in range(40)}
    values = Values("p", ProviderConfig(env={**names, "n40": "${model}"}))

    assert await values.fill("headers.X", "${n0}", "") == ""


async def test_templates_that_grow_exponentially_are_a_fault() -> None:
    names = {f"n{level}": f"${{n{level + 1}}}" * 10 for level in range(10)}
    values = Values("p", ProviderConfig(env={**names, "n10": "x"}))

    with pytest.raises(ConfigError, match=f"is longer than {MAX_CHARACTERS} characters once filled"):
        await values.fill("headers.X", "${n0}")
