"""Commands, their arguments and paths are completed; questions are not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from jumpseat_cli.repl.commands import COMMANDS
from jumpseat_cli.repl.completion import CommandCompleter, Words


async def models() -> Words:
    return [("fake:gpt-4.1", "GPT"), ("fake:big\x1b[2J", "Big\x1b[2J")]


async def prompts() -> Words:
    return [("review", "Review a diff")]


async def sign_ins() -> Words:
    return [("copilot", "GitHub Copilot")]


async def complete(text: str) -> Sequence[str]:
    """Return the line with each of the offered words."""
    completer = CommandCompleter({"model": models, "prompt": prompts, "sign_in": sign_ins})
    found = completer.get_completions_async(Document(text), CompleteEvent())
    return [text[: len(text) + each.start_position] + each.text async for each in found]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("/mod", ["/model"]),
        ("/re", ["/retry", "/review"]),
        ("/prompt ", ["/prompt review"]),
        ("/model gpt", ["/model fake:gpt-4.1"]),
        ("/retry FAKE:G", ["/retry fake:gpt-4.1"]),
        ("/login c", ["/login copilot"]),
        ("/usage ", []),
        ("/nonsense ", []),
        ("/usr/", []),
        ("Why", []),
        (" /mod", []),
        ("/system a\n/mod", []),
    ],
)
async def test_a_line_is_completed(text: str, lines: Sequence[str]) -> None:
    assert await complete(text) == lines


async def test_a_slash_offers_every_command() -> None:
    assert (await complete("/"))[: len(COMMANDS)] == [f"/{command.name}" for command in COMMANDS]


async def test_paths_with_spaces_are_completed(tmp_path: Path) -> None:
    (tmp_path / "a b.py").write_text("", "utf-8")
    (tmp_path / "a dir").mkdir()
    (tmp_path / ".hidden").write_text("", "utf-8")
    (tmp_path / "a\x1b[2J").write_text("", "utf-8")

    assert await complete(f"/file {tmp_path}/") == [f"/file {tmp_path}/a b.py", f"/file {tmp_path}/a dir/"]
    assert await complete(f"/save {tmp_path}/a d") == [f"/save {tmp_path}/a dir/"]
    assert await complete(f"/file {tmp_path}/.h") == [f"/file {tmp_path}/.hidden"]
    assert await complete(f"/file {tmp_path}/none/x") == []
