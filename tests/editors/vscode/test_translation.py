"""The extension in another language than English."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply
from tests.editors.vscode.code_server import VSIX, running_code_server
from tests.editors.vscode.conftest import configuration

pytestmark = [pytest.mark.editor, pytest.mark.slow]

LANGUAGE = "de"
_FROM_THE_DAEMON = re.compile(r"fake|copilot|github", re.IGNORECASE)
"""Words in the labels that come from the daemon, which are not translated."""


def translate(text: str) -> str:
    """Translate a text into the language of the tests, in which it differs from the original."""
    return f"⟦{text}⟧"


def add_translation(extension: Path) -> None:
    """Add a translation of all texts to a packed extension."""
    with zipfile.ZipFile(extension, "a") as archive:
        for name, translation in (
            ("l10n/bundle.l10n.json", f"l10n/bundle.l10n.{LANGUAGE}.json"),
            ("package.nls.json", f"package.nls.{LANGUAGE}.json"),
        ):
            texts = json.loads(archive.read(f"extension/{name}"))
            translations = {key: translate(text) for key, text in texts.items()}
            archive.writestr(f"extension/{translation}", json.dumps(translations))


@pytest.fixture(scope="module")
def only_german(tmp_path_factory, browser, provider_of_all, github) -> Iterator:
    """The window of a VS Code in the language of these tests, for all tests of this module."""
    from tests.editors.vscode.window import Window

    home = tmp_path_factory.mktemp("german")
    (home / "config.toml").write_text(configuration(provider_of_all, github))
    extension = tmp_path_factory.mktemp("extension") / VSIX.name
    shutil.copyfile(VSIX, extension)
    add_translation(extension)
    with running_code_server(home, extensions=(extension,)) as server:
        context = browser.new_context(viewport={"width": 1280, "height": 800})
        # VS Code's own texts stay English, because there is no language pack.
        context.add_init_script(
            "Object.defineProperty(globalThis, '_VSCODE_NLS_LANGUAGE',"
            f" {{ get: () => '{LANGUAGE}', set: () => {{}} }})"
        )
        try:
            yield Window(server, context)
        finally:
            context.close()


@pytest.fixture
def german(only_german, provider):
    """The window of `only_german`, in which everything of the previous test is closed."""
    only_german.reset()
    return only_german


def test_labels_of_the_status_menu_are_translated(german):
    assert german.js("return vscode.env.language") == LANGUAGE
    german.start("jumpseat.status")
    german.wait_for_text(translate("Commands"), within=german.quick_input)
    labels = german.quick_input.locator(".monaco-list-row .quick-input-list-label").all_inner_texts()
    labels = [line for label in labels for line in label.splitlines() if line.strip()]
    assert [each for each in labels if "⟦" not in each and not _FROM_THE_DAEMON.search(each)] == []


def test_a_hint_of_the_daemon_names_a_command_as_the_command_palette_does(german):
    german.start("jumpseat.status")
    german.wait_for_text(f"Run `jumpseat: {translate('Install Local Model')}`", within=german.quick_input)


def test_numbers_are_formatted_for_the_language(german, provider):
    usage = {"prompt_tokens": 12345, "completion_tokens": 2, "total_tokens": 12347}
    provider.script(Reply.events(completion_stream(["Yes."], usage=usage)))
    german.new_chat()
    german.ask("@jumpseat Is it?")
    german.wait_for_answer_text("Yes.")
    german.wait_for_text("⟦12.345 tokens in⟧")
