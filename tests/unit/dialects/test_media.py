"""Documents, and the images and documents of tool results, in every dialect."""

import base64

import pytest

from jumpseat.chat import (
    ChatRequest,
    DocumentBlock,
    ImageBlock,
    Message,
    RequestError,
    TextBlock,
    ToolResultBlock,
    ToolUseBlock,
)
from jumpseat.dialects import anthropic_messages, chat_completions, ollama_chat, responses

PNG = ImageBlock("AAAA", "image/png")
PDF = DocumentBlock("JVBERi0=", "application/pdf", "report.pdf")
NOTES = DocumentBlock(base64.b64encode("Grüße".encode()).decode(), "text/markdown", "notes.md")
AT_URL = DocumentBlock("https://example.com/a.pdf")
PNG_URL = "data:image/png;base64,AAAA"
PDF_FILE = {"filename": "report.pdf", "file_data": "data:application/pdf;base64,JVBERi0="}


def request(*blocks):
    return ChatRequest(messages=(Message("user", blocks),), model="m")


def after_call(*parts, is_error=False):
    call = Message("assistant", (ToolUseBlock("c", "f", {}, "{}"),))
    result = Message("user", (ToolResultBlock("c", parts, is_error),))
    return ChatRequest(messages=(Message.user("Hi"), call, result), model="m")


def messages_body(asked):
    return anthropic_messages.encode(asked, anthropic_messages.MessagesFacts(provider="p"))["messages"]


def completions_body(asked):
    return chat_completions.encode(asked, chat_completions.EndpointFacts(provider="p"))["messages"]


def responses_body(asked):
    return responses.encode(asked, responses.ResponsesFacts(provider="p"))["input"]


@pytest.mark.requirement("2:documents")
@pytest.mark.parametrize(
    ("document", "source"),
    [
        (PDF, {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0="}),
        (
            DocumentBlock("data:application/pdf;base64,AAAA"),
            {"type": "base64", "media_type": "application/pdf", "data": "AAAA"},
        ),
        (NOTES, {"type": "text", "media_type": "text/plain", "data": "Grüße"}),
        (AT_URL, {"type": "url", "url": "https://example.com/a.pdf"}),
    ],
)
def test_requests_in_the_messages_dialect_contain_documents(document, source):
    title = {"title": document.name} if document.name else {}
    (part,) = messages_body(request(document))[0]["content"]
    assert part == {"type": "document", "source": source, **title}


@pytest.mark.requirement("2:documents")
def test_requests_in_the_responses_dialect_contain_documents():
    (message,) = responses_body(request(TextBlock("Read"), PDF, AT_URL, DocumentBlock("AAAA", "text/csv")))
    assert message["content"][1:] == [
        {"type": "input_file", **PDF_FILE},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "input_file", "filename": "document.csv", "file_data": "data:text/csv;base64,AAAA"},
    ]


@pytest.mark.requirement("2:documents")
def test_chat_completions_accept_documents_but_not_their_urls():
    (message,) = completions_body(request(TextBlock("Read"), PDF))
    assert message["content"][1] == {"type": "file", "file": PDF_FILE}
    with pytest.raises(RequestError, match="do not accept a document by its URL"):
        completions_body(request(AT_URL))


@pytest.mark.requirement("2:result-media")
def test_in_the_messages_dialect_a_result_has_its_images_and_documents_in_order():
    (part,) = messages_body(after_call(TextBlock("a"), PNG, PDF, TextBlock("b"), is_error=True))[2]["content"]
    assert [each["type"] for each in part["content"]] == ["text", "image", "document", "text"]
    assert (part["tool_use_id"], part["is_error"]) == ("c", True)


@pytest.mark.requirement("2:result-media")
def test_in_the_responses_dialect_an_output_has_its_images_and_documents_in_order():
    output = responses_body(after_call(TextBlock("a"), PNG, PDF))[-1]
    assert output["output"] == [
        {"type": "input_text", "text": "a"},
        {"type": "input_image", "image_url": PNG_URL, "detail": "auto"},
        {"type": "input_file", **PDF_FILE},
    ]
    assert responses_body(after_call(PNG, is_error=True))[-1]["output"][0]["text"] == "Error:"


@pytest.mark.requirement("2:result-media")
def test_in_chat_completions_the_files_of_a_result_follow_in_a_user_message():
    tool, user = completions_body(after_call(TextBlock("a"), PNG, PDF))[2:]
    assert tool == {"role": "tool", "tool_call_id": "c", "content": "a"}
    line, image, file = user["content"]
    assert (user["role"], line["text"]) == ("user", "The files in the result of the tool call c:")
    assert (image["image_url"], file["file"]) == ({"url": PNG_URL}, PDF_FILE)
    alone = completions_body(after_call(PNG))[2]
    assert alone["content"] == "The user message after this one has the result."


@pytest.mark.requirement("2:result-media")
def test_in_ollamas_dialect_the_images_of_a_result_follow_in_a_user_message():
    facts = ollama_chat.ServerFacts(provider="p")
    tool, user = ollama_chat.encode(after_call(TextBlock("a"), PNG), facts)["messages"][2:]
    assert (tool["role"], tool["content"]) == ("tool", "a")
    assert (user["role"], user["images"]) == ("user", ["AAAA"])
