"""`transcript/check`."""

from __future__ import annotations

from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, provider

pytestmark = [pytest.mark.requirement("5:transcript-check"), pytest.mark.asyncio(loop_scope="module")]

RIGHT = "---\nmodel: fake:m\ntemperature: 1\nconversation: c1\n---\n\n## Me\n\nHi.\n"


async def check_text(daemon: Daemon, text: str) -> Any:
    result = (await daemon.request("transcript/check", {"text": text})).result
    assert list(result) == ["diagnostics"]
    return result["diagnostics"]


def at(line: int, start: int, end: int) -> Any:
    return {"start": {"line": line, "character": start}, "end": {"line": line, "character": end}}


async def summarize_check(daemon: Daemon, text: str) -> list[tuple[str, int, str]]:
    """Return the code, the severity and the marked text of each diagnostic."""
    found = []
    for each in await check_text(daemon, text):
        start, end = each["range"]["start"], each["range"]["end"]
        line = text.split("\n")[start["line"]].encode("utf-16-le")
        marked = line[2 * start["character"] : 2 * end["character"]].decode("utf-16-le")
        found.append((each["code"], each["severity"], marked))
    return found


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        RIGHT.replace("Hi.", ""),
        "",
        "Hi.",
        "## Me\n",
        "---\n---\n",
        "---\nmodel: fake:unheard-of\n---\nHi.",
        "---\nthinking: low\nmax_tokens: 5\n---\nHi.",
    ],
)
async def test_a_text_that_is_a_valid_chat_has_no_diagnostics(served: Daemon, text: str) -> None:
    assert await check_text(served, text) == []


async def test_a_diagnostic_has_range_severity_message_and_code(served: Daemon) -> None:
    assert await check_text(served, "---\nsettings: {🙂: 1, temperature: 9}\n---\n\n## Me\n\nHi.\n") == [
        {
            "range": at(1, 11, 16),
            "severity": 1,
            "message": "settings.🙂 is not a setting of this provider; available: temperature, top_p, "
            "frequency_penalty, presence_penalty, seed, max_tokens, thinking.",
            "code": "invalid_params",
        },
        {
            "range": at(1, 18, 32),
            "severity": 1,
            "message": "settings.temperature must be at most 2.",
            "code": "invalid_params",
        },
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("---\nmodel: [\n---\nHi.", [("front_matter", 1, "---")]),
        ("---\nmodel: m\n## Me\n\nHi.", [("front_matter", 1, "---")]),
        ("---\nmodel: 7\n---\nHi.", [("front_matter", 1, "model: 7")]),
        ("---\nmodel: ''\n---\nHi.", [("invalid_params", 1, "model: ''")]),
        ("---\nmodel: fkae:m\n---\nHi.", [("request", 1, "model: fkae:m")]),
        ("---\ntools: files, flies/*\n---\nHi.", [("invalid_params", 1, "tools: files, flies/*")]),
        ("---\nconversation: a b\n---\nHi.", [("conversation_id", 2, "conversation: a b")]),
        ("---\nconversation: 7\n---\nHi.", [("conversation_id", 2, "conversation: 7")]),
        ("## Me\n\n```tool_use id=a name=f\n{}\n```\n", [("invalid_params", 1, "## Me")]),
        (
            "---\ntemperature: 9\n---\n\n## Me\n\nHi.\n\n## Me\n\n```image\n???\n```\n\n## Me\n\nHi.\n",
            [("invalid_params", 1, "## Me"), ("invalid_params", 1, "temperature: 9")],
        ),
        (
            "## Me\n\nHi.\n\n## Assistant\n\n```tool_use id=a name=f\n{}\n```\n\n## Me\n\nGo.\n\n## Me\n",
            [("tool_result_missing", 2, "## Me")],
        ),
    ],
)
async def test_each_mistake_is_reported_at_its_place(
    served: Daemon, text: str, expected: list[tuple[str, int, str]]
) -> None:
    assert await summarize_check(served, text) == expected


async def test_a_message_is_marked_at_its_own_heading(served: Daemon) -> None:
    text = "## Me\n\nHi.\n\n## Assistant\n\nHello.\n\n## Assistant\n\n```context\nx\n```\n\n## Me\n\nHi.\n"
    (found,) = await check_text(served, text)

    assert found["range"] == at(8, 0, 12)


async def test_at_most_100_mistakes_are_reported(served: Daemon) -> None:
    rows = "".join(f"  s{number}: 1\n" for number in range(1000))

    assert len(await check_text(served, f"---\nsettings:\n{rows}---\nHi.")) == 100


@pytest.mark.asyncio(loop_scope="function")
async def test_problems_that_a_chat_would_refuse_are_found_without_requests(
    daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hi"])))
    await daemon.initialize(provider(upstream.base_url))

    for text in (RIGHT, RIGHT.replace("1", "9"), RIGHT.replace("fake:m", "fkae:m")):
        found = await check_text(daemon, text)
        assert upstream.requests == []
        read = (await daemon.request("transcript/parse", {"text": text})).result
        chat = {key: read[key] for key in ("messages", "model", "settings")}
        error = (await daemon.request("chat/start", {**chat, "stream": False})).response.get("error")
        assert [each["message"] for each in found] == (
            [] if error is None else [f"{error['message']} {error['data'].get('hint', '')}".strip()]
        )
        upstream.requests.clear()
