"""Citations in the formats of all providers: the passage, and its place in the text and in the source."""

import pytest

from jumpseat.chat import CitationEvent
from jumpseat.dialects.citations import citation_of
from tests.unit.dialects.chat_completions.answers import body, chunk, read, stream

pytestmark = pytest.mark.requirement("2:citations")

URL = "https://a.example/"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (
            {"type": "url_citation", "url": URL, "title": "A", "start_index": 3, "end_index": 9, "index": 1},
            CitationEvent(0, URL, "A", None, 3, 9),
        ),
        (
            {"url": URL, "content": "Said.", "start_index": 0, "end_index": 0},
            CitationEvent(0, URL, None, "Said.", 0, 0),
        ),
        ({"url": URL, "title": "A", "snippet": "Said."}, CitationEvent(0, URL, "A", "Said.")),
        (
            {"type": "file_citation", "filename": "a.txt", "index": 12},
            CitationEvent(0, None, "a.txt", None, 12),
        ),
        (
            {"cited_text": "x", "document_title": "D", "document_index": 1, "start_page_number": 2},
            CitationEvent(0, None, "D", "x", location={"unit": "page", "start": 2, "document": 1}),
        ),
        (
            {"source": URL, "title": "S", "start_block_index": 0, "end_block_index": 1},
            CitationEvent(0, URL, "S", location={"unit": "block", "start": 0, "end": 1}),
        ),
        ({"url": URL, "title": 3, "start_index": "1"}, CitationEvent(0, URL)),
    ],
)
def test_a_citation_has_the_fields_that_the_provider_sends(source, expected):
    assert citation_of(source, 0) == expected


def citations_in(data, content_type="text/event-stream"):
    events, error = read([data], content_type)
    assert error is None
    return [event for event in events if isinstance(event, CitationEvent)]


def test_a_source_that_is_cited_twice_has_both_places():
    def make_citation(start):
        return {
            "type": "url_citation",
            "url_citation": {"url": URL, "start_index": start, "end_index": start + 1},
        }

    first, second = make_citation(0), make_citation(5)
    more = {"search_results": [{"url": URL, "title": "A"}], "citations": [URL]}
    repeated = stream(
        chunk({"content": "Hello", "annotations": [first]}),
        chunk({"content": ".", "annotations": [first, second]}, "stop", **more),
    )
    whole = body({"content": "Hello.", "annotations": [first, second]}, **more)
    for data, form in ((repeated, "text/event-stream"), (whole, "application/json")):
        found = [(each.url, each.text_start, each.text_end) for each in citations_in(data, form)]
        assert found == [(URL, 0, 1), (URL, 5, 6)]
