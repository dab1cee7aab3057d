"""Completions by the real llama.cpp, through the real daemon.

The small model has no tokens for filling in, and package registries have no other small model with such
tokens. So one test copies the model, and names three of its unused tokens as the tokens for filling in. The
text that the copy fills in makes no sense, but the requests, the answer and its end are llama.cpp's own.
"""

from __future__ import annotations

import json
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests import local_model
from tests.daemon import Daemon, running_daemon

pytestmark = [
    pytest.mark.local_model,
    pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp has no wheel for this platform"),
]

PLACE = {"prefix": "def add(a, b):\n    return ", "suffix": "\n\nprint(add(1, 2))\n"}

_UINT32, _STRING, _ARRAY = 4, 8, 9
_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
"""The size of a value in bytes by its type. Source: the specification of GGUF in ggml."""

ALIGNMENT = 32
TOKENS = {"pre": 5, "suf": 6, "mid": 7}
"""The ids of three tokens with which the small model can mark files and repositories."""


def give_infill_tokens(source: Path, target: Path) -> None:
    """Copy a GGUF file, and add the metadata keys that name the tokens for filling in."""
    data = source.read_bytes()
    magic, version, tensors, keys = struct.unpack_from("<4sIQQ", data)
    end = begin = struct.calcsize("<4sIQQ")
    for _ in range(keys):
        end = _end_of_value(data, _end_of_text(data, end))
    end_of_tensors = end
    for _ in range(tensors):
        end_of_tensors = _end_of_text(data, end_of_tensors)
        (dimensions,) = struct.unpack_from("<I", data, end_of_tensors)
        # Skip the number of dimensions, their sizes, the type and the offset.
        end_of_tensors += 4 + 8 * dimensions + 4 + 8
    added = b"".join(
        struct.pack("<Q", len(key)) + key + struct.pack("<II", _UINT32, token)
        for key, token in ((f"tokenizer.ggml.fim_{name}_token_id".encode(), TOKENS[name]) for name in TOKENS)
    )
    head = struct.pack("<4sIQQ", magic, version, tensors, keys + len(TOKENS))
    head += data[begin:end] + added + data[end:end_of_tensors]
    head += bytes(-len(head) % ALIGNMENT)
    target.write_bytes(head + data[end_of_tensors + -end_of_tensors % ALIGNMENT :])


def _end_of_text(data: bytes, place: int) -> int:
    return place + 8 + int(struct.unpack_from("<Q", data, place)[0])


def _end_of_value(data: bytes, place: int) -> int:
    (kind,) = struct.unpack_from("<I", data, place)
    place += 4
    if kind == _STRING:
        return _end_of_text(data, place)
    if kind != _ARRAY:
        return place + _SIZES[kind]
    kind, count = struct.unpack_from("<IQ", data, place)
    place += 12
    if kind != _STRING:
        return place + count * _SIZES[kind]
    for _ in range(count):
        place = _end_of_text(data, place)
    return place


def configure(home: Path, file: Path) -> None:
    (home / "config.toml").write_text(f"[providers.local]\nmodel_path = {json.dumps(str(file))}\n", "utf-8")


async def read_infill_ability(daemon: Daemon) -> Any:
    (row,) = (await daemon.request("models/list", {"provider": "local"})).result["models"]
    return row.get("supportsInfill")


@pytest.mark.requirement("14:local", "14:refusal", "14:ability")
async def test_the_small_model_refuses_to_fill_in_without_being_loaded(home: Path) -> None:
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    configure(home, local_model.FILE)
    async with running_daemon(home, "--log-level", "debug") as daemon:
        await daemon.initialize()
        error = (await daemon.request("complete/start", PLACE)).error
        assert await read_infill_ability(daemon) is False
        assert "llama.cpp:" not in await daemon.whole_log()
    assert error["code"] == 1004
    message = "The model smollm2-135m-instruct of local cannot fill in the middle of a text."
    assert error["message"] == message


@pytest.mark.requirement("14:local", "14:refusal", "14:ability")
async def test_llama_cpp_refuses_if_the_vocabulary_has_no_tokens_for_filling_in(
    home: Path, tmp_path: Path
) -> None:
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    file = tmp_path / "mine.gguf"
    file.symlink_to(local_model.FILE)
    configure(home, file)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        assert await read_infill_ability(daemon) is None
        error = (await daemon.request("complete/start", PLACE)).error
    assert error["code"] == 1004
    assert "cannot fill in the middle of a text: Infill is not supported by this model" in error["message"]


@pytest.mark.requirement("14:local", "14:line", "14:complete", "14:llama")
async def test_llama_cpp_fills_in_if_the_vocabulary_has_tokens_for_it(home: Path, tmp_path: Path) -> None:
    assert local_model.FILE is not None, local_model.HOW_TO_INSTALL
    file = tmp_path / "able.gguf"
    give_infill_tokens(local_model.FILE, file)
    configure(home, file)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        block = (await daemon.request("complete/start", {**PLACE, "maxTokens": 8})).result
        line = (await daemon.request("complete/start", {**PLACE, "extent": "line"})).result
        endless = daemon.start("complete/start", {**PLACE, "maxTokens": 6000})
        daemon.notify("$/cancelRequest", {"id": endless})
        cancelled = (await daemon.read_until(endless)).error
        # If the cancelled completion continued, it would keep a slot and the processor busy for minutes.
        again = [await daemon.request("complete/start", {**PLACE, "maxTokens": 8}) for _ in range(2)]
    assert (block["stopReason"], block["usage"]["outputTokens"]) == ("max_tokens", 8)
    # The prompt contains both texts and the three tokens.
    assert block["usage"]["inputTokens"] > 20
    assert block["text"]
    assert "\n" not in line["text"]
    assert cancelled["code"] == -32800
    assert [each.result["text"] for each in again] == [block["text"]] * 2
