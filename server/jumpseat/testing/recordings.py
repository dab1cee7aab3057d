"""Reads recorded answers from plain files, each with its expected response.

A recording is two or three files in one folder:

- `NAME.body.sse`, `NAME.body.ndjson` or `NAME.body.json`: the body's bytes, exactly as received.
- `NAME.expected.json`: an object with keys from `Recording.EXPECTED`; `made` and `source` are required.
- `NAME.request.json`: the chat as params of `chat/start` (`docs/protocol/chat.md`). It is needed only
  if the answer depends on the request, for example on tools, thinking or the model's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Literal

from jumpseat.chat import ChatRequest, Message, Response
from jumpseat.rpc.decode import turn_from_wire
from jumpseat.rpc.params import ChatStartParams
from jumpseat.testing.laws import check
from jumpseat.testing.upstream import Reply

Form = Literal["sse", "ndjson", "json"]

_CONTENT_TYPES: Mapping[str, str] = {
    "sse": "text/event-stream",
    "ndjson": "application/x-ndjson",
    "json": "application/json",
}

SLICES: Mapping[str, int | None] = {"whole": None, "by bytes": 1, "by sevens": 7}
"""The sizes in bytes of the server's writes; None for a single write."""


@dataclass(frozen=True)
class Recording:
    """One recorded exchange. `name` is the prefix of its files."""

    EXPECTED: ClassVar[Mapping[str, str]] = {
        "made": "`recorded` from a real server, or `written` by hand",
        "source": "which server and when, or which page of the API's documentation",
        "status": "the HTTP status; 200 if absent",
        "headers": "headers that belong to the answer, as an object",
        "text": "all text, joined",
        "thinking": "all thinking, joined",
        "blocks": "the types of the blocks in order; for an `other` block, its `kind`",
        "tool_calls": "a list of `name`, `arguments`, and optionally `id` and `raw`",
        "stop_reason": "a `jumpseat.chat.StopReason`",
        "raw_stop_reason": "the stop reason as the provider names it",
        "model": "the model that answered",
        "response_id": "the provider's id of the answer",
        "usage": "an object with fields of `jumpseat.chat.Usage`",
        "replayed": "strings that the next request must contain byte for byte",
        "error": "for an answer that fails: the error's `class`, and a part of its `message`",
    }

    name: str
    body: bytes
    form: Form
    expected: Mapping[str, Any]
    params: Mapping[str, Any]
    """The params of the chat; empty if none were recorded."""

    @property
    def streamed(self) -> bool:
        """Whether the answer is streamed."""
        return self.form != "json"

    @property
    def fails(self) -> bool:
        """Whether the answer is an error."""
        return "error" in self.expected

    def reply(self, slice_size: int | None = None) -> Reply:
        """Return the recorded answer as a reply in writes of `slice_size` bytes, or in a single write."""
        headers = {"content-type": _CONTENT_TYPES[self.form], **self.expected.get("headers", {})}
        status = self.expected.get("status", 200)
        whole = Reply((self.body,), status, headers, chunked=self.streamed)
        return whole if slice_size is None else whole.slice(slice_size)

    @cached_property
    def request(self) -> ChatRequest | None:
        """The recorded chat, or None. Its `model` is empty if the recording does not name one."""
        if not self.params:
            return None
        turn = turn_from_wire(ChatStartParams.model_validate(self.params))
        request = ChatRequest(
            messages=turn.messages,
            model=turn.model or "",
            system=turn.system,
            tools=turn.tools,
            tool_choice=turn.tool_choice,
            stop_sequences=turn.stop_sequences,
            output_mode=turn.output_mode,
            thinking=turn.thinking,
            settings=turn.settings,
            conversation_id=turn.conversation_id,
            initiator=turn.initiator,
        )
        return request if turn.max_tokens is None else replace(request, max_tokens=turn.max_tokens)

    def assert_matches(self, response: Response) -> None:
        """Assert that the response has every expected value.

        Raises:
            AssertionError: a value differs; the message names the key.
        """
        actual = _values_of(response)
        for key, expected in self.expected.items():
            if key == "tool_calls":
                _assert_calls(expected, actual[key])
            elif key == "usage":
                counts = {name: getattr(response.usage, name, None) for name in expected}
                check(
                    counts == expected,
                    f"{key} is {counts!r}; the recording {self.name} expects {expected!r}.",
                )
            elif key in actual:
                check(
                    actual[key] == expected,
                    f"{key} is {actual[key]!r}; the recording {self.name} expects {expected!r}.",
                )


def load_recordings(folder: Path) -> list[Recording]:
    """Return all recordings in a folder, sorted by name.

    Raises:
        ValueError: a file is missing or not valid.
    """
    bodies = sorted(folder.glob("*.body.*"), key=lambda path: path.name)
    names = [path.name.partition(".body.")[0] for path in bodies]
    for other in (*folder.glob("*.expected.json"), *folder.glob("*.request.json")):
        if other.name.rsplit(".", 2)[0] not in names:
            raise ValueError(f"{other} does not belong to a recording: its folder has no body of that name.")
    return [_load(folder, name, path) for name, path in zip(names, bodies, strict=True)]


def through_the_wire(message: Message) -> Message:
    """Return the message as the daemon receives it back from a client that stored it as JSON.

    Raises:
        ValueError: the message cannot be written as JSON in UTF-8, or is not valid in the params of a chat.
    """
    from jumpseat.rpc.encode import to_wire

    stored = json.loads(json.dumps(to_wire(message), ensure_ascii=False, allow_nan=False).encode())
    return turn_from_wire(ChatStartParams.model_validate({"messages": [stored]})).messages[0]


def strings_in(value: Any) -> Iterator[str]:
    """Yield every string in a JSON value in order, without keys."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from strings_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings_in(item)


def values_in(value: Any) -> Iterator[Any]:
    """Yield a JSON value and every value inside it, in order."""
    yield value
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for item in inner:
        yield from values_in(item)


def _load(folder: Path, name: str, body: Path) -> Recording:
    form = body.name.rpartition(".")[2]
    if form not in _CONTENT_TYPES:
        raise ValueError(f"{body} must end in one of {', '.join(_CONTENT_TYPES)}.")
    expected = _read_object(folder / f"{name}.expected.json", required=True)
    unknown = sorted(expected.keys() - Recording.EXPECTED.keys())
    if unknown:
        raise ValueError(f"{name}.expected.json has unknown keys: {', '.join(unknown)}.")
    if expected.get("made") not in ("recorded", "written") or not expected.get("source"):
        raise ValueError(f"{name}.expected.json must say how the answer was `made`, and its `source`.")
    params = _read_object(folder / f"{name}.request.json", required=False)
    return Recording(name, body.read_bytes(), form, expected, params)  # type: ignore[arg-type]  # one of the keys


def _read_object(path: Path, *, required: bool) -> dict[str, Any]:
    if not path.is_file():
        if required:
            raise ValueError(f"{path} is missing. It must contain the expected response.")
        return {}
    value = json.loads(path.read_text("utf-8"))
    if not isinstance(value, dict):
        raise ValueError(f"{path} is not a JSON object.")
    return value


def _values_of(response: Response) -> dict[str, Any]:
    return {
        "text": response.text,
        "thinking": "".join(block.thinking for block in response.content if block.type == "thinking"),
        "blocks": [block.kind if block.type == "other" else block.type for block in response.content],
        "tool_calls": response.tool_calls,
        "stop_reason": response.stop_reason,
        "raw_stop_reason": response.raw_stop_reason,
        "model": response.model,
        "response_id": response.response_id,
    }


def _assert_calls(expected: list[dict[str, Any]], calls: list[Any]) -> None:
    check(len(calls) == len(expected), f"there are {len(calls)} tool calls; {len(expected)} are expected.")
    for number, (call, values) in enumerate(zip(calls, expected, strict=True)):
        for key, value in values.items():
            actual = getattr(call, key)
            check(actual == value, f"tool_calls[{number}].{key} is {actual!r}; {value!r} is expected.")
