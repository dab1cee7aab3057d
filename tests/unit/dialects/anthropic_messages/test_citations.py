"""Citations of text blocks, in all forms that the API and Copilot send."""

import json

import pytest

from jumpseat.chat import CitationEvent, TextStartEvent
from jumpseat.testing.answers.anthropic_messages import message
from tests.unit.dialects.anthropic_messages.answers import (
    TEXT,
    answer,
    block,
    end_events,
    raw,
    read,
    start_event,
    words,
)

WEB = {"type": "web_search_result_location", "url": "https://a.example/", "title": "A", "cited_text": "x"}
DOCUMENT = {"type": "char_location", "document_index": 0, "document_title": "Doc", "cited_text": "y"}
DOCUMENT |= {"start_char_index": 3, "end_char_index": 5}
PLACE = {"unit": "character", "start": 3, "end": 5, "document": 0}


def citations_in(data, form="text/event-stream"):
    events, error = read([data], form)
    assert error is None
    return [each for each in events if isinstance(each, CitationEvent)]


@pytest.mark.requirement("messages:citations", "messages:replay-citations")
def test_citations_belong_to_their_text_block():
    cited = [{"type": "citations_delta", "citation": each} for each in (WEB, DOCUMENT)]
    data = raw(
        start_event(),
        *block(0, TEXT, words("No source. ")),
        *block(1, {**TEXT, "citations": []}, cited[0], words("One."), cited[1]),
        *end_events(),
    )
    assert citations_in(data) == [
        CitationEvent(1, "https://a.example/", "A", "x"),
        CitationEvent(1, None, "Doc", "y", location=PLACE),
    ]
    got = answer(data)
    assert [each.text for each in got.content] == ["No source. ", "One."]
    assert got.content[0].opaque is None
    assert json.loads(got.content[1].opaque) == {"citations": [WEB, DOCUMENT]}


@pytest.mark.requirement("messages:citations", "messages:replay-citations")
def test_citations_in_a_blocks_start_are_emitted_with_its_first_text():
    more = {"type": "citations_delta", "citation": DOCUMENT}
    data = raw(start_event(), *block(0, {**TEXT, "citations": [WEB]}, words("One."), more), *end_events())
    events, _ = read([data])
    place = next(n for n, each in enumerate(events) if isinstance(each, TextStartEvent))
    assert [each.title for each in events[place:] if isinstance(each, CitationEvent)] == ["A", "Doc"]
    assert {each.block for each in citations_in(data)} == {0}
    assert json.loads(answer(data).content[0].opaque) == {"citations": [WEB, DOCUMENT]}


@pytest.mark.requirement("messages:citations", "messages:replay-citations")
@pytest.mark.parametrize("none", [{}, {"citations": None}, {"citations": []}])
def test_citations_of_a_whole_answer_belong_to_their_blocks(none):
    content = [
        {"type": "text", "text": "No source. ", **none},
        {"type": "text", "text": "One.", "citations": [WEB, DOCUMENT]},
        {"type": "text", "text": "Two.", "citations": [DOCUMENT]},
    ]
    data = json.dumps(message(content, "end_turn")).encode()
    assert citations_in(data, "application/json") == [
        CitationEvent(1, "https://a.example/", "A", "x"),
        CitationEvent(1, None, "Doc", "y", location=PLACE),
        CitationEvent(2, None, "Doc", "y", location=PLACE),
    ]
    got = answer(data, "application/json")
    kept = [each.opaque and json.loads(each.opaque) for each in got.content]
    assert kept == [None, {"citations": [WEB, DOCUMENT]}, {"citations": [DOCUMENT]}]


@pytest.mark.requirement("messages:citations")
def test_citations_of_a_block_without_text_have_no_block():
    delta = {"type": "citations_delta", "citation": WEB}
    for start, deltas in (({**TEXT, "citations": [WEB]}, []), (TEXT, [delta])):
        data = raw(start_event(), *block(0, start, *deltas), *block(1, TEXT, words("One.")), *end_events())
        assert citations_in(data) == [CitationEvent(None, "https://a.example/", "A", "x")]
        (only,) = answer(data).content
        assert (only.text, only.opaque) == ("One.", None)
    whole = message([{"type": "text", "text": "", "citations": [WEB]}], "end_turn")
    assert citations_in(json.dumps(whole).encode(), "application/json") == [
        CitationEvent(None, "https://a.example/", "A", "x")
    ]


@pytest.mark.requirement("messages:citations")
def test_a_citation_is_emitted_at_its_place_in_the_text():
    cited = {"type": "citations_delta", "citation": WEB}
    events, _ = read(
        [raw(start_event(), *block(0, TEXT, words("One."), cited, words("Two.")), *end_events())]
    )
    kinds = [each.type for each in events if each.type in ("text_delta", "citation")]
    assert kinds == ["text_delta", "citation", "text_delta"]


@pytest.mark.requirement("messages:citations")
def test_a_search_result_without_a_title_has_only_its_address():
    found = {"type": "search_result_location", "source": "https://b.example/", "title": None}
    delta = {"type": "citations_delta", "citation": found}
    data = raw(start_event(), *block(0, TEXT, words("One."), delta), *end_events())
    assert citations_in(data) == [CitationEvent(0, "https://b.example/", None)]
