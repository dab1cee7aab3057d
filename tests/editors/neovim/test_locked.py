"""Buffers that a user has locked: nothing is written into them, and a message says so."""

from __future__ import annotations

import pytest

from jumpseat.testing.upstream import Reply
from tests.editors.provider import WORDS

pytestmark = [pytest.mark.editor, pytest.mark.slow]


def test_a_locked_chat_gets_no_model_and_no_question(child, provider):
    child.command("setlocal nomodifiable")
    child.command("Jumpseat model fake:other-model")
    child.wait("#_G.messages == 1")
    child.command("Jumpseat ask Why?")
    assert child.messages == [
        "jumpseat: The chat cannot be changed: 'modifiable' is off.",
        "jumpseat: The question cannot be written into the chat: 'modifiable' is off.",
    ]
    assert child.text == "## Me\n\n"


def test_a_new_chat_can_be_written_although_new_buffers_are_locked(child, provider):
    provider.script(Reply.events(WORDS))
    child.command("set nomodifiable")
    child.command("Jumpseat!")
    child.ask("Hello?")
    child.wait_until_idle()
    assert "Hello there." in child.text


def test_code_is_not_inserted_into_a_locked_file(child, provider, tmp_path):
    (tmp_path / "a.py").write_text("first\n")
    child.command(f"edit {tmp_path / 'a.py'}")
    child.command("setlocal nomodifiable")
    child.command("Jumpseat")
    child.write("```\nx = 1\n```")
    child.command("Jumpseat insert")
    assert child.messages == ["jumpseat: Code cannot be inserted into a.py: 'modifiable' is off."]


def test_code_is_inserted_into_a_read_only_file_like_typed_text(child, provider, tmp_path):
    (tmp_path / "a.py").write_text("first\n")
    child.command(f"view {tmp_path / 'a.py'}")
    child.command("Jumpseat")
    child.write("```\nx = 1\n```")
    child.command("Jumpseat insert")
    child.command("buffer a.py")
    assert child.text == "first\nx = 1"
