"""The functions for other packages: requests with callbacks, models, context and presets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import FakeCall, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.emacs.child import Child, running_emacs
from tests.editors.provider import MODELS, WORDS, hold_answer, list_sent_texts
from tests.unit.pages import EDITOR_PAGES, blocks

pytestmark = [pytest.mark.editor, pytest.mark.slow]

RECORD = """(progn (setq ended nil pieces nil)
    (defun note-end (text info) (push (list text info (buffer-name)) ended)))"""

PRESETS = """'(("brief" :description "Short answers" :model "fake:other-model" :system "Be brief."
                  :settings (:temperature 0.5) :tools ("files/read")))"""


@pytest.fixture
def lisp_child(home: Path, package: Path, provider: ThreadedUpstream, tmp_path: Path) -> Iterator[Child]:
    """An Emacs with a file of a project, and a function that records the ends of requests."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    (root / "a.py").write_text("x = 1\ny = 2\n")
    with running_emacs(home, str(root / "a.py"), package=package) as child:
        child.eval(RECORD)
        child.eval(f"(setq jumpseat-presets {PRESETS})")
        yield child


def wait_for_end(child: Child) -> tuple[str | None, dict[str, object], str]:
    """Wait for the callback; return its arguments, and the buffer in which it was called."""
    text, info, name = child.wait("(car ended)")
    return text, info, name


def test_a_request_passes_on_pieces_and_calls_back_once(lisp_child, provider):
    gate = Gate()
    provider.script(hold_answer("One ", gate=gate))
    lisp_child.eval("""(setq request (jumpseat-request "Count." :callback #'note-end
                         :on-text (lambda (text) (push text pieces))))""")
    lisp_child.wait('(equal pieces (list "One "))')
    assert lisp_child.eval("(list (jumpseat-request-running-p request) ended)") == [True, None]
    provider.open(gate)
    text, info, buffer = wait_for_end(lisp_child)
    assert (text, buffer) == ("One  End.", "a.py")
    assert (info["status"], info["model"], info["stop-reason"]) == ("done", "fake:fake-model", "end_turn")
    assert "".join(reversed(lisp_child.eval("pieces"))) == "One  End."
    assert lisp_child.eval("(list (length ended) (jumpseat-request-running-p request))") == [1, None]
    assert list_sent_texts(provider, 0) == ["Count."]


def test_a_request_that_is_stopped_calls_back_with_the_text_so_far(lisp_child, provider):
    provider.script(hold_answer("Half", gate=Gate()))
    lisp_child.eval("""(setq request (jumpseat-request "Count." :callback #'note-end
                         :on-text (lambda (text) (push text pieces))))""")
    lisp_child.wait("pieces")
    lisp_child.eval("(jumpseat-request-stop request)")
    text, info, _ = wait_for_end(lisp_child)
    assert (text, info["status"], info["error"]) == ("Half", "stopped", None)


def test_a_request_that_fails_calls_back_with_a_sentence(lisp_child, provider):
    provider.script(Reply.json({"error": {"message": "The key is wrong."}}, 401))
    lisp_child.eval('(jumpseat-request "Count." :callback #\'note-end)')
    text, info, _ = wait_for_end(lisp_child)
    assert (text, info["status"]) == (None, "failed")
    assert "The key is wrong." in str(info["error"])


def test_a_request_has_messages_context_and_the_values_of_a_preset(lisp_child, provider):
    provider.script(Reply.events(WORDS))
    lisp_child.eval("""(jumpseat-request '("What is x?" "One." "And y?") :preset "brief"
        :settings '(:temperature 0.1) :callback #'note-end
        :context (list (jumpseat-context-region 7 13) (jumpseat-context-file buffer-file-name)))""")
    wait_for_end(lisp_child)
    body = provider.requests[0].json
    system, *messages = list_sent_texts(provider, 0)
    assert (system, body["model"], body["temperature"]) == ("Be brief.", "other-model", 0.1)
    assert messages[:2] == ["What is x?", "One."]
    assert messages[2].index("y = 2") < messages[2].index("x = 1") < messages[2].index("And y?")
    assert [each["function"]["name"] for each in body["tools"]] == ["files__read"]


@pytest.mark.parametrize(
    ("approve", "allowed"),
    [("", False), (":approve (lambda (_delta decide) (funcall decide t))", True)],
)
def test_calls_are_denied_unless_the_caller_approves_them(lisp_child, provider, tmp_path, approve, allowed):
    arguments = json.dumps({"path": "new.txt", "text": "x"})
    call = FakeCall("c1", "files__write", [arguments])
    provider.script(Reply.events(completion_stream(tool_calls=[call])), Reply.events(WORDS))
    lisp_child.eval(f"""(jumpseat-request "Write." :tools '("files/*") :callback #'note-end {approve})""")
    text, _, _ = wait_for_end(lisp_child)
    assert text == "Hello there."
    assert (tmp_path / "project/new.txt").exists() is allowed


def test_a_callback_of_a_buffer_that_was_killed_is_called_elsewhere(lisp_child, provider):
    gate = Gate()
    provider.script(Reply.events([gate, *WORDS]))
    lisp_child.eval("""(with-current-buffer (get-buffer-create "gone")
                         (jumpseat-request "Count." :callback #'note-end) (kill-buffer))""")
    provider.open(gate)
    text, _, buffer = wait_for_end(lisp_child)
    assert text == "Hello there."
    assert buffer.startswith(" *temp*")


def test_the_models_are_listed(lisp_child, provider):
    provider.default(MODELS, path="/v1/models")
    lisp_child.eval(
        "(progn (setq found nil) (jumpseat-models (lambda (models err) (push (list models err) found))))"
    )
    models, err = lisp_child.wait("(car found)")
    assert err is None
    assert {"fake:fake-model", "fake:other-model"} <= {each["id"] for each in models}


def test_a_preset_is_applied_to_a_chat(lisp_child, provider):
    provider.script(Reply.events(WORDS))
    lisp_child.command("jumpseat")
    lisp_child.wait("jumpseat-chat-mode")
    lisp_child.command("jumpseat-preset", "brief")
    lisp_child.wait_for_message("The preset brief was applied.")
    head = "model: fake:other-model\nsystem: Be brief.\ntools:\n- files/read\nsettings:\n  temperature: 0.5\n"
    assert lisp_child.text == f"---\n{head}---\n\n## Me\n\n"
    lisp_child.wait_for_text("tools: files")
    lisp_child.ask("Hello?")
    lisp_child.wait_for_text("Hello there.")
    lisp_child.wait_until_idle()
    assert [each["function"]["name"] for each in provider.requests[0].json["tools"]] == ["files__read"]


def test_an_unknown_preset_is_an_error_that_names_the_option(lisp_child):
    form = '(condition-case err (jumpseat-request "x" :preset "none") (user-error (cadr err)))'
    assert lisp_child.eval(form).startswith("There is no preset named none in ")


def test_the_command_of_the_readme_shows_the_answer(lisp_child, provider):
    provider.script(Reply.events(completion_stream(["Down."])))
    (command,) = [block for block in blocks(EDITOR_PAGES["emacs"], "elisp") if "my-antonym" in block.text]
    lisp_child.eval(command.text)
    lisp_child.eval('(progn (insert "up ") (goto-char 1))')
    lisp_child.command("my-antonym")
    lisp_child.wait_for_text("Down.")
    assert list_sent_texts(provider, 0) == ["Answer with one word. The opposite of: up"]
