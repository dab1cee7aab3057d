"""A replacement omits fences and chatter, but keeps each line of the answer that is also in the target."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from jumpseat.engine.replacement import choose_fence, find_replacement

VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "edits.json").read_text("utf-8"))

PAGE = Path(__file__).parents[3] / "docs" / "protocol" / "chat.md"

NASTY = st.lists(
    st.sampled_from(
        (
            "```",
            "````",
            "~~~",
            "```py",
            "  ```",
            "a = 1",
            "    b",
            "",
            " ",
            "\r",
            "\t",
            "Here is the code:",
            "`",
        )
    ),
    max_size=9,
).map("\n".join)


@pytest.mark.requirement("2:edit-replacement")
@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: str(vector["name"]))
def test_the_replacement_is_the_code_of_the_answer(vector: dict[str, Any]) -> None:
    found = find_replacement(vector["answer"], vector["target"], vector.get("languageId"))

    assert found == vector["replacement"]


def test_the_example_of_the_protocol_page_is_correct() -> None:
    section = PAGE.read_text("utf-8").partition("## Edits")[2].partition("\n## ")[0]
    request, result = map(json.loads, re.findall(r"^```json\n(.*?)^```$", section, re.M | re.S))
    target = request["params"]["target"]

    assert find_replacement(result["text"], target["text"], target["languageId"]) == result["replacement"]


@pytest.mark.requirement("2:edit-replacement")
@given(NASTY, st.sampled_from(["python", "markdown", None]))
def test_an_answer_in_the_requested_fence_is_unchanged(text: str, language: str | None) -> None:
    text = text.replace("\r", "").strip() or "x"
    # The outer fence must be longer than every fence inside, even if the target requires a shorter one.
    fence = max(choose_fence(text, language), choose_fence("x = 1", language), key=len)

    assert find_replacement(f"{fence}\n{text}\n{fence}", "x = 1", language) == text


@given(NASTY, NASTY, st.sampled_from(["python", "markdown", "plaintext", None]))
@example("```", "", "python")
@example("Here is the code:\n\n\n```", "", "python")
def test_any_answer_can_be_read_without_inventing_lines(
    answer: str, target: str, language: str | None
) -> None:
    found = find_replacement(answer, target, language)

    assert (found is None) == (not answer.strip())
    answer_lines = {line.strip() for line in answer.splitlines()}
    assert {line.strip() for line in (found or "").splitlines()} - {""} <= answer_lines


@pytest.mark.requirement("2:edit-replacement")
@given(
    st.lists(st.sampled_from(["total = 0", "for each in items:", "return total", "    pass"]), min_size=1),
    st.sampled_from(["", "Sure.\n", "Note the change.\n\n"]),
)
def test_an_answer_with_a_line_of_the_target_outside_its_fences_is_taken_whole(
    kept: list[str], words: str
) -> None:
    code = "\n".join(kept)
    answer = f'{words}{code}\n"""\n```\nexample()\n```\n"""'

    assert find_replacement(answer, f"{code}\n", "python") == f"{answer}\n"


@pytest.mark.parametrize(
    ("target", "language", "fence"),
    [
        ("x = 1", "python", "```"),
        ("", None, "```"),
        ("# T", "markdown", "````"),
        ("```\n```", "python", "````"),
        ("`````", "markdown", "``````"),
    ],
)
def test_the_requested_fence_is_longer_than_any_in_the_target(
    target: str, language: str | None, fence: str
) -> None:
    assert choose_fence(target, language) == fence
