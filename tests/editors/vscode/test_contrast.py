"""The extension in a theme with high contrast."""

from __future__ import annotations

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import Reply

pytestmark = [pytest.mark.editor, pytest.mark.slow]

LEAST_CONTRAST = 7.0
"""The ratio that WCAG requires for enhanced contrast."""

CONTRAST = """
(element) => {
  const parse = (text) => text.match(/[\\d.]+/g).map(Number);
  const luminance = (colour) => {
    const [red, green, blue] = colour.slice(0, 3).map((each) => {
      const part = each / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  let behind = element;
  const isClear = ({ backgroundColor }) => (parse(backgroundColor)[3] ?? 1) === 0;
  while (isClear(getComputedStyle(behind))) behind = behind.parentElement;
  const [one, other] = [getComputedStyle(element).color, getComputedStyle(behind).backgroundColor]
    .map((each) => luminance(parse(each)));
  return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
}"""


def test_answers_are_readable_in_high_contrast(chat, provider):
    set_theme = (
        "await vscode.workspace.getConfiguration('workbench').update('colorTheme', values[0] ?? undefined, 1)"
    )
    chat.js(set_theme, "Default High Contrast")
    try:
        chat.wait_until_shown(chat.page.locator(".monaco-workbench.hc-black"))
        provider.script(Reply.events(completion_stream(["Hello ", "there."])))
        chat.ask("@jumpseat Hello?")
        chat.wait_for_answer_text("Hello there.")
        chat.wait_for_answer()
        for text in ("Hello there.", "fake:fake-model"):
            shown = chat.answers.last.get_by_text(text).filter(visible=True).first
            assert shown.evaluate(CONTRAST) >= LEAST_CONTRAST, text
        assert chat.status.locator("a").first.evaluate(CONTRAST) >= LEAST_CONTRAST
    finally:
        chat.js(set_theme, None)
    chat.wait_until_hidden(chat.page.locator(".monaco-workbench.hc-black"))
