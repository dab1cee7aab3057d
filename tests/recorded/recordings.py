"""Reads the recorded exchanges next to the repository, and the expected result of each.

The recordings are not part of the project. If their folder is missing, the tests that need it are skipped. A
recording has three files: `NN.body.*` with the bytes as received, `NN.meta.json` with status and headers, and
`NN.expected.json` with the expected result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jumpseat.chat import StreamEvent
from jumpseat.dialects import Decoder
from jumpseat.http.answer import AnswerReader

TRANSCRIPTS = Path(__file__).parents[3] / "shared" / "transcripts"


@dataclass(frozen=True)
class Recording:
    """One exchange. `name` is its folder and number."""

    path: Path
    expected: dict[str, Any]

    @property
    def name(self) -> str:
        return f"{self.path.parent.name}-{self.path.name[:2]}"

    @property
    def streamed(self) -> bool:
        return self.expected["kind"] != "json"

    @property
    def fails(self) -> bool:
        return "error" in self.expected

    @property
    def status(self) -> int:
        """The recorded status. If there is none, 400 for a failure that is not in a stream, else 200."""
        return self.expected["http_status"] or (400 if self.fails and not self.streamed else 200)

    @cached_property
    def meta(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._beside("meta.json").read_text("utf-8"))
        return found

    @cached_property
    def body(self) -> bytes:
        return self._beside("body.*").read_bytes()

    @property
    def model(self) -> str:
        """The model of the request; if it was not recorded, that of the answer, or else a placeholder."""
        request = self.meta["request"]
        asked = request.get("model") if isinstance(request, dict) else None
        return asked or self.expected.get("model") or "asked-model"

    @property
    def content_type(self) -> str:
        content_type: str | None = self.meta["headers"].get("content-type")
        forms = {"sse": "text/event-stream", "ndjson": "application/x-ndjson", "json": "application/json"}
        return content_type or forms[self.expected["kind"]]

    @property
    def headers(self) -> dict[str, str]:
        """The recorded headers, except the content type and those that do not fit the recorded bytes."""
        stale = ("content-length", "content-encoding", "transfer-encoding", "connection", "content-type")
        return {
            name.lower(): value
            for name, value in self.meta["headers"].items()
            if name.lower() not in stale and isinstance(value, str) and value.isascii()
        }

    def _beside(self, ending: str) -> Path:
        return next(self.path.parent.glob(f"{self.path.name.removesuffix('.expected.json')}.{ending}"))


def recordings(api: str) -> list[Recording]:
    """Return all recordings of one dialect, in a fixed order; none if the folder is missing."""
    found = (
        Recording(path, json.loads(path.read_text("utf-8"))) for path in TRANSCRIPTS.rglob("*.expected.json")
    )
    return sorted((each for each in found if each.expected.get("api") == api), key=lambda each: each.path)


def arrivals(body: bytes) -> Iterator[tuple[str, list[bytes]]]:
    """Split a body in several ways; yield the name and the pieces of each split."""
    yield "whole", [body]
    for name, size in (("bytes", 1), ("sevens", 7), ("kibibytes", 1024)):
        yield name, [body[start : start + size] for start in range(0, len(body), size)]


def read_all(decoder: Decoder, pieces: Iterable[bytes], content_type: str) -> list[StreamEvent]:
    """Decode the pieces and return their events.

    Raises:
        ChatError: the decoder raised this error.
    """
    reader = AnswerReader(decoder, content_type)
    events: list[StreamEvent] = []
    for piece in pieces:
        reader.feed(piece, events)
    if not decoder.complete:
        reader.finish(events)
    return events
