"""Notes that replace unreadable files, and the JSON and text forms of results with files."""

import pytest

from jumpseat.chat import DocumentBlock, ImageBlock, Message, TextBlock, ToolResultBlock
from jumpseat.chat.json_form import message_from_json_form, to_json_form
from jumpseat.chat.media import get_document_type, replace_unreadable_media
from jumpseat.chat.transcript import parse, render

PNG = ImageBlock("AAAA", "image/png")
PDF = DocumentBlock("JVBERi0=", "application/pdf", "report.pdf")
RESULT = Message("user", (ToolResultBlock("c", (TextBlock("a"), PNG, PDF), is_error=True), PDF))


@pytest.mark.requirement("2:result-media")
def test_files_of_results_that_the_model_cannot_read_become_notes_with_warnings():
    (message,), warnings = replace_unreadable_media([RESULT], "m", images=False, documents=())
    content = message.content[0].content
    assert content == (
        "a[The tool returned the image, which this model cannot read.]"
        "[The tool returned the document 'report.pdf', which this model cannot read.]"
    )
    assert message.content[1] == PDF
    assert [warning.code for warning in warnings] == ["images_dropped", "documents_dropped"]


@pytest.mark.requirement("2:result-media")
def test_files_of_results_that_the_model_can_read_stay():
    messages = [RESULT]
    assert replace_unreadable_media(messages, "m", images=True, documents=("application/",)) == (
        messages,
        [],
    )


@pytest.mark.requirement("2:documents")
@pytest.mark.parametrize(
    ("document", "expected"),
    [
        (PDF, "application/pdf"),
        (DocumentBlock("data:text/csv;charset=utf-8;base64,AAAA", "application/pdf"), "text/csv"),
        (DocumentBlock("https://example.com/a"), "application/pdf"),
    ],
)
def test_the_data_determines_the_type_of_a_document(document, expected):
    assert get_document_type(document) == expected


@pytest.mark.requirement("2:result-media", "2:documents")
def test_a_result_with_files_and_a_document_survive_the_stored_form():
    assert message_from_json_form(to_json_form(RESULT)) == RESULT


@pytest.mark.requirement("2:result-media", "2:documents")
def test_a_result_with_files_and_a_document_survive_a_transcript():
    other = Message("user", (ToolResultBlock("d", (PNG,), False), ToolResultBlock("e", "text", False), PNG))
    for message in (RESULT, other):
        messages = (Message.user("Hi"), Message.assistant("Well."), message)
        assert list(parse(render(messages)).messages) == list(messages)
