"""The command line reports an answer that did not end normally."""

from __future__ import annotations

from typing import get_args

import pytest

from jumpseat.chat import StopReason
from jumpseat_cli.chat.stop_reasons import explain_missing_replacement, warning_about

COMPLETE = {"end_turn", "stop_sequence", "tool_use"}
ERRORS = {"cancelled", "error"}
OTHERS = {*get_args(StopReason), "max_rounds"} - COMPLETE - ERRORS


@pytest.mark.parametrize("reason", sorted(OTHERS))
def test_every_reason_for_an_incomplete_answer_has_a_sentence(reason: str) -> None:
    warning = warning_about(reason)
    assert warning is not None
    assert warning.startswith("warning: ")
    assert reason not in warning
    assert reason not in explain_missing_replacement(reason)[0]


@pytest.mark.parametrize("reason", [*sorted(COMPLETE | ERRORS), None])
def test_a_complete_answer_and_an_error_have_no_warning(reason: str | None) -> None:
    assert warning_about(reason) is None


def test_an_unknown_stop_reason_is_named() -> None:
    assert warning_about("novel") == "warning: the answer ended with novel; it may be cut off."
    assert explain_missing_replacement("novel") == ("the answer ended with novel", "Try again.")


@pytest.mark.parametrize("reason", sorted(OTHERS | COMPLETE))
def test_only_a_truncated_edit_suggests_a_higher_limit(reason: str) -> None:
    assert ("--max-tokens" in explain_missing_replacement(reason)[1]) == (reason == "max_tokens")
