"""The real daemon with a configuration file that has value sources, `${name}`, `url`, `query` and `roles`."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

import pytest

from jumpseat.testing.answers.chat_completions import completion_body, completion_stream
from jumpseat.testing.upstream import FakeUpstream, Gate, RecordedRequest, Reply
from tests.daemon import Daemon, provider, running_daemon, user
from tests.emulator import CopilotEmulator

pytestmark = pytest.mark.slow

KEY = "AIza/canary+of the=url&4711"
OK = Reply.events(completion_stream("ok"))


def python_command(program: str, *arguments: str) -> str:
    """Return a `cmd:` source that runs a Python program."""
    return "cmd:" + shlex.join([Path(sys.executable).as_posix(), "-c", program, *arguments])


def write_config(home: Path, **tables: Mapping[str, Any]) -> None:
    """Write a configuration file with a provider for each table."""
    lines = []
    for name, table in tables.items():
        lines.append(f"[providers.{name}]")
        for key, value in {"kind": "openai", "default_model": "m", **table}.items():
            lines.append(f"{key} = {_toml(value)}")
    (home / "config.toml").write_text("\n".join(lines), "utf-8")


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {_toml(each)}" for name, each in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)  # A string, number or boolean of JSON is also valid in TOML.


async def ask(daemon: Daemon, model: str = "x:m", **more: Any) -> Any:
    return await daemon.request("chat/start", {"messages": [user("hi")], "model": model, **more})


@pytest.mark.requirement("7:url", "7:query", "7:templates-in-urls", "6:no-secrets")
async def test_a_url_with_model_and_key_is_requested_and_the_key_appears_nowhere_else(
    home: Path, upstream: FakeUpstream
) -> None:
    write_config(
        home,
        gemini={
            "url": f"{upstream.origin}/v1beta/models/${{model}}:chat?alt=sse",
            "query": {"key": "${api_key}", "n": 1},
            "api_key": python_command(f"print({KEY!r})"),
            "default_model": "gemini 2/pro",
            "models": ["gemini 2/pro"],
        },
    )

    def refuse(request: RecordedRequest) -> Reply:
        return Reply.json({"error": {"message": f"bad {request.query}, that is {KEY}"}}, 400)

    upstream.script(OK, refuse)
    async with running_daemon(home, "--log-level", "debug") as daemon:
        await daemon.initialize()
        listed = (await daemon.request("models/list", {"provider": "gemini"})).result
        answered = await ask(daemon, "gemini:gemini 2/pro")
        refused = await ask(daemon, "gemini:gemini 2/pro")
        log = await daemon.whole_log()

    assert [row["id"] for row in listed["models"]] == ["gemini:gemini 2/pro"]
    assert answered.result["text"] == "ok"
    sent = upstream.requests[0]
    assert sent.path == "/v1beta/models/gemini%202/pro:chat"
    assert parse_qsl(sent.query) == [("alt", "sse"), ("key", KEY), ("n", "1")]
    assert "authorization" not in sent.headers
    assert len(upstream.requests) == 2
    seen = json.dumps([refused.response, refused.notifications]) + log
    assert "canary" not in seen
    assert quote(KEY, safe="") not in seen


@pytest.mark.requirement("7:roles")
async def test_requests_use_the_role_names_from_the_table_roles_wire(
    home: Path, upstream: FakeUpstream
) -> None:
    roles = {"user": "Ich", "wire": {"system": "developer", "assistant": "model", "tool": "function"}}
    write_config(home, x={"base_url": upstream.base_url, "roles": roles})
    upstream.default(OK)
    call = {"type": "tool_use", "id": "c1", "name": "f", "arguments": {}}
    result = {"type": "tool_result", "toolUseId": "c1", "content": [{"type": "text", "text": "r"}]}
    messages = [
        user("hi"),
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result, {"type": "text", "text": "more"}]},
    ]
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        await daemon.request("chat/start", {"messages": messages, "system": "s", "model": "x:m"})
        text = (await daemon.request("transcript/render", {"messages": messages, "model": "x:m"})).result[
            "text"
        ]

    sent_roles = [message["role"] for message in upstream.requests[0].json["messages"]]
    assert sent_roles == ["developer", "user", "model", "function", "user"]
    assert "## Ich" in text
    assert "## Assistant" in text


@pytest.mark.requirement("7:roles")
async def test_a_role_name_like_model_is_sent_but_one_like_ich_is_only_a_heading(
    home: Path, upstream: FakeUpstream
) -> None:
    table = {"base_url": upstream.base_url}
    write_config(
        home,
        gateway={**table, "roles": {"assistant": "model", "system": "developer"}},
        german={**table, "roles": {"user": "Ich", "assistant": "KI"}},
    )
    upstream.default(OK)
    answer = {"role": "assistant", "content": [{"type": "text", "text": "a"}]}
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        for model in ("gateway:m", "german:m"):
            messages = [user("hi"), answer, user("and?")]
            await daemon.request("chat/start", {"messages": messages, "system": "s", "model": model})

    sent = [[message["role"] for message in request.json["messages"]] for request in upstream.requests]
    assert sent == [["developer", "user", "model", "user"], ["system", "user", "assistant", "user"]]


@pytest.mark.requirement("7:templates", "7:file-source", "7:bare-names")
async def test_placeholders_are_replaced_in_every_place_of_a_table(
    home: Path, upstream: FakeUpstream
) -> None:
    (home / "team").write_text("blue\n", "utf-8")
    write_config(
        home,
        x={
            "base_url": "${place}/v1",
            "headers": {"X-Team": "team ${team}", "X-Plain": "TEST_PLAIN", "X-Model": "${model}"},
            "parameters": {"user": "${team}-${model}", "metadata": {"deep": ["${team}", "$${team}"]}},
            "env": {"place": "env:TEST_PLACE", "team": "file:team"},
        },
    )
    upstream.default(OK)
    env = {"TEST_PLACE": upstream.origin, "TEST_PLAIN": "plain-value"}
    async with running_daemon(home, env=env) as daemon:
        await daemon.initialize()
        await daemon.request("chat/start", {"messages": [user("${team}")], "model": "x:m"})

    sent = upstream.requests[0]
    assert sent.path == "/v1/chat/completions"
    assert {name: sent.headers[name] for name in ("x-team", "x-plain", "x-model")} == {
        "x-team": "team blue",
        "x-plain": "plain-value",
        "x-model": "m",
    }
    assert sent.json["user"] == "blue-m"
    assert sent.json["metadata"] == {"deep": ["blue", "${team}"]}
    assert sent.json["messages"] == [user("${team}")]


@pytest.mark.requirement("7:cmd-source", "7:resolved-once")
async def test_fifty_chats_run_a_command_once_and_lists_do_not_run_it(
    home: Path, upstream: FakeUpstream
) -> None:
    runs = home / "runs"
    program = "import sys; open(sys.argv[1], 'a').write('x'); print('key-of-the-command')"
    write_config(home, x={"base_url": upstream.base_url, "api_key": python_command(program, str(runs))})
    upstream.default(OK)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        rows = (await daemon.request("providers/list", {})).result["providers"]
        assert {row["id"]: row["configured"] for row in rows}["x"] is True
        assert not runs.exists()
        params = {"messages": [user("hi")], "model": "x:m"}
        started = {daemon.start("chat/start", params) for _ in range(50)}
        while started:
            message = await daemon.read()
            if "method" not in message:
                assert message["result"]["text"] == "ok"
                started.remove(message["id"])

    assert runs.read_text("utf-8") == "x"
    assert {request.headers["authorization"] for request in upstream.requests} == {
        "Bearer key-of-the-command"
    }


@pytest.mark.requirement("7:expired-credential")
@pytest.mark.parametrize("kind", ["openai", "openai-responses", "anthropic", "ollama"])
async def test_an_expired_credential_is_read_again_once_in_a_turn(
    home: Path, upstream: FakeUpstream, kind: str
) -> None:
    (home / "token").write_text("token-number-one", "utf-8")
    write_config(home, x={"kind": kind, "base_url": upstream.origin, "api_key": "file:token"})
    keys: list[str] = []

    def refuse(request: RecordedRequest) -> Reply:
        keys.append(request.headers.get("x-api-key") or request.headers["authorization"])
        return Reply.json({"error": {"message": "expired", "type": "authentication_error"}}, 401)

    chat_paths = {
        "openai": "/chat/completions",
        "openai-responses": "/responses",
        "anthropic": "/v1/messages",
        "ollama": "/api/chat",
    }
    upstream.default(refuse, path=chat_paths[kind])
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        error = (await ask(daemon)).error
        # The file has not changed, so there is no second attempt.
        assert (error["code"], len(keys)) == (1000, 1)
        (home / "token").write_text("token-number-two", "utf-8")
        exchange = await ask(daemon)

    assert exchange.error["code"] == 1000
    assert [key.removeprefix("Bearer ") for key in keys[1:]] == ["token-number-one", "token-number-two"]
    assert "retry" not in exchange.delta_types


@pytest.mark.requirement("7:expired-credential")
async def test_a_chat_and_a_list_of_models_succeed_with_a_renewed_credential(
    home: Path, upstream: FakeUpstream
) -> None:
    (home / "token").write_text("token-number-one", "utf-8")
    write_config(home, x={"base_url": upstream.base_url, "api_key": "file:token"})
    good = "token-number-one"

    def answer(request: RecordedRequest) -> Reply:
        if request.headers["authorization"] != f"Bearer {good}":
            return Reply.json({"error": {"message": "expired"}}, 401)
        if request.method == "GET":
            return Reply.json({"data": [{"id": "m"}]})
        return Reply.json(completion_body("ok"))

    upstream.default(answer)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        assert (await ask(daemon)).result["text"] == "ok"
        good = "token-number-two"
        (home / "token").write_text(good, "utf-8")
        assert (await ask(daemon)).result["text"] == "ok"
        good = "token-number-three"
        (home / "token").write_text(good, "utf-8")
        listed = (await daemon.request("models/list", {"provider": "x", "refresh": True})).result

    assert [row["id"] for row in listed["models"]] == ["x:m"]
    assert len(upstream.requests) == 5


@pytest.mark.requirement("7:cmd-source")
async def test_a_slow_command_delays_only_its_chat_and_ends_when_that_is_cancelled(
    home: Path, upstream: FakeUpstream
) -> None:
    gate = Gate()
    program = (
        "import sys, urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open(sys.argv[1]).read())"
    )
    write_config(
        home,
        slow={"base_url": upstream.base_url, "api_key": python_command(program, f"{upstream.origin}/slow")},
        x={"base_url": upstream.base_url},
    )
    upstream.default(Reply.events([gate]), path="/slow")
    upstream.default(OK)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        slow = daemon.start("chat/start", {"messages": [user("hi")], "model": "slow:m"})
        await upstream.wait_for_request(1)
        fast = daemon.start("chat/start", {"messages": [user("hi")], "model": "x:m"})
        while (message := await daemon.read()).get("id") != fast:
            assert "method" in message
        assert message["result"]["text"] == "ok"

        daemon.notify("$/cancelRequest", {"id": slow})
        error = (await daemon.read_until(slow)).error
        assert error["code"] == -32800
        await upstream.wait_for_disconnect(1)  # The end of the connection shows that the command was killed.
        gate.open()
    assert [request.path for request in upstream.requests] == ["/slow", "/v1/chat/completions"]


@pytest.mark.requirement("6:config", "7:cmd-source", "7:file-source", "7:python-source", "7:schema-source")
async def test_the_error_for_an_unreadable_source_names_it_and_where_it_is_used(
    home: Path, upstream: FakeUpstream
) -> None:
    names_in_errors = {
        "cmd:no-such-program-4711 canary-argument": "cmd:no-such-program-4711 …",
        "env:NO_SUCH_VARIABLE": "env:NO_SUCH_VARIABLE",
        "file:missing": "file:missing",
        "keyring:no-user": "keyring:no-user",
        "python:no_such_package.there:f": "python:no_such_package.there:f",
        "schema:settings.no.default": "schema:settings.no.default",
    }
    tables = {f"p{number}": {"api_key": source} for number, source in enumerate(names_in_errors)}
    tables["template"] = {"headers": {"A": "${nothing}"}}
    tables["circle"] = {"headers": {"A": "${a}"}, "env": {"a": "${a}"}}
    write_config(home, **{name: {"base_url": upstream.base_url, **table} for name, table in tables.items()})
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        for number, source in enumerate(names_in_errors.values()):
            error = (await ask(daemon, f"p{number}:m")).error
            assert error["code"] == 1010
            assert error["data"]["provider"] == f"p{number}"
            assert f"providers.p{number}.api_key is {source}, but " in error["message"]
            assert "canary" not in json.dumps(error)
        for name, wording in {"template": "headers.A uses ${nothing}", "circle": "env.a uses ${a}"}.items():
            error = (await ask(daemon, f"{name}:m")).error
            assert (error["code"], error["data"]["provider"]) == (1010, name)
            assert f"providers.{name}.{wording}" in error["message"]
    assert upstream.requests == []


@pytest.mark.requirement("7:bare-names")
@pytest.mark.parametrize(("key", "has_hint"), [("MY_TEAM_KEY", True), ("sk-4711-unknown", False)])
async def test_a_refused_key_that_looks_like_an_unset_variable_gets_a_hint(
    home: Path, upstream: FakeUpstream, key: str, has_hint: bool
) -> None:
    write_config(home, x={"base_url": upstream.base_url, "api_key": key})
    upstream.default(Reply.json({"error": {"message": "Incorrect API key provided."}}, 401))
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        chat = await ask(daemon)
        (listed,) = (await daemon.request("models/list", {"provider": "x"})).result["errors"]

    for error in (chat.error, listed["error"]):
        assert error["code"] == 1000
        hint = error["data"].get("hint", "")
        assert ("providers.x.api_key looks like the name of an environment variable" in hint) is has_hint
        assert key not in json.dumps(error)


@pytest.mark.requirement("7:bare-names", "7:trust-sources")
async def test_an_overlay_that_names_a_variable_sends_only_the_name(
    home: Path, upstream: FakeUpstream
) -> None:
    upstream.default(OK)
    async with running_daemon(home, env={"TEST_CANARY": "canary-of-the-user"}) as daemon:
        await daemon.initialize(
            provider(upstream.base_url, api_key="TEST_CANARY", headers={"A": "TEST_CANARY"})
        )
        await ask(daemon, "fake:m")

    sent = upstream.requests[0]
    assert (sent.headers["authorization"], sent.headers["a"]) == ("Bearer TEST_CANARY", "TEST_CANARY")
    assert "canary-of-the-user" not in str(sent)


@pytest.mark.requirement("7:file-source", "7:templates")
async def test_tables_of_copilot_may_have_sources_and_placeholders_too(
    home: Path, emulator: CopilotEmulator
) -> None:
    (home / "token").write_text(emulator.issue_token(), "utf-8")
    more = {
        "github_token": "file:token",
        "default_model": "gpt-4.1",
        "headers": {"X-Team": "${team}"},
        "parameters": {"user": "${team}-${model}"},
        "env": {"team": "file:team"},
    }
    (home / "team").write_text("blue", "utf-8")
    write_config(home, gh={**emulator.provider(), **more})
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        assert (await ask(daemon, "gh:gpt-4.1")).result["stopReason"] == "end_turn"

    sent = next(each for each in emulator.requests("copilot-individual") if each.method == "POST")
    assert sent.headers["x-team"] == "blue"
    assert sent.json["user"] == "blue-gpt-4.1"


@pytest.mark.requirement("7:url")
async def test_a_table_with_url_and_base_url_lists_models_below_base_url(
    home: Path, upstream: FakeUpstream
) -> None:
    write_config(
        home, x={"base_url": f"{upstream.base_url}?v=1", "url": f"{upstream.origin}/own/${{model}}/chat"}
    )
    upstream.script(Reply.json({"data": [{"id": "m"}]}), OK)
    async with running_daemon(home) as daemon:
        await daemon.initialize()
        await daemon.request("models/list", {"provider": "x"})
        await ask(daemon)

    assert [(each.path, each.query) for each in upstream.requests] == [
        ("/v1/models", "v=1"),
        ("/own/m/chat", ""),
    ]
