"""The scriptable provider `fake` of the VS Code tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jumpseat.testing.threaded_upstream import ThreadedUpstream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.provider import CHATS, MODELS, WORDS

COMPLETIONS = "/v1/completions"


def hello() -> Reply:
    """Return an answer with the text "Hello there."."""
    return Reply.events(WORDS)


class Provider:
    """Lists two models, `fake-model` and `other-model`, and answers chats as scripted.

    Only chats are scripted and counted, because VS Code and the daemon may ask for the models at any time.
    """

    def __init__(self, upstream: ThreadedUpstream) -> None:
        self._upstream = upstream
        upstream.default(MODELS, path="/v1/models")

    @property
    def base_url(self) -> str:
        """The `base_url` of the provider in the configuration."""
        return self._upstream.base_url

    def forget(self) -> None:
        """Remove all requests and scripts, for the next test."""
        self._upstream.forget()
        self._upstream.default(MODELS, path="/v1/models")

    def set_model_list(self, reply: Reply, path: str = "/v1/models") -> None:
        """Answer later requests for the list of models with this reply."""
        self._upstream.default(reply, path=path)

    def wait_for_list(self, path: str) -> None:
        """Wait for a request for the list of models with this path."""
        number = 1
        while self._upstream.wait_for_request(number).path != path:
            number += 1

    def script(self, *replies: Reply) -> None:
        """Queue answers."""
        self._upstream.script(*replies, path=CHATS)

    def open(self, gate: Gate) -> None:
        """Open a gate of a running answer."""
        self._upstream.open(gate)

    @property
    def chats(self) -> Sequence[Any]:
        """The bodies of all requests for chats so far."""
        return [request.json for request in self._upstream.requests if request.path == CHATS]

    def wait_for_chat(self, number: int = 1) -> None:
        """Wait for the chat with this number, counted from 1."""
        self._index(number)

    def wait_for_disconnect(self, number: int = 1, path: str = CHATS) -> None:
        """Wait until the daemon has closed the connection of this chat before the answer ended."""
        self._upstream.wait_for_disconnect(self._index(number, path))

    def script_completions(self, *replies: Reply) -> None:
        """Queue answers to requests for completions."""
        self._upstream.script(*replies, path=COMPLETIONS)

    @property
    def completions(self) -> Sequence[Any]:
        """The bodies of all requests for completions so far."""
        return [request.json for request in self._upstream.requests if request.path == COMPLETIONS]

    def wait_for_completion(self, number: int = 1) -> Any:
        """Wait for the request for a completion with this number, counted from 1, and return its body."""
        self._index(number, COMPLETIONS)
        return self.completions[number - 1]

    def _index(self, number: int, path: str = CHATS) -> int:
        """Wait for the request with this number at the path; return its number among all requests."""
        index = 0
        while number:
            index += 1
            number -= self._upstream.wait_for_request(index).path == path
        return index
