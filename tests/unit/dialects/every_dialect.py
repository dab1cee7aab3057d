"""One answer in every dialect, streamed and not streamed, for tests that all dialects share.

The dialects are the packages in `jumpseat.dialects`, so there is no list to maintain.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest

from jumpseat import dialects
from jumpseat.chat import ChatRequest, Fold, Response, StreamEvent
from jumpseat.dialects import Decoder
from jumpseat.http.answer import AnswerReader
from jumpseat.testing import Answer, Script, assert_laws
from jumpseat.testing import answers as all_answers


@dataclass(frozen=True)
class Dialect:
    """The functions of a dialect that encode and decode an answer, and encode a request."""

    name: str
    script: Script
    decoder: type[Decoder]
    encode: Callable[..., dict[str, Any]]
    """The encoder of requests, which takes a request and the `parameters` of the provider's table."""

    def events(self, said: Answer, *, streamed: bool) -> list[StreamEvent]:
        """Encode and decode the answer, and return its events, which must obey the rules of events."""
        reply = self.script.answer(said, streamed=streamed)
        decoder = self.decoder("acme", "asked")
        events: list[StreamEvent] = []
        reader = AnswerReader(decoder, reply.headers["content-type"])
        reader.feed(reply.body, events)
        if not decoder.complete:
            reader.finish(events)
        assert_laws(events)
        return events

    def read(self, said: Answer, *, streamed: bool) -> Response:
        """Encode and decode the answer, and return the response."""
        fold = Fold("acme", "asked")
        for event in self.events(said, streamed=streamed):
            fold.add(event)
        return fold.response()


def _find_only(module: ModuleType, suffix: str) -> Any:
    """Return the module's only value whose name ends with this suffix."""
    (found,) = [value for name, value in vars(module).items() if name.endswith(suffix)]
    return found


def _dialect(name: str) -> Dialect:
    """Return the dialect of a package, which must export `encode`, a `…Decoder` and a `…Facts`."""
    package = import_module(f"{dialects.__name__}.{name}")
    facts = _find_only(package, "Facts")
    answers = import_module(f"{all_answers.__name__}.{name}")
    (script,) = [
        value
        for value in vars(answers).values()
        if isinstance(value, type) and issubclass(value, Script) and value.__module__ == answers.__name__
    ]
    decoder = _find_only(package, "Decoder")

    def encode(request: ChatRequest, **known: Any) -> dict[str, Any]:
        body: dict[str, Any] = package.encode(request, facts(provider="acme", **known))
        return body

    return Dialect(name, script(), decoder, encode)


_NOT_FOR_CHATS = {"infill"}

DIALECTS = {
    module.name: _dialect(module.name)
    for module in iter_modules(dialects.__path__)
    if module.ispkg and module.name not in _NOT_FOR_CHATS
}

in_every_dialect = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)
streamed_and_whole = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "whole"])
