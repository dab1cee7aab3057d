"""API keys that a client sets and removes."""

from __future__ import annotations

import asyncio
import json
import os
import stat
import tomllib
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from jumpseat.testing.answers.chat_completions import completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, Reply
from tests.daemon import Daemon, provider, running_daemon, user

KEY = "canary-of-a-key-12345"
MODELS = {"object": "list", "data": [{"id": "m"}]}
LISTED = Reply.json(MODELS)

KEYRING = """\
import json, pathlib
from keyring.backend import KeyringBackend

FILE = pathlib.Path(__file__).with_name("kept.json")

class Keyring(KeyringBackend):
    priority = 5
    def _all(self): return json.loads(FILE.read_text()) if FILE.exists() else {}
    def get_password(self, service, username): return self._all().get(username)
    def set_password(self, service, username, password):
        FILE.write_text(json.dumps({**self._all(), username: password}))
    def delete_password(self, service, username):
        FILE.write_text(json.dumps({k: v for k, v in self._all().items() if k != username}))
"""


def write_config(home: Path, upstream: FakeUpstream, key: str | None = None) -> str:
    """Write a table for the provider `mine`, and return the text of the file."""
    line = "" if key is None else f'api_key = "{key}" # mine\n'
    text = f'# Providers\n[providers.mine]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n{line}'
    (home / "config.toml").write_text(text, "utf-8")
    return text


def source_in(home: Path, name: str = "mine") -> str | None:
    """Return the `api_key` of a provider in the configuration file."""
    tables = tomllib.loads((home / "config.toml").read_text("utf-8"))
    source: str | None = tables["providers"][name].get("api_key")
    return source


def files_with(text: str, directory: Path) -> list[Path]:
    """Return the files below a directory that contain a text."""
    return [each for each in directory.rglob("*") if each.is_file() and text.encode() in each.read_bytes()]


async def set_key(daemon: Daemon, key: str = KEY, name: str = "mine", **more: Any) -> Any:
    return (await daemon.request("keys/set", {"provider": name, "key": key, **more})).response


@pytest.mark.requirement("13:keys-set")
async def test_a_key_is_tried_then_stored_and_used_by_the_next_chat(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.script(LISTED, path="/v1/models")
    upstream.script(Reply.events(completion_stream("Hello")))
    write_config(home, upstream)
    await daemon.initialize()
    result = (await set_key(daemon, f" {KEY}\n"))["result"]

    assert result == {"stored": "file", "test": {"ok": True}}
    assert upstream.requests[0].path == "/v1/models"
    assert upstream.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert source_in(home) == f"file:{home / 'keys' / 'mine.1'}"
    assert (home / "keys" / "mine.1").read_text() == f"{KEY}\n"
    assert stat.S_IMODE((home / "keys" / "mine.1").stat().st_mode) == 0o600
    assert (home / "config.toml").read_text("utf-8").startswith("# Providers\n")

    answer = await daemon.request("chat/start", {"messages": [user("Hi")], "model": "mine:m"})
    assert answer.result["text"] == "Hello"
    assert upstream.requests[1].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.requirement("13:keys-set")
async def test_a_key_goes_to_the_keyring_if_there_is_one(home: Path, upstream: FakeUpstream) -> None:
    (home / "lib").mkdir()
    (home / "lib" / "fake_keyring.py").write_text(KEYRING, "utf-8")
    env = {"PYTHONPATH": str(home / "lib"), "PYTHON_KEYRING_BACKEND": "fake_keyring.Keyring"}
    write_config(home, upstream)
    async with running_daemon(home, env=env) as daemon:
        await daemon.initialize()
        assert (await set_key(daemon, test=False))["result"] == {"stored": "keyring"}
        assert source_in(home) == "keyring:jumpseat/api_key.mine.1"
        assert json.loads((home / "lib" / "kept.json").read_text()) == {"api_key.mine.1": KEY}
        assert (await daemon.request("keys/remove", {"provider": "mine"})).result == {"removed": True}
        assert json.loads((home / "lib" / "kept.json").read_text()) == {}
    assert source_in(home) is None


@pytest.mark.requirement("13:keys-set")
async def test_the_table_of_a_well_known_service_is_added(home: Path, daemon: Daemon) -> None:
    await daemon.initialize()
    assert (await set_key(daemon, name="groq", test=False))["result"] == {"stored": "file"}
    table = tomllib.loads((home / "config.toml").read_text("utf-8"))["providers"]["groq"]
    assert table["base_url"] == "https://api.groq.com/openai/v1"
    listed = (await daemon.request("auth/status", {"provider": "groq"})).result
    assert listed["state"] == "configured"

    assert (await daemon.request("keys/remove", {"provider": "groq"})).result == {"removed": True}
    assert source_in(home, "groq") == "env:GROQ_API_KEY"
    assert (await daemon.request("keys/remove", {"provider": "groq"})).result == {"removed": False}
    assert (await daemon.request("keys/remove", {"provider": "nothing"})).result == {"removed": False}


@pytest.mark.requirement("13:keys-refused")
async def test_a_refused_key_is_not_stored_and_the_providers_error_is_returned(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    refusal = {"error": {"message": f"Incorrect API key provided: {KEY}.", "type": "invalid_request_error"}}
    upstream.script(Reply.json(refusal, 401), path="/v1/models")
    text = write_config(home, upstream)
    await daemon.initialize()
    result = (await set_key(daemon))["result"]

    assert result.keys() == {"test"}
    assert result["test"]["ok"] is False
    error = result["test"]["error"]
    assert (error["code"], error["data"]["kind"]) == (1000, "authentication")
    assert "Incorrect API key provided: ***." in error["message"]
    assert (home / "config.toml").read_text("utf-8") == text
    assert not (home / "keys").exists()


@pytest.mark.requirement("13:keys-refused")
@pytest.mark.parametrize(
    ("reply", "code"), [(Reply.json({}, 500), 1007), (Reply.json({}, 403), 1001), (None, 1008)]
)
async def test_a_key_is_stored_if_its_test_fails_for_another_reason_than_a_refusal(
    home: Path, daemon: Daemon, upstream: FakeUpstream, reply: Reply | None, code: int
) -> None:
    write_config(home, upstream)
    if reply is None:
        file = home / "config.toml"
        file.write_text(file.read_text("utf-8").replace(upstream.base_url, "http://127.0.0.1:9/v1"), "utf-8")
    else:
        upstream.default(reply)
    await daemon.initialize()
    result = (await set_key(daemon))["result"]

    assert (result["stored"], result["test"]["ok"]) == ("file", False)
    assert result["test"]["error"]["code"] == code
    assert (source_in(home) or "").startswith("file:")


@pytest.mark.requirement("13:keys-existing")
@pytest.mark.parametrize(
    ("value", "place"),
    [
        ("canary-by-hand-123", "in the table itself"),
        ("env:SET_KEY", "from env:SET_KEY"),
        ("file:a-file", "from file:a-file"),
        ("cmd:printf canary", "from cmd:printf …"),
    ],
)
async def test_a_configured_key_that_resolves_is_not_replaced(
    home: Path, upstream: FakeUpstream, value: str, place: str
) -> None:
    (home / "a-file").write_text("canary\n", "utf-8")
    text = write_config(home, upstream, value)
    async with running_daemon(home, env={"SET_KEY": "canary-of-a-variable"}) as daemon:
        await daemon.initialize(commands={"openConfiguration": ":Config"})
        error = (await set_key(daemon))["error"]

    assert error["code"] == 1010
    assert f"mine already has a key, {place}: api_key in [providers.mine] of {home}" in error["message"]
    assert error["data"]["hint"] == "To store another key, first run `:Config` and remove that line."
    assert "canary" not in json.dumps(error)
    assert (home / "config.toml").read_text("utf-8") == text
    assert not (home / "keys").exists()
    assert upstream.requests == []


@pytest.mark.requirement("13:keys-existing", "13:keys-remove")
@pytest.mark.parametrize("value", ["env:NOT_SET", "NOT_SET_API_KEY", "file:missing", "cmd:false"])
async def test_a_source_that_does_not_resolve_is_replaced_and_restored(
    home: Path, daemon: Daemon, upstream: FakeUpstream, value: str
) -> None:
    text = write_config(home, upstream, value)
    await daemon.initialize()
    for key in (KEY, "another-key-of-a-test"):
        assert (await set_key(daemon, key, test=False))["result"] == {"stored": "file"}
    assert len([each for each in (home / "keys").iterdir() if each.name.startswith("mine")]) == 1
    assert (await daemon.request("keys/remove", {"provider": "mine"})).result == {"removed": True}

    assert (home / "config.toml").read_text("utf-8") == text
    assert not [each for each in (home / "keys").iterdir() if each.name.startswith("mine")]
    assert (await daemon.request("keys/remove", {"provider": "mine"})).result == {"removed": False}


@pytest.mark.requirement("13:keys-existing")
@pytest.mark.parametrize(
    ("name", "code", "words"),
    [
        ("copilot", 1010, "does not use an API key"),
        ("local", 1010, "does not use an API key"),
        ("mien", 1004, "There is no provider named 'mien'"),
        ("of-the-workspace", 1010, "is a provider of this workspace or editor"),
    ],
)
async def test_a_provider_that_cannot_have_a_stored_key_is_refused(
    home: Path, daemon: Daemon, upstream: FakeUpstream, name: str, code: int, words: str
) -> None:
    text = write_config(home, upstream)
    overlay = {"providers": {"of-the-workspace": {"kind": "openai", "base_url": upstream.base_url}}}
    await daemon.initialize(overlay)
    error = (await set_key(daemon, name=name))["error"]

    assert error["code"] == code
    assert words in error["message"]
    assert upstream.requests == []
    assert (home / "config.toml").read_text("utf-8") == text


@pytest.mark.requirement("13:keys-set")
@pytest.mark.parametrize(
    ("key", "words"),
    [
        (" \n", "empty"),
        ("canary two", "white space"),
        ("canary\u0007", "control characters"),
        ("env:CANARY", "it begins with env:"),
        ("CANARY_API_KEY", "the name of an environment variable"),
        ("canary" * 20_000, "too long"),
        (7, "must be a string"),
        (["canary"], "must be a string"),
    ],
)
async def test_a_text_that_cannot_be_a_key_is_refused_without_quoting_it(
    home: Path, daemon: Daemon, upstream: FakeUpstream, key: Any, words: str
) -> None:
    write_config(home, upstream)
    await daemon.initialize()
    error = (await set_key(daemon, key))["error"]

    assert error["code"] == -32602
    assert error["data"]["errors"][0]["path"] == "key"
    assert words in error["message"]
    assert "canary" not in json.dumps(error).lower()
    assert not (home / "keys").exists()


@pytest.mark.requirement("13:keys-set")
async def test_a_cancel_while_a_key_is_tried_stores_nothing(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    upstream.default(Reply((), held=Gate()))
    text = write_config(home, upstream)
    await daemon.initialize()
    request = daemon.start("keys/set", {"provider": "mine", "key": KEY})
    await upstream.wait_for_request()
    daemon.notify("$/cancelRequest", {"id": request})

    assert (await daemon.read_until(request)).error["code"] == -32800
    await upstream.wait_for_disconnect()
    assert (home / "config.toml").read_text("utf-8") == text
    assert not (home / "keys").exists()


@pytest.mark.requirement("13:keys-set")
async def test_daemons_that_set_keys_at_the_same_time_lose_none(home: Path, upstream: FakeUpstream) -> None:
    names = [f"p{number}" for number in range(4)]
    tables = (f'[providers.{name}]\nkind = "openai"\nbase_url = "{upstream.base_url}"\n' for name in names)
    (home / "config.toml").write_text("".join(tables), "utf-8")
    async with AsyncExitStack() as stack:
        daemons = [await stack.enter_async_context(running_daemon(home)) for _ in names]
        for each in daemons:
            await each.initialize()
        pairs = zip(daemons, names, strict=True)
        answers = await asyncio.gather(*(set_key(each, name=name, test=False) for each, name in pairs))
    assert [each.get("result") for each in answers] == [{"stored": "file"}] * len(names)
    assert all((source_in(home, name) or "").startswith("file:") for name in names)


@pytest.mark.requirement("13:keys-secret")
async def test_the_key_never_appears_in_logs_messages_or_conversations(
    home: Path, upstream: FakeUpstream
) -> None:
    def refuse(request: Any) -> Reply:
        # Some gateways quote the credential, and some quote the whole header.
        return Reply.json({"error": {"message": f"no: {request.headers.get('authorization')}"}}, 401)

    write_config(home, upstream)
    log_file = home / "daemon.log"
    seen: list[Any] = []
    async with running_daemon(home, "--log-level", "debug", "--log-file", str(log_file)) as daemon:
        await daemon.initialize(provider(upstream.base_url))
        upstream.default(refuse)
        seen.append(await daemon.request("keys/set", {"provider": "mine", "key": KEY}))
        # Send invalid requests too: with wrong types, with an unknown provider, and cut off.
        invalid = (
            {"provider": 1, "key": KEY},
            {"provider": "x", "key": KEY},
            {"provider": "x", "key": [KEY]},
        )
        seen += [await daemon.request("keys/set", params) for params in invalid]
        body = f'{{"jsonrpc": "2.0", "id": 1, "method": "keys/set", "params": {{"key": "{KEY}"'.encode()
        daemon.send_bytes(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        seen.append(await daemon.read())
        upstream.default(LISTED, path="/v1/models")
        seen.append(await daemon.request("keys/set", {"provider": "mine", "key": KEY}))
        upstream.script(Reply.events(completion_stream(f"You said {KEY}.")))
        chat = {
            "messages": [user(f"My key is {KEY}")],
            "model": "fake:m",
            "keep": True,
            "conversationId": "c",
        }
        answer = await daemon.request("chat/start", chat)
        assert answer.result["text"] == f"You said {KEY}."
        upstream.default(refuse)
        failed = {"messages": [user("Hi")], "model": "mine:m"}
        seen.append(await daemon.request("chat/start", failed))
        seen.append(await daemon.request("conversations/get", {"id": "c"}))
        lists = ("providers/list", "auth/status", "settings/get", "models/list")
        seen += [await daemon.request(method, {"refresh": True}) for method in lists]
        seen.append(await daemon.request("providers/diagnose", {"provider": "mine"}))
        seen.append(await daemon.request("keys/remove", {"provider": "mine"}))
        stderr = await daemon.whole_log()

    assert any(each.path == "/v1/models" for each in upstream.requests)
    assert KEY not in stderr
    assert "keys/set" in log_file.read_text("utf-8")
    assert KEY not in repr(seen)
    assert files_with(KEY, home) == []


@pytest.mark.requirement("13:keys-secret")
async def test_a_short_key_that_the_provider_quotes_is_hidden_too(home: Path, upstream: FakeUpstream) -> None:
    # Keys of fewer than 12 characters are not redacted everywhere, because they could occur in ordinary text.
    upstream.default(Reply.json({"error": {"message": "The key zq9-7 is wrong."}}, 401))
    write_config(home, upstream)
    async with running_daemon(home, "--log-level", "debug") as daemon:
        await daemon.initialize()
        answer = await set_key(daemon, "zq9-7")
        log = await daemon.whole_log()

    assert "The key *** is wrong." in answer["result"]["test"]["error"]["message"]
    assert "zq9-7" not in json.dumps(answer)
    assert "zq9-7" not in log


@pytest.mark.requirement("13:keys-set")
@pytest.mark.skipif(os.name == "nt", reason="directories on Windows have no modes")
async def test_a_key_is_stored_and_the_hint_says_what_to_add_if_the_file_is_read_only(
    home: Path, daemon: Daemon, upstream: FakeUpstream
) -> None:
    write_config(home, upstream)
    (home / "config.toml").chmod(0o444)
    await daemon.initialize()
    error = (await set_key(daemon, test=False))["error"]

    assert (error["code"], "cannot be written" in error["message"]) == (1010, True)
    source = f"file:{home / 'keys' / 'mine.1'}"
    assert error["data"]["hint"] == (
        f'The key is stored. Add to the table [providers.mine]: api_key = "{source}"'
    )
