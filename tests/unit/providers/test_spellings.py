"""A name in any spelling is resolved to the listed model that it means, and never to another one."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from jumpseat.providers.spellings import find_candidates, parse_spelling
from tests.recorded.recordings import TRANSCRIPTS

pytestmark = pytest.mark.slow

COPILOT = (
    "claude-opus-4.6",
    "claude-sonnet-4",
    "claude-sonnet-4.5",
    "gpt-4.1",
    "gpt-4o",
    "gpt-4o-2024-05-13",
    "gpt-4o-2024-11-20",
    "o3-mini",
)
ANTHROPIC = (
    "claude-3-5-sonnet-20240620",
    "claude-3-5-sonnet-20241022",
    "claude-opus-4-6",
    "claude-haiku-4-5",
)
ROUTER = ("anthropic/claude-opus-4.6", "openai/gpt-4o", "acme/llama-3", "other/llama-3", "x/y:free", "x/y")


@pytest.mark.requirement("4:upstream-spellings")
@pytest.mark.parametrize(
    ("name", "listed", "meant"),
    [
        ("claude-opus-4-6", COPILOT, ["claude-opus-4.6"]),
        ("claude-sonnet-4-5-20250929", COPILOT, ["claude-sonnet-4.5"]),
        ("claude-sonnet-4-5@20250929", COPILOT, ["claude-sonnet-4.5"]),
        ("claude-sonnet-4-20250514", COPILOT, ["claude-sonnet-4"]),
        ("anthropic/claude-sonnet-4-5", COPILOT, ["claude-sonnet-4.5"]),
        ("models/claude-sonnet-4.5", COPILOT, ["claude-sonnet-4.5"]),
        ("Claude-Sonnet-4.5", COPILOT, ["claude-sonnet-4.5"]),
        ("o3-mini-2025-01-31", COPILOT, ["o3-mini"]),
        ("gpt-4o-latest", COPILOT, ["gpt-4o"]),
        ("gpt-4o", COPILOT, ["gpt-4o"]),
        ("gpt-4o-2024-05-13", COPILOT, ["gpt-4o-2024-05-13"]),
        ("GPT-4o-2024-05-13", COPILOT, ["gpt-4o-2024-05-13"]),
        ("gpt-4o-20240513", COPILOT, ["gpt-4o-2024-05-13"]),
        ("gpt-4o-2024-08-06", COPILOT, []),
        ("gpt-4", COPILOT, []),
        ("gpt-4-1106-preview", COPILOT, []),
        ("claude-opus-4.6", ANTHROPIC, ["claude-opus-4-6"]),
        ("claude-haiku-4.5-20251001", ANTHROPIC, ["claude-haiku-4-5"]),
        ("claude-3.5-sonnet-20240620", ANTHROPIC, ["claude-3-5-sonnet-20240620"]),
        ("claude-3-5-sonnet-latest", ANTHROPIC, ["claude-3-5-sonnet-20241022"]),
        ("claude-3.5-sonnet", ANTHROPIC, list(ANTHROPIC[:2])),
        ("claude-opus-4-6", ROUTER, ["anthropic/claude-opus-4.6"]),
        ("azure/gpt-4o", ROUTER, []),
        ("llama-3", ROUTER, ["acme/llama-3", "other/llama-3"]),
        ("acme/Llama-3", ROUTER, ["acme/llama-3"]),
        ("y", ROUTER, ["x/y"]),
        ("llama3", ("llama3:latest", "llama3:70b"), ["llama3:latest"]),
        ("x-20240101", ("x-latest",), []),
        ("-", ("_", "."), []),
        ("a.b", ("a-b", "a_b"), ["a-b", "a_b"]),
    ],
)
def test_a_name_resolves_to_the_closest_name_of_the_list(
    name: str, listed: list[str], meant: list[str]
) -> None:
    assert find_candidates(name, listed) == meant


@pytest.mark.requirement("4:upstream-spellings")
@pytest.mark.parametrize(
    ("name", "listed", "meant"),
    [
        ("claude-opus-4-6", COPILOT, ["claude-opus-4.6"]),
        ("claude-sonnet-4-5-20250929", COPILOT, ["claude-sonnet-4.5"]),
        ("o3-mini-2025-01-31", COPILOT, []),
        ("claude-haiku-4-5-20251001", ANTHROPIC, []),
        ("claude-haiku-4.5", ANTHROPIC, ["claude-haiku-4-5"]),
        ("gpt-4o-latest", COPILOT, []),
        ("claude-3-5-sonnet-latest", ANTHROPIC, []),
    ],
)
def test_in_an_incomplete_list_a_date_matters(name: str, listed: list[str], meant: list[str]) -> None:
    assert find_candidates(name, listed, complete=False) == meant


ODD = "abc4XİßǅK.-_ /@:\n20250929"
VERSIONED = (
    r"(models/|[a-z]{1,2}/){0,3}[a-z]{1,3}[-._ @:]{0,2}[0-9]?"
    r"([-@_.](20250929|2025[-_.]09[-.]29|latest)){0,3}"
)
names = st.text(st.sampled_from(ODD) | st.characters(), max_size=30) | st.from_regex(
    VERSIONED, fullmatch=True
)


def canonical(name: str) -> str:
    parts = parse_spelling(name)
    vendor = f"{parts.vendor}/" if parts.vendor else ""
    return f"{vendor}{parts.stem}{'-' if parts.version else ''}{parts.version}"


@given(names)
def test_parsing_a_canonical_name_does_not_change_it(name: str) -> None:
    assert canonical(canonical(name)) == canonical(name)


@given(names)
def test_a_canonical_name_resolves_to_its_original(name: str) -> None:
    assume(parse_spelling(name).stem)
    assert find_candidates(canonical(name), [name]) == [name]


@given(names, st.lists(names, unique=True), st.booleans())
def test_an_exact_match_wins_and_only_listed_names_are_returned(
    name: str, listed: list[str], complete: bool
) -> None:
    assert find_candidates(name, [*listed, *([] if name in listed else [name])], complete=complete) == [name]
    assert set(find_candidates(name, listed, complete=complete)) <= set(listed)


@given(st.lists(names, unique=True), st.data())
def test_the_order_of_the_list_does_not_matter(listed: list[str], data: st.DataObject) -> None:
    name = data.draw(names)
    other = data.draw(st.permutations(listed))
    assert sorted(find_candidates(name, listed)) == sorted(find_candidates(name, other))


RECORDED = sorted(TRANSCRIPTS.glob("copilot/**/models*.json")) if TRANSCRIPTS.is_dir() else []


@pytest.mark.skipif(not RECORDED, reason="the recorded lists of models are missing")
def test_rows_of_a_recorded_list_are_distinguished() -> None:
    for path in RECORDED:
        rows = [row["id"] for row in json.loads(path.read_text("utf-8"))["data"]]
        for row in rows:
            dashed = row.replace(".", "-")
            for written in (row, row.upper(), dashed, f"models/{row}", f"vendor/{dashed}", canonical(row)):
                assert find_candidates(written, rows) == [row], (path.name, written)
            # Without the row itself, only a name that differs in its date may match.
            others = [each for each in rows if each != row]
            for meant in find_candidates(row, others):
                assert parse_spelling(meant).stem == parse_spelling(row).stem
                assert not (parse_spelling(meant).version and parse_spelling(row).version)
