"""Credentials in kept conversations: the client's own are redacted, those of other clients are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Reply
from tests.daemon import Daemon, running_daemon, user
from tests.hub import Hub

pytestmark = pytest.mark.slow

KEY = "tk-0123456789-secret"

QUOTING = {
    "messages": [user(f"Why is {KEY} refused?")],
    "system": f"The key is {KEY}.",
    "keep": True,
    "conversationId": "a",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Create the directory of the daemon's configuration and state, with a file that contains the key."""
    directory = tmp_path / "home"
    directory.mkdir()
    (directory / "key.txt").write_text(f"{KEY}\n", "utf-8")
    return directory


def configure(home: Path, base_url: str, *lines: str) -> tuple[str, str]:
    """Write a configuration file whose provider `fake` has these lines. Return the flags for the file."""
    path = home / "config.toml"
    table = ["[providers.fake]", 'kind = "openai"', f'base_url = "{base_url}"', 'default_model = "m"', *lines]
    path.write_text("\n".join(table), "utf-8")
    return "--config", str(path)


def read_store(home: Path) -> bytes:
    """Return all bytes of the conversations and of their index."""
    return b"".join(path.read_bytes() for path in sorted((home / "conversations").iterdir()))


async def keep(daemon: Daemon, text: str, name: str) -> None:
    """Keep a turn with this question."""
    asked = {"messages": [user(text)], "keep": True, "conversationId": name}
    assert (await daemon.request("chat/start", asked)).result["conversationId"] == name


@pytest.mark.requirement("10:secrets")
@pytest.mark.parametrize(
    "line",
    [
        'api_key = "env:K"',
        'api_key = "FAKE_KEY"',
        'api_key = "file:key.txt"',
        'api_key = "cmd:cat key.txt"',
        f'api_key = "{KEY}"',
        'api_key = "schema:other"\nother = "file:key.txt"',
        f'headers = {{ Authorization = "Bearer {KEY}" }}',
        'headers = { Authorization = "Bearer ${t}" }\nenv = { t = "env:K" }',
        'headers = { X-Api-Key = "env:K" }',
        f'query = {{ key = "{KEY}" }}',
        f'proxy = "http://me:{KEY}@127.0.0.1:9"',
    ],
)
async def test_a_key_in_the_first_question_is_never_written(
    home: Path, upstream: FakeUpstream, line: str
) -> None:
    upstream.default(Reply.events(completion_stream([f"It is {KEY}."])))
    flags = configure(home, upstream.base_url, line)
    async with running_daemon(home, *flags, env={"K": KEY, "FAKE_KEY": KEY}) as daemon:
        await daemon.initialize()
        assert (await daemon.request("chat/start", QUOTING)).result["text"] == f"It is {KEY}."
        found = await daemon.request("conversations/list", {"query": "refused"})
        assert [row["title"] for row in found.result["conversations"]] == ["Why is *** refused?"]
        kept = (await daemon.request("conversations/get", {"id": "a"})).result
        assert kept["system"] == "The key is ***."
        renamed = await daemon.request("conversations/rename", {"id": "a", "title": f"Use {KEY}"})
        assert renamed.result["title"] == "Use ***"
    assert KEY.encode() not in read_store(home)


@pytest.mark.requirement("10:secrets")
async def test_keys_of_other_providers_are_redacted_without_running_commands(
    home: Path, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hello"])))
    values = ["env:K", "file:key.txt", "tk-literal-of-another", "cmd:touch ran"]
    others = [
        f'[providers.p{number}]\nkind = "openai"\nbase_url = "http://127.0.0.1:9/v1"\napi_key = "{value}"'
        for number, value in enumerate(values)
    ]
    flags = configure(home, upstream.base_url, "api_key = \"cmd:sh -c 'echo x >> runs; echo own'\"", *others)
    async with running_daemon(home, *flags, env={"K": "tk-of-the-variable"}) as daemon:
        await daemon.initialize({"default_provider": "fake"})
        for number in range(2):
            question = f"tk-of-the-variable {KEY} tk-literal-of-another {number}"
            await keep(daemon, question, f"c{number}")
            kept = (await daemon.request("conversations/get", {"id": f"c{number}"})).result
            assert kept["messages"][0]["content"][0]["text"] == f"*** *** *** {number}"
        # The daemon reads the file again for each turn.
        (home / "key.txt").write_text("tk-of-the-next-month", "utf-8")
        await keep(daemon, "tk-of-the-next-month", "d")
        assert b"next-month" not in read_store(home)
    assert not (home / "ran").exists()
    assert (home / "runs").read_text("utf-8").split() == ["x"]


@pytest.mark.requirement("10:secrets", "10:byte-for-byte")
async def test_the_key_of_another_client_stays_in_the_text(
    hub: Hub, home: Path, upstream: FakeUpstream
) -> None:
    upstream.default(Reply.events(completion_stream(["Hello"])))
    flags = configure(home, upstream.base_url, 'api_key = "env:BK"')
    question = "Explain the configuration file."
    async with (
        hub.client(*flags, env={"BK": "configuration"}) as first,
        hub.client(*flags, env={"BK": KEY}) as second,
    ):
        for name, daemon in (("first", first), ("second", second)):
            await daemon.initialize()
            await keep(daemon, question, name)
            await keep(daemon, f"{question} {KEY}", f"{name}-more")
        rows = (await second.request("conversations/list", {})).result["conversations"]
        assert {row["id"]: row["title"] for row in rows} == {
            "first": "Explain the *** file.",
            "first-more": f"Explain the *** file. {KEY}",
            "second": question,
            "second-more": f"{question} ***",
        }
