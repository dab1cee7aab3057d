"""The commands of a conversation, on a real terminal with the real daemon."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Reply
from tests.e2e.repl.chats import PATH, answer, list_messages, models, questions
from tests.fakes.typist import ALT_ENTER, TAB, Typist

pytestmark = [pytest.mark.timeout(120), pytest.mark.slow, pytest.mark.usefixtures("ignored_interrupts")]

Start = Callable[..., Typist]

KEPT = re.compile(r"^Kept\. To continue it: jumpseat chat --conversation (\S+)$", re.MULTILINE)
"""Matches the last line of a conversation, which names its id."""


def test_help_shows_the_commands_the_prompts_and_the_keys(typist: Start) -> None:
    person = typist(size=(60, 80))
    person.enter("/help")
    person.see("put a space before it.")
    shown = person.leave()

    for text in ("/model [NAME]", "/quit", "/shout: ", "Alt-Enter", "Ctrl-D: leave"):
        assert text in shown


def test_model_and_system_apply_to_the_next_questions(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist("--model", "fake:first")
    person.enter("/model")
    person.see("The model is fake:first.")
    person.enter("/model fake:second")
    person.enter(f"/system Be brief.{ALT_ENTER}Be kind.")
    person.enter("Hi")
    person.see("fake:second")
    person.see("Hello")
    person.enter("/system -")
    person.enter("/model nonsense")
    person.see("warning: fake does not list the model 'nonsense'.")
    person.enter("/model fake:second")
    person.see("come from fake:second.", times=2)
    person.enter("Bye")
    person.see("Hello", times=2)
    person.leave()

    assert models(upstream) == ["second", "second"]
    assert list_messages(upstream, 0) == [("system", "Be brief.\nBe kind."), ("user", "Hi")]
    assert list_messages(upstream, 1)[0] == ("user", "Hi")


def test_an_unknown_command_is_not_sent_as_a_question(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist()
    person.enter("/modl fake:m")
    person.see("There is no command /modl. Did you mean /model?")
    person.enter(" /modl is what?")
    person.see("Hello")
    person.leave()

    assert questions(upstream) == ["/modl is what?"]


def test_files_and_images_are_sent_only_with_the_next_question(
    typist: Start, upstream: ThreadedUpstream, tmp_path: Path
) -> None:
    code, image = tmp_path / "a b.py", tmp_path / "image"
    code.write_text("one\ntwo\nthree\n", "utf-8")
    image.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(8))
    person = typist()
    person.enter(f"/file {code}:2-3")
    person.see("Attached to the next question: a b.py:2-3.")
    person.enter("/file none.py")
    person.see("There is no file none.py.")
    person.enter(f"/attach '{image}'")
    person.see("Attached to the next question: a b.py:2-3, an image (image/png).")
    person.enter("Explain")
    person.see("Hello")
    person.enter("And?")
    person.see("Hello", times=2)
    person.leave()

    sent = json.dumps(list_messages(upstream, 0))
    assert "two\\nthree" in sent
    assert "one\\n" not in sent
    assert base64.b64encode(image.read_bytes()).decode() in sent
    assert list_messages(upstream, 1)[-1] == ("user", "And?")


@pytest.mark.requirement("13:cli", "13:rules")
def test_pages_are_sent_with_each_question_and_missing_rules_are_noted_once(
    typist: Start, upstream: ThreadedUpstream, configuration: Path
) -> None:
    with configuration.open("a", encoding="utf-8") as file:
        file.write("[fetch]\nprivate = true\n")
    upstream.default(Reply.raw(b"<title>Titled</title><p>First page.", 200, "text/html"), "/a")
    upstream.default(Reply.raw(b"Second page.", 200), "/b")
    upstream.default(Reply.raw(b"", 404), "/none")
    person = typist("--rules", "-f", f"{upstream.origin}/a")
    person.enter(f"/file {upstream.origin}/b")
    person.see(f"Attached to the next question: Titled, {upstream.origin}/b.")
    person.enter(f"/file {upstream.origin}/none")
    person.see("answered HTTP")
    person.enter("Compare")
    person.see("note: this directory has no rules.")
    person.enter("And?")
    person.see("Hello", times=2)
    assert person.leave().count("has no rules") == 1

    chats = [request for request in upstream.requests if request.path.endswith("completions")]
    first, second = (request.json["messages"] for request in chats)
    assert all("First page." in str(each) and "Second page." in str(each) for each in (first, second))


def test_attachments_can_be_removed(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist()
    person.enter("/file README.md")
    person.see("README.md.")
    person.enter("/attach -")
    person.see("Nothing is attached to the next question.")
    person.enter("Hi")
    person.see("Hello")
    person.leave()

    assert list_messages(upstream) == [("user", "Hi")]


def test_a_configured_prompt_can_be_used_as_a_command(typist: Start, upstream: ThreadedUpstream) -> None:
    person = typist()
    person.enter("/shout for joy")
    person.see("> Shout: for joy")
    person.see("Hello")
    person.enter("/prompt shout again")
    person.see("Hello", times=2)
    person.enter("/prompt")
    person.see("/shout: no description")
    person.enter("/prompt shuot")
    person.see("did you mean shout?")
    person.leave()

    assert questions(upstream) == ["Shout: for joy", "Shout: again"]


def test_retry_replaces_the_answer_and_can_use_another_model(
    typist: Start, upstream: ThreadedUpstream
) -> None:
    upstream.script(answer("First"), answer("Second"), answer("Third"), path=PATH)
    person = typist()
    person.enter("/retry")
    person.see("There is no question yet.")
    person.enter("Hi")
    person.see("First")
    person.enter("/retry fake:big")
    person.see("Second")
    person.enter("And?")
    person.see("Third")
    person.leave()

    assert models(upstream) == ["m", "big", "m"]
    assert list_messages(upstream) == [("user", "Hi"), ("assistant", "Second"), ("user", "And?")]


def test_edit_opens_the_last_question_in_the_editor(
    typist: Start, upstream: ThreadedUpstream, tmp_path: Path
) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\nsed -i s/sky/sea/ "$1"\n', "utf-8")
    editor.chmod(0o700)
    person = typist(VISUAL=str(editor))
    person.enter("Why is the sky blue?")
    person.see("Hello")
    person.enter("/edit")
    person.see("> Why is the sea blue?")
    person.see("Hello", times=2)
    person.enter("/edit")
    person.see("The question is unchanged, so it was not asked again.")
    person.leave()

    assert list_messages(upstream, 1) == [("user", "Why is the sea blue?")]
    assert len(questions(upstream)) == 2


def test_an_editor_that_cannot_be_started_is_reported(typist: Start) -> None:
    person = typist(VISUAL="/nonexistent/editor")
    person.enter("/edit")
    person.see("hint: Set $EDITOR to the command of your editor.")
    person.leave()


def test_save_writes_a_transcript_and_asks_before_it_replaces_a_file(typist: Start, tmp_path: Path) -> None:
    path = tmp_path / "chat of today.md"
    path.write_text("mine", "utf-8")
    person = typist()
    person.enter(f"/save {path}")
    person.see("there is nothing to save")
    person.enter("Hi")
    person.see("Hello")
    person.enter(f"/save {path}")
    person.see("Replace it? [y/N]")
    person.enter("n")
    person.see("Nothing was written.")
    assert path.read_text("utf-8") == "mine"
    person.enter(f"/save {path}")
    person.see("Replace it? [y/N]", times=2)
    person.enter("y")
    person.see("Saved to")
    person.enter("/save /nonexistent/x.md")
    person.see("cannot be written")
    person.enter(f"/save {tmp_path}")
    person.see("hi.md.")
    person.leave()

    text = path.read_text("utf-8")
    assert "conversation: 2" in text  # An id begins with the year.
    assert text.endswith("## Me\n\nHi\n\n## Assistant\n\nHello\n")
    assert (tmp_path / "hi.md").read_text("utf-8") == text


def test_the_options_of_a_question_apply_to_a_conversation(
    typist: Start, upstream: ThreadedUpstream, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("one\n", "utf-8")
    upstream.script(answer("*raw*"), path=PATH)
    person = typist("-f", str(tmp_path / "a.py"), "-o", "temperature=0.5", "--raw")
    person.see("> ")
    person.type(f"/option temp{TAB}")
    person.see("> /option temperature=")
    person.enter("1")
    person.see("use temperature=1.")
    person.enter("/option seed=7")
    person.see("use seed=7.")
    person.enter("/option temperature=")
    person.see("temperature is no longer set.")
    person.enter("/option seed=x")
    person.see("settings.seed must be")
    person.enter("/option nonsense=1")
    person.see("does not set a setting of this model")
    person.enter("/option")
    person.see("seed=7")
    person.enter("Hi")
    person.see("*raw*")
    person.see("fake:m")
    person.leave()

    (sent,) = [request.json for request in upstream.requests if request.path == PATH]
    assert "one" in json.dumps(sent["messages"])
    assert sent["seed"] == 7
    assert "temperature" not in sent


def test_usage_is_summed_and_clear_resets_it(typist: Start, upstream: ThreadedUpstream) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15, "cost": 0.0123}
    upstream.default(Reply.events(completion_stream(["Hello"], usage=usage)), PATH)
    person = typist()
    person.enter("One")
    person.see("$0.0123 · fake:m")
    person.enter("Two")
    person.see("$0.0123 · fake:m", times=2)
    person.enter("/usage")
    person.see("2 turns · 20 tokens in · 10 out")
    person.see("$0.0246")
    person.enter("/clear")
    person.see("This is a new conversation.")
    person.enter("/history")
    person.see("The conversation is empty.")
    person.enter("Three")
    person.see("Hello", times=3)
    person.enter("/history")
    person.see("Assistant")
    person.leave()

    assert list_messages(upstream) == [("user", "Three")]


def test_a_conversation_is_continued(typist: Start, upstream: ThreadedUpstream) -> None:
    first = typist("--model", "fake:big")
    first.enter("Hi")
    first.see("Hello")
    first.leave()
    second = typist("-c")
    second.see("Continuing “Hi” (1 question). /history shows it.")
    second.enter("/retry")
    second.see("Hello")
    second.enter("And?")
    second.see("Hello", times=2)
    shown = second.leave()

    assert list_messages(upstream) == [("user", "Hi"), ("assistant", "Hello"), ("user", "And?")]
    assert models(upstream) == ["big"] * 3
    ended, continued = (KEPT.search(text) for text in (first.shown, shown))
    assert ended is not None
    assert continued is not None
    assert continued[1] == ended[1]


def test_the_diff_in_a_prompt_is_shortened_for_the_model_of_the_conversation(
    typist: Start, upstream: ThreadedUpstream, configuration: Path
) -> None:
    with configuration.open("a") as config:
        config.write('[[providers.fake.models]]\nid = "other-model"\nmax_prompt_tokens = 200\n')
    person = typist("--model", "fake:other-model")
    person.enter(f"/commit diff --git a/b.py b/b.py{ALT_ENTER}+{'x' * 400}")
    person.see("warning: The diff of b.py is too long for the model. Only its beginning is used.")
    person.see("Hello")
    person.leave()

    (question,) = questions(upstream)
    assert "diff --git a/b.py b/b.py" in question
    assert "xxx" not in question
