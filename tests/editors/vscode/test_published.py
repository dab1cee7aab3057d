"""The tests run with proposed interfaces refused, as the published VS Code refuses them."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.editor, pytest.mark.slow]

PROPOSED = "try { vscode.lm.registerLanguageModelProxyProvider({}) } catch (error) { return error.message }"


def test_an_extension_is_refused_a_proposed_interface(window):
    assert "CANNOT use API proposal: chatParticipantPrivate" in (window.js(PROPOSED) or "")
