"""The provider `fake`, which tests script: its configuration and its answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply

WORDS = completion_stream(["Hello ", "there."])

MODELS = Reply.json({"data": [{"id": "fake-model"}, {"id": "other-model"}]})
"""The provider's answer to requests for `/v1/models`."""

CHATS = "/v1/chat/completions"


def fake(base_url: str) -> str:
    """Return the provider's table in the configuration; its default model is `fake-model`."""
    return (
        f'[providers.fake]\nkind = "openai"\nbase_url = "{base_url}"\napi_key = "fake-key"\n'
        'default_model = "fake-model"\nmax_retries = 0\n'
    )


def write_config(home: Path, base_url: str, more: str = "") -> None:
    """Write a configuration with the provider `fake`, followed by the text `more`."""
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(fake(base_url) + more)


def list_sent_texts(provider: ThreadedUpstream, number: int) -> list[str]:
    """Return the texts of the messages of a request to the provider, counted from 0."""
    return [text_of(message) for message in provider.requests[number].json["messages"]]


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message of a request; a question with context has several parts."""
    content = message["content"]
    return content if isinstance(content, str) else "\n\n".join(part["text"] for part in content)


def hold_answer(*pieces: str, gate: Gate) -> Reply:
    """Return an answer that waits at the gate after these pieces, and ends with " End."."""
    return Reply.events(
        [*(chunk({"content": piece}) for piece in pieces), gate, *completion_stream([" End."])]
    )


def script_texts(provider: ThreadedUpstream, *texts: str) -> None:
    """Script these answers of the model."""
    provider.script(*(Reply.events(completion_stream([text])) for text in texts))
