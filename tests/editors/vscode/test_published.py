"""The extension in the published VS Code, and on the page of the Marketplace."""

from __future__ import annotations

import re

import pytest

from tests.editors.vscode.code_server import REPOSITORY

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PROPOSED = "try { vscode.lm.registerLanguageModelProxyProvider({}) } catch (error) { return error.message }"


def test_the_page_of_the_marketplace_has_no_relative_links() -> None:
    # The Marketplace does not know the repository's address, which would have to precede relative links.
    page = (REPOSITORY / "editors/vscode/README.md").read_text("utf-8")
    assert re.findall(r"\]\((?!https://|#)[^)]*\)|<img", page) == []


def test_an_extension_is_refused_a_proposed_interface(window):
    assert "CANNOT use API proposal: chatParticipantPrivate" in (window.js(PROPOSED) or "")
