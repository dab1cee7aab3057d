"""The language server as a process: begun, told who asks, ended, and begun again; a script plays its part."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import jumpseat
from jumpseat.adapters.base import ClientInfo
from jumpseat.adapters.copilot_language_server import connection as connection_module
from jumpseat.adapters.copilot_language_server import server as server_module
from jumpseat.adapters.copilot_language_server.connection import (
    MAX_LINE_CHARACTERS,
    MAX_WORDS_CHARACTERS,
    SHUTDOWN_SECONDS,
    STOP_SECONDS,
)
from jumpseat.adapters.copilot_language_server.server import (
    MAX_STARTS,
    STARTS_WITHIN_SECONDS,
    Connection,
    LanguageServer,
    editor_info,
)
from jumpseat.chat import ChatError, ConfigError, ConnectionError, ProtocolError
from jumpseat.config import ProviderConfig, Values, hidden
from jumpseat.rpc.process import CLOSE_SECONDS
from jumpseat.wire import RpcError
from jumpseat.wire.child import Child, start_child
from tests.attempts import is_quick
from tests.fakes.language_server import NEVER, FakeLanguageServer

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and groups of POSIX")

SECRET = "hunter2-correct-horse-battery"
GITHUB_TOKEN = "ghu_0123456789abcdefghij"
AT_ONCE_SECONDS = 1.0
PATIENCE_SECONDS = 20.0
"""Far more than anything here takes: a loaded machine is slow, a hang is for ever."""


class House:
    """A server made as the adapter makes it, with everything that it told the adapter."""

    def __init__(self, provider: str, config: ProviderConfig) -> None:
        self.client: ClientInfo | None = ClientInfo("Neovim", "0.11.0")
        self.notifications: list[tuple[str, Any]] = []
        self.now = 1000.0
        self.server = LanguageServer(
            provider,
            config,
            Values(provider, config),
            who=lambda: self.client,
            on_notification=lambda method, params: self.notifications.append((method, params)),
            on_request=self.on_request,
            clock=lambda: self.now,
        )

    async def on_request(self, method: str, params: Any) -> Any:
        return [method, params]

    async def connection(self) -> Connection:
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await self.server.connection()

    async def failure(self) -> ChatError:
        with pytest.raises(ChatError) as caught:
            await self.connection()
        return caught.value


class Houses:
    """Makes them, and closes them at the end."""

    def __init__(self, fake: FakeLanguageServer) -> None:
        self._fake = fake
        self._made: list[House] = []

    def make(self, **table: Any) -> House:
        table.setdefault("command", self._fake.command)
        self._made.append(House("cls", ProviderConfig(kind="copilot-language-server", **table)))
        return self._made[-1]

    async def aclose(self) -> None:
        for house in self._made:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await house.server.aclose()


@pytest.fixture
async def fake() -> AsyncIterator[FakeLanguageServer]:
    async with FakeLanguageServer() as running:
        yield running


@pytest.fixture
async def houses(fake: FakeLanguageServer) -> AsyncIterator[Houses]:
    made = Houses(fake)
    yield made
    await made.aclose()


@pytest.fixture
def house(houses: Houses) -> House:
    return houses.make()


async def started_request(
    connection: Connection, fake: FakeLanguageServer, seconds: float | None = None
) -> asyncio.Task[Any]:
    """A request that has arrived and is not answered."""
    fake.on("ask", NEVER)
    task = asyncio.ensure_future(connection.request("ask", {}, seconds=seconds))
    await fake.wait_for("ask", len(fake.params("ask")) + 1)
    return task


async def failure_of(task: asyncio.Task[Any]) -> ChatError:
    with pytest.raises(ChatError) as caught:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await task
    return caught.value


def script(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o755)
    return path


# -- the handshake


@pytest.mark.requirement("language-server:initialize")
async def test_it_is_started_when_it_is_needed_and_told_who_asks(
    house: House, fake: FakeLanguageServer
) -> None:
    assert house.server.running is None
    assert not fake.starts
    connection = await house.connection()
    assert house.server.running is connection
    assert connection.server_version == "1.539.0"
    assert fake.starts[0].argv == ["--stdio"]
    told = fake.params("initialize")[0]
    assert told["processId"] == os.getpid()
    assert told["initializationOptions"] == {
        "editorInfo": {"name": "Neovim", "version": "0.11.0"},
        "editorPluginInfo": {"name": "jumpseat", "version": jumpseat.__version__},
    }
    assert told["capabilities"] == {"window": {"showDocument": {"support": True}}}
    await fake.wait_for("workspace/didChangeConfiguration")
    assert fake.methods[:3] == ["initialize", "initialized", "workspace/didChangeConfiguration"]


@pytest.mark.parametrize(
    ("configured", "client", "expected"),
    [
        (None, ClientInfo("Emacs", None), {"name": "Emacs", "version": "0"}),
        (None, ClientInfo("  "), {"name": "jumpseat", "version": jumpseat.__version__}),
        (None, None, {"name": "jumpseat", "version": jumpseat.__version__}),
        ("Vim/9.1", ClientInfo("Emacs", "30"), {"name": "Vim", "version": "9.1"}),
    ],
)
@pytest.mark.requirement("language-server:initialize")
def test_the_editor_is_the_configured_one_else_the_attached_one_else_ourselves(
    configured: str | None, client: ClientInfo | None, expected: dict[str, str]
) -> None:
    assert editor_info(ProviderConfig(editor_version=configured), client) == expected


@pytest.mark.requirement("language-server:initialize")
async def test_what_it_says_before_it_answers_initialize_is_heard_in_order(
    house: House, fake: FakeLanguageServer
) -> None:
    asked = asyncio.ensure_future(fake.wait_for("initialize"))

    async def chatty(params: Any) -> Any:
        await asked
        for number in range(3):
            fake.notify("early", number)
        assert await fake.request("early/request") == ["early/request", None]
        return await fake.default("initialize", params)

    fake.on("initialize", chatty)
    await house.connection()
    assert house.notifications[:3] == [("early", 0), ("early", 1), ("early", 2)]
    assert ("copilot/hook/didChange", {}) in house.notifications


@pytest.mark.requirement("language-server:initialize")
async def test_without_any_configuration_it_is_told_of_no_proxy_and_no_enterprise(
    house: House, fake: FakeLanguageServer
) -> None:
    await house.connection()
    told = await fake.wait_for("workspace/didChangeConfiguration")
    assert told == {"settings": {"telemetry": {"telemetryLevel": "off"}}}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {"proxy": "http://me:p%40ss-word-of-mine@proxy.corp:8080"},
            {"http": {"proxy": "http://me:p%40ss-word-of-mine@proxy.corp:8080", "proxyStrictSSL": True}},
        ),
        ({"proxy": "proxy.corp"}, {"http": {"proxy": "http://proxy.corp:80", "proxyStrictSSL": True}}),
        (
            {"proxy": "env:MY_PROXY"},
            {"http": {"proxy": "https://[::1]:3128", "proxyStrictSSL": True}},
        ),
        ({"proxy": "none"}, {"http": {"proxy": "", "proxyStrictSSL": True}}),
        ({"host": "acme.ghe.com"}, {"github-enterprise": {"uri": "https://acme.ghe.com"}}),
        ({"host": "github.acme.com"}, {"github-enterprise": {"uri": "https://github.acme.com"}}),
        (
            {"github_url": "https://github.acme.com/"},
            {"github-enterprise": {"uri": "https://github.acme.com"}},
        ),
        ({"host": "github.com"}, {}),
    ],
)
@pytest.mark.requirement("language-server:initialize")
async def test_proxy_and_enterprise_are_told_as_configured(
    houses: Houses,
    fake: FakeLanguageServer,
    monkeypatch: pytest.MonkeyPatch,
    table: dict[str, Any],
    expected: dict[str, Any],
) -> None:
    monkeypatch.setenv("MY_PROXY", "https://[::1]:3128")
    await houses.make(**table).connection()
    told = await fake.wait_for("workspace/didChangeConfiguration")
    assert told == {"settings": {"telemetry": {"telemetryLevel": "off"}, **expected}}


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"proxy": "socks5://user:hunter2@x"}, "providers.cls.proxy"),
        ({"proxy": "env:NOT_SET_ANYWHERE"}, "providers.cls.proxy"),
        ({"host": "a b"}, "providers.cls.host"),
        ({"env": {"A": "env:NOT_SET_ANYWHERE"}}, "providers.cls.env.A"),
        ({"command": ["/nowhere/at/all"]}, "providers.cls.command"),
    ],
)
@pytest.mark.requirement("language-server:command")
async def test_what_is_configured_wrong_is_told_with_its_key_and_starts_nothing(
    houses: Houses, fake: FakeLanguageServer, table: dict[str, Any], key: str
) -> None:
    error = await houses.make(**table).failure()
    assert isinstance(error, ConfigError)
    assert key in error.message
    assert "hunter2" not in error.message
    assert not fake.starts


@pytest.mark.requirement("language-server:environment")
async def test_no_other_providers_key_is_in_its_environment_and_none_in_its_arguments(
    houses: Houses, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("SOMEBODYS", hidden(SECRET).reveal())
    monkeypatch.setenv("GITHUB_TOKEN", GITHUB_TOKEN)
    monkeypatch.setenv("GH_COPILOT_TOKEN", "its-own")
    table = {"env": {"FOR_IT": "alone"}, "proxy": f"http://me:{SECRET}@proxy.corp:1"}
    await houses.make(**table).connection()
    (start,) = fake.starts
    assert start.env["GH_COPILOT_TOKEN"] == "its-own"
    assert start.env["FOR_IT"] == "alone"
    assert start.env["PATH"] == os.environ["PATH"]
    for text in (*start.env.values(), *start.argv, *fake.command):
        assert SECRET not in text
        assert GITHUB_TOKEN not in text


# -- starts that fail


@pytest.mark.parametrize(
    ("content", "mode", "told"),
    [("#!/bin/sh\n", 0o644, "Permission denied"), ("neither", 0o755, "Exec format error")],
    ids=["not executable", "exec format"],
)
@pytest.mark.requirement("language-server:failed-start")
async def test_a_program_that_cannot_be_started_is_told_with_the_systems_reason(
    houses: Houses, tmp_path: Path, content: str, mode: int, told: str
) -> None:
    program = script(tmp_path / "server", content)
    program.chmod(mode)
    error = await houses.make(command=[str(program)]).failure()
    assert isinstance(error, ConnectionError)
    assert told in error.message
    assert str(program) in (error.hint or "")
    assert not error.retryable


@pytest.mark.requirement("language-server:failed-start")
async def test_one_that_exits_at_once_is_told_with_its_exit_code_and_its_last_words(
    houses: Houses, tmp_path: Path
) -> None:
    words = "Node.js 22.13 is required to run GitHub Copilot but found 20.1"
    program = script(tmp_path / "server", f"#!/bin/sh\necho '{words}' >&2\nexit 24\n")
    error = await houses.make(command=[str(program)]).failure()
    assert isinstance(error, ConnectionError)
    assert "exit code 24" in error.message
    assert words in (error.hint or "")
    assert f"`{program} --stdio`" in (error.hint or "")
    assert not error.retryable


@pytest.mark.requirement("language-server:failed-start", "language-server:no-secrets")
async def test_its_last_words_are_told_bounded_and_without_secrets(houses: Houses, tmp_path: Path) -> None:
    hidden(SECRET)
    lines = ["no " * 1000, f"password {SECRET}", f"token {GITHUB_TOKEN}", "the end"]
    program = script(tmp_path / "server", "".join(["#!/bin/sh\n", *(f"echo {x} >&2\n" for x in lines)]))
    hint = (await houses.make(command=[str(program)]).failure()).hint or ""
    assert hint.endswith("password *** / token *** / the end")
    assert len(hint) < MAX_WORDS_CHARACTERS + 200


@pytest.mark.requirement("language-server:failed-start")
async def test_one_that_answers_initialize_with_an_error_is_told_with_its_words_and_ended(
    house: House, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", RpcError(-32603, "The extension host is on fire."))
    error = await house.failure()
    assert isinstance(error, ConnectionError)
    assert error.message.endswith("refuses to start: The extension host is on fire.")
    await fake.starts[0].ended()
    assert house.server.running is None


@pytest.mark.requirement("language-server:failed-start")
async def test_one_that_never_answers_initialize_is_ended_and_told(
    house: House, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake.stubborn = True
    fake.on("initialize", NEVER)
    for seconds in (0.2, 2.0, 10.0):
        monkeypatch.setattr(server_module, "INITIALIZE_SECONDS", seconds)
        error = await house.failure()
        assert isinstance(error, ConnectionError)
        assert f"not ready within {seconds:g} s" in error.message
        if "initialize" in fake.methods:
            break  # Else the machine was too busy to have it begin at all.
    await fake.starts[0].ended()


@pytest.mark.requirement("language-server:failed-start")
async def test_one_that_is_killed_before_it_is_ready_is_told_so(
    house: House, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", lambda params: fake.kill() or NEVER)  # type: ignore[func-returns-value]
    error = await house.failure()
    assert isinstance(error, ConnectionError)
    assert "killed by signal 9" in error.message


@pytest.mark.requirement("language-server:failed-start")
async def test_one_that_breaks_off_while_another_process_holds_its_stderr_is_told_all_the_same(
    houses: Houses, tmp_path: Path
) -> None:
    program = script(
        tmp_path / "server",
        f"#!{sys.executable} -IS\n"
        "import os, subprocess, sys, time\n"
        "held = subprocess.Popen(['sleep', '60'], start_new_session=True, stdin=subprocess.DEVNULL,"
        " stdout=subprocess.DEVNULL)\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(held.pid))\n"
        "os.close(1)\n"
        "time.sleep(60)\n",
    )
    try:
        error = await houses.make(command=[str(program)]).failure()
    finally:
        os.kill(int((tmp_path / "pid").read_text("utf-8")), signal.SIGKILL)
    assert error.message.endswith("was not ready when it closed its output.")


@pytest.mark.requirement("language-server:failed-start", "language-server:broken-framing")
async def test_one_that_prints_before_it_is_ready_is_told_so(house: House, fake: FakeLanguageServer) -> None:
    fake.on("initialize", lambda params: fake.send_bytes(b"Welcome!\n\n") or NEVER)  # type: ignore[func-returns-value]
    error = await house.failure()
    assert isinstance(error, ConnectionError)
    assert "it sent something that is no message" in error.message
    await fake.starts[0].ended()


@pytest.mark.requirement("language-server:failed-start", "language-server:restart")
async def test_a_start_that_failed_is_forgotten(house: House, fake: FakeLanguageServer) -> None:
    fake.on("initialize", RpcError(-32603, "Not now."), lambda params: {})
    await house.failure()
    connection = await house.connection()
    assert connection.running
    assert connection.server_version is None
    assert len(fake.starts) == 2
    for number in range(2, MAX_STARTS + 1):
        assert len(fake.starts) == number
        connection = await house.connection()
        fake.exit(3)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await connection.ended()
        if number < MAX_STARTS:
            await house.connection()
    assert ((await house.failure()).hint or "").endswith(" The last time it ended with exit code 3.")


# -- one server for all


@pytest.mark.requirement("language-server:restart")
async def test_many_who_need_it_at_once_start_one(house: House, fake: FakeLanguageServer) -> None:
    ready = asyncio.Event()

    async def slowly(params: Any) -> Any:
        await ready.wait()
        return await fake.default("initialize", params)

    fake.on("initialize", slowly)
    tasks = [asyncio.ensure_future(house.connection()) for _ in range(50)]
    await fake.wait_for("initialize")
    tasks[7].cancel()
    ready.set()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found.pop(7), asyncio.CancelledError)
    assert set(found) == {house.server.running}
    assert len(fake.starts) == 1


# -- requests


async def test_a_request_has_its_answer_and_an_error_as_the_server_said_it(
    house: House, fake: FakeLanguageServer
) -> None:
    fake.on("ask", lambda params: params["a"] + 1)
    fake.on("refuse", RpcError(1002, "Not available.", {"why": "policy"}))
    connection = await house.connection()
    assert await connection.request("ask", {"a": 1}, seconds=PATIENCE_SECONDS) == 2
    with pytest.raises(RpcError) as caught:
        await connection.request("refuse", {}, seconds=None)
    assert (caught.value.code, caught.value.message, caught.value.data) == (
        1002,
        "Not available.",
        {"why": "policy"},
    )
    connection.notify("told", [1])
    assert await fake.wait_for("told") == [1]
    assert connection.running


@pytest.mark.requirement("language-server:no-secrets")
async def test_what_an_error_says_is_without_secrets(house: House, fake: FakeLanguageServer) -> None:
    hidden(SECRET)
    fake.on("refuse", RpcError(1001, f"bad token {GITHUB_TOKEN} and {SECRET}."))
    connection = await house.connection()
    with pytest.raises(RpcError) as caught:
        await connection.request("refuse", {}, seconds=PATIENCE_SECONDS)
    assert caught.value.message == "bad token *** and ***."


@pytest.mark.requirement("language-server:silence")
async def test_a_request_that_is_not_answered_in_time_is_taken_back(
    house: House, fake: FakeLanguageServer
) -> None:
    connection = await house.connection()
    task = await started_request(connection, fake, 0.2)
    error = await failure_of(task)
    assert isinstance(error, ConnectionError)
    assert "has not answered ask within 0.2 s" in error.message
    asked = next(each["id"] for each in fake.received if each.get("method") == "ask")
    assert await fake.wait_for("$/cancelRequest") == {"id": asked}
    assert connection.running


@pytest.mark.requirement("language-server:cancel")
async def test_a_cancelled_caller_takes_the_request_back(house: House, fake: FakeLanguageServer) -> None:
    connection = await house.connection()
    task = await started_request(connection, fake)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    asked = next(each["id"] for each in fake.received if each.get("method") == "ask")
    assert await fake.wait_for("$/cancelRequest") == {"id": asked}


async def test_progress_comes_by_token_in_order_and_none_is_lost_that_comes_early(
    house: House, fake: FakeLanguageServer, caplog: pytest.LogCaptureFixture
) -> None:
    def tell(params: Any) -> str:
        for number in range(100):
            fake.progress("one", {"n": number})
            fake.progress("two", {"m": number})
            fake.progress("nobody's", {})
        fake.notify("$/progress", {"token": "one", "value": "no object"})
        fake.notify("$/progress", {"token": ["one"], "value": {}})
        fake.notify("$/progress", None)
        return "done"

    fake.on("ask", tell)
    connection = await house.connection()
    with connection.progress("one") as one, connection.progress(2) as other:
        assert await connection.request("ask", {}, seconds=PATIENCE_SECONDS) == "done"
        assert [one.get_nowait() for _ in range(one.qsize())] == [{"n": number} for number in range(100)]
        assert other.empty()
        fake.progress(2, {"kind": "end"})
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await other.get() == {"kind": "end"}
    fake.progress("one", {"late": True})
    fake.on("ask", "done")
    assert await connection.request("ask", {}, seconds=PATIENCE_SECONDS) == "done"
    assert one.empty()
    assert "$/progress" not in [method for method, _ in house.notifications]
    assert not [record for record in caplog.records if record.levelno >= logging.WARNING]


# -- its log


@pytest.mark.requirement("language-server:no-secrets")
async def test_its_stderr_is_in_the_log_without_secrets(
    house: House, fake: FakeLanguageServer, caplog: pytest.LogCaptureFixture
) -> None:
    hidden(SECRET)
    caplog.set_level(logging.INFO)
    connection = await house.connection()
    fake.stderr(
        f"plain words\nkey {SECRET}\nAuthorization: Bearer abc.def\n{GITHUB_TOKEN} tid=1;exp=2:x end\n"
    )
    fake.exit(0)
    async with asyncio.timeout(PATIENCE_SECONDS):
        await connection.ended()
    lines = [record.getMessage() for record in caplog.records if record.name == server_module.logger.name]
    assert lines[-4:] == [
        "cls: plain words",
        "cls: key ***",
        "cls: Authorization: Bearer ***",
        "cls: *** *** end",
    ]


@pytest.mark.requirement("language-server:no-secrets")
@pytest.mark.parametrize("before", [0, MAX_LINE_CHARACTERS - len(SECRET) // 2, MAX_LINE_CHARACTERS])
async def test_no_half_of_a_secret_is_left_where_a_long_line_is_cut(
    house: House, fake: FakeLanguageServer, caplog: pytest.LogCaptureFixture, before: int
) -> None:
    hidden(SECRET)
    caplog.set_level(logging.INFO)
    task = await started_request(await house.connection(), fake)
    fake.stderr(f"{'x' * before}{SECRET}{'y' * 30_000}\n")
    fake.exit(1)
    error = await failure_of(task)
    assert SECRET[:8] not in caplog.text + (error.hint or "")
    assert max(len(record.getMessage()) for record in caplog.records) < MAX_LINE_CHARACTERS + 100


# -- death, and life after it


@pytest.mark.requirement("language-server:crash", "language-server:restart")
async def test_after_kill_9_who_waits_fails_within_a_second_and_the_next_use_starts_it_again(
    house: House, fake: FakeLanguageServer
) -> None:
    async def seconds_until_all_fail() -> float:
        connection = await house.connection()
        count = len(fake.starts)
        tasks = [await started_request(connection, fake) for _ in range(3)]
        fake.stderr("terrible things\n")
        killed = time.monotonic()
        fake.kill()
        errors = [await failure_of(task) for task in tasks]
        took = time.monotonic() - killed
        for error in errors:
            assert isinstance(error, ProtocolError)
            assert "killed by signal 9" in error.message
            assert not error.retryable
        assert house.server.running is None
        with pytest.raises(ProtocolError, match="signal 9"):
            connection.notify("more")
        with pytest.raises(ProtocolError, match="signal 9"):
            await connection.request("more", seconds=PATIENCE_SECONDS)
        again = await house.connection()
        assert again is not connection
        assert again.running
        assert len(fake.starts) == count + 1
        return took

    await is_quick(seconds_until_all_fail, within=AT_ONCE_SECONDS)


@pytest.mark.requirement("language-server:crash")
async def test_its_last_words_are_with_the_failure_and_not_those_of_its_start(
    house: House, fake: FakeLanguageServer
) -> None:
    async def noisily(params: Any) -> Any:
        fake.stderr("no keyring\n")
        await fake.request("x")  # By its answer the line has been read.
        return await fake.default("initialize", params)

    fake.on("initialize", noisily)
    connection = await house.connection()
    task = await started_request(connection, fake)
    fake.stderr("out of memory\n")
    fake.exit(134)
    error = await failure_of(task)
    assert "exit code 134" in error.message
    assert error.hint == "The next chat starts it again. Its last words: out of memory"


@pytest.mark.parametrize(
    "garbage", [b"Hello?\r\n\r\n", b"Content-Length: 3\r\n\r\n{{{", b"\x00\xff" * 20_000]
)
@pytest.mark.requirement("language-server:broken-framing", "language-server:restart")
async def test_garbage_in_mid_chat_ends_it_and_the_next_use_starts_it_again(
    house: House, fake: FakeLanguageServer, garbage: bytes
) -> None:
    connection = await house.connection()
    task = await started_request(connection, fake)
    fake.send_bytes(garbage)
    error = await failure_of(task)
    assert isinstance(error, ProtocolError)
    assert "no message" in error.message
    await fake.starts[0].ended()
    assert (await house.connection()).running
    assert len(fake.starts) == 2


@pytest.mark.requirement("language-server:restart")
async def test_the_next_one_is_not_started_before_the_last_one_is_gone(
    house: House, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[asyncio.Task[str]] = []
    were_gone: list[bool] = []

    async def start(*argv: Any, **more: Any) -> Child:
        were_gone.extend(end.done() for end in ends)
        child = await start_child(*argv, **more)
        ends.append(asyncio.ensure_future(child.ended()))
        return child

    monkeypatch.setattr(server_module, "start_child", start)
    task = await started_request(await house.connection(), fake)
    fake.send_bytes(b"Hello?\r\n\r\n")
    await failure_of(task)
    await house.connection()
    await house.server.aclose()
    await asyncio.gather(*ends)
    assert were_gone == [True]


@pytest.mark.requirement("language-server:restart")
async def test_it_is_started_five_times_in_three_minutes_and_then_not_before_these_are_over(
    house: House, fake: FakeLanguageServer
) -> None:
    for number in range(MAX_STARTS):
        connection = await house.connection()
        assert await house.connection() is connection
        house.now += 10
        fake.exit(1)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await connection.ended()
        assert len(fake.starts) == number + 1
    error = await house.failure()
    assert isinstance(error, ConnectionError)
    assert f"{MAX_STARTS} times within 3 minutes" in error.message
    assert error.retry_after == pytest.approx(STARTS_WITHIN_SECONDS - 50)
    assert "130 s" in (error.hint or "")
    assert (error.hint or "").endswith(" The last time it ended with exit code 1.")
    house.now += 129
    await house.failure()
    assert len(fake.starts) == MAX_STARTS
    house.now += 1
    assert (await house.connection()).running
    assert len(fake.starts) == MAX_STARTS + 1


@pytest.mark.requirement("language-server:restart", "language-server:failed-start")
async def test_starts_that_fail_count_and_what_is_configured_wrong_does_not(
    houses: Houses, fake: FakeLanguageServer, tmp_path: Path
) -> None:
    program = tmp_path / "server"
    house = houses.make(command=[str(program)])
    for _ in range(2 * MAX_STARTS):
        assert isinstance(await house.failure(), ConfigError)
    script(program, "#!/bin/sh\necho 'Node is too old' >&2\nexit 1\n")
    for _ in range(MAX_STARTS):
        assert "exit code 1" in (await house.failure()).message
    error = await house.failure()
    assert "times within" in error.message
    why = "The last time it was not ready when it ended with exit code 1. Its last words: Node is too old"
    assert (error.hint or "").endswith(why)


# -- the end


@pytest.mark.requirement("language-server:shutdown")
async def test_it_is_asked_to_shut_down_and_ends_by_itself(
    house: House, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Whoever waited for the whole of them would wait for longer than this test does.
    monkeypatch.setattr(connection_module, "SHUTDOWN_SECONDS", 2 * PATIENCE_SECONDS)
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 4 * PATIENCE_SECONDS)
    connection = await house.connection()
    grandchild = await fake.grandchild()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await house.server.aclose()
    assert fake.methods[-2:] == ["shutdown", "exit"]
    assert not connection.running
    await fake.starts[0].ended()
    await grandchild.ended()
    error = await house.failure()
    assert "was ended" in error.message
    assert len(fake.starts) == 1


@pytest.mark.requirement("language-server:shutdown")
async def test_one_that_ignores_it_is_killed_with_all_it_has_started_in_the_daemons_time(
    houses: Houses, fake: FakeLanguageServer
) -> None:
    assert SHUTDOWN_SECONDS + STOP_SECONDS < CLOSE_SECONDS
    fake.stubborn = True

    async def seconds_until_it_is_closed() -> float:
        other = houses.make()
        await other.connection()
        grandchild = await fake.grandchild()
        began = time.monotonic()
        await other.server.aclose()
        took = time.monotonic() - began
        await fake.current.ended()
        await grandchild.ended()
        return took

    await is_quick(seconds_until_it_is_closed, within=CLOSE_SECONDS + AT_ONCE_SECONDS)


@pytest.mark.parametrize("seconds", [0.05, 0.25], ids=["while shutting down", "while stopping"])
@pytest.mark.requirement("language-server:shutdown")
async def test_whoever_runs_out_of_time_while_it_closes_has_it_killed_at_once(
    house: House, fake: FakeLanguageServer, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 60.0)
    fake.stubborn = True
    await house.connection()
    grandchild = await fake.grandchild()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await house.server.aclose()
    await fake.starts[0].ended()
    await grandchild.ended()


@pytest.mark.requirement("language-server:shutdown")
async def test_requests_in_flight_fail_when_it_closes(house: House, fake: FakeLanguageServer) -> None:
    connection = await house.connection()
    task = await started_request(connection, fake)
    await house.server.aclose()
    assert "it was stopped" in (await failure_of(task)).message


@pytest.mark.requirement("language-server:shutdown")
async def test_closing_while_it_is_started_ends_it_and_tells_who_waits(
    house: House, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    tasks = [asyncio.ensure_future(house.connection()) for _ in range(3)]
    await fake.wait_for("initialize")
    async with asyncio.timeout(PATIENCE_SECONDS):
        await house.server.aclose()
    for task in tasks:
        error = await failure_of(task)
        assert isinstance(error, ConnectionError)
        assert "was ended" in error.message
    await fake.starts[0].ended()


@pytest.mark.requirement("language-server:shutdown")
async def test_a_caller_that_is_cancelled_while_it_closes_is_cancelled(
    house: House, fake: FakeLanguageServer
) -> None:
    fake.on("initialize", NEVER)
    task = asyncio.ensure_future(house.connection())
    await fake.wait_for("initialize")
    closing = asyncio.ensure_future(house.server.aclose())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await closing


@pytest.mark.requirement("language-server:shutdown")
async def test_closing_what_was_never_started_or_is_dead_is_nothing(
    house: House, fake: FakeLanguageServer, houses: Houses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection_module, "SHUTDOWN_SECONDS", 2 * PATIENCE_SECONDS)
    monkeypatch.setattr(connection_module, "STOP_SECONDS", 4 * PATIENCE_SECONDS)
    await house.server.aclose()
    assert not fake.starts
    other = houses.make()
    connection = await other.connection()
    fake.kill()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await connection.ended()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await other.server.aclose()
        await other.server.aclose()
