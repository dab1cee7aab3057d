"""The reader that finds the names that one file of the Emacs package uses from another file."""

from __future__ import annotations

import re

import pytest

from tests.unit.elisp_modules import PACKAGE, Source, find_names_used, read_names_used

LOWER = """
(defvar jumpseat-log nil "A log.")
(defface jumpseat-note '((t :inherit shadow)) "A face.")
(defun jumpseat-say (text) (message "%s" text))
(define-minor-mode jumpseat-chat-mode "A mode." :lighter " jumpseat")
(cl-defstruct (jumpseat-turn (:constructor jumpseat-turn--make) (:copier nil)) id (ended nil))
(define-error 'jumpseat-missing "Missing")
"""


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ('(defun f () (jumpseat-say "x"))', "jumpseat-say"),
        ('(declare-function jumpseat-say "lower")', "jumpseat-say"),
        ("(run-at-time 0 nil #'jumpseat-say)", "jumpseat-say"),
        ("(add-hook 'kill-buffer-hook 'jumpseat-say)", "jumpseat-say"),
        ('\'(("Say" jumpseat-say))', "jumpseat-say"),
        ('(easy-menu-define menu map "Menu." \'("x" ["Say" jumpseat-say]))', "jumpseat-say"),
        ("`(progn ,(f) (jumpseat-say ,@rest))", "jumpseat-say"),
        ('(list ?\\" ?\\; ?( jumpseat-log)', "jumpseat-log"),
        ("(defvar jumpseat-log)", "jumpseat-log"),
        ("(propertize x 'face 'jumpseat-note)", "jumpseat-note"),
        ("(jumpseat-chat-mode -1)", "jumpseat-chat-mode"),
        ("(add-hook 'jumpseat-chat-mode-hook #'f)", "jumpseat-chat-mode-hook"),
        ("(jumpseat-turn--make :id 1)", "jumpseat-turn--make"),
        ("(setf (jumpseat-turn-ended turn) t)", "jumpseat-turn-ended"),
        ("(signal 'jumpseat-missing nil)", "jumpseat-missing"),
    ],
)
def test_a_name_of_another_file_is_found(source: str, name: str) -> None:
    assert find_names_used({"lower": LOWER, "upper": source})["upper"] == {"lower": {name}}


@pytest.mark.parametrize(
    "source",
    [
        ";; See `jumpseat-say'.\n(f)",
        '(substitute-command-keys "Run \\\\[jumpseat-say], or \\"x\\".")',
        "(defun jumpseat-say () nil)\n(jumpseat-say)",
        "(defface f '((t)) \"A face.\" :group 'jumpseat-say)",
        "(provide 'jumpseat-say)",
        "(jumpseat-say-more jumpseat-logs)",
    ],
)
def test_comments_texts_and_own_names_are_not_uses(source: str) -> None:
    assert find_names_used({"lower": LOWER, "upper": source})["upper"] == {}


def test_a_file_that_is_required_is_found_without_a_use() -> None:
    assert find_names_used({"lower": LOWER, "upper": "(defun f () (require 'lower))"})["upper"] == {
        "lower": set()
    }


def test_a_function_and_a_variable_with_the_same_name_are_told_apart() -> None:
    sources = {"variable": "(defvar jumpseat-model nil)", "function": "(defun jumpseat-model ())"}

    for use, needed in {
        "(jumpseat-model)": {"function"},
        "#'jumpseat-model": {"function"},
        "(f jumpseat-model)": {"variable"},
        "(f 'jumpseat-model)": {"function", "variable"},
    }.items():
        assert find_names_used({**sources, "upper": use})["upper"].keys() == needed


def test_a_mode_whose_variable_belongs_to_another_file_does_not_define_it() -> None:
    mode = Source('(define-minor-mode jumpseat-chat-mode "A mode." :variable jumpseat-chat-mode)')

    assert "jumpseat-chat-mode" not in mode.variables


def test_private_names_of_a_file_stay_in_it() -> None:
    """`jumpseat--NAME` belongs to the whole package, `jumpseat-FILE--NAME` to one file."""
    used = {name for places in read_names_used().values() for names in places.values() for name in names}

    assert "jumpseat--rpc-request" in used
    assert {name for name in used if "--" in name.removeprefix("jumpseat--")} == set()


def test_the_manual_describes_every_public_name() -> None:
    sources = [Source(path.read_text("utf-8")) for path in PACKAGE.glob("*.el")]
    defined = {name for source in sources for name in source.functions | source.variables}
    # The manual describes the keymaps and hooks of modes together.
    modes = {name for name in defined if name.endswith("-mode")}
    public = {name for name in defined if "--" not in name and not name.startswith("make-")}
    public -= {f"{mode}-{what}" for mode in modes for what in ("map", "hook")}
    manual = set(re.findall(r"jumpseat[\w-]*", (PACKAGE / "jumpseat.texi").read_text("utf-8")))

    assert {"jumpseat-request", "jumpseat-model", "jumpseat-note"} <= public
    assert public - manual == set()
