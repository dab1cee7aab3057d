"""The daemon's process as the extension sees it: killed, missing, shared, restarted."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from jumpseat.testing.answers.chat_completions import chunk, completion_stream
from jumpseat.testing.upstream import Gate, Reply
from tests.editors.vscode.provider import hello
from tests.editors.vscode.requests import ask, begin

pytestmark = [pytest.mark.editor, pytest.mark.slow]

MODEL = "fake:fake-model"
HALF = Reply.events([chunk({"content": "Half an answer "}), Gate()])


@pytest.mark.scenario("daemon-killed")
def test_a_killed_daemon_ends_the_turn_keeps_the_partial_and_is_started_again(chat, provider, daemon):
    provider.script(HALF)
    chat.ask("@jumpseat A story.")
    chat.wait_for_answer_text("Half an")
    os.kill(daemon.pid, signal.SIGKILL)
    chat.wait_for_answer()
    chat.wait_for_answer_text("jumpseat ended unexpectedly")
    assert "Half an answer" in chat.answers.last.inner_text()

    provider.script(hello())
    chat.ask("@jumpseat Go on.")
    chat.wait_for_answer_text("Hello there.")
    sent = [message["content"] for message in provider.chats[1]["messages"]]
    assert sent == ["A story.", "Half an answer ", "Go on."]


@pytest.mark.scenario("daemon-killed")
def test_another_extensions_next_request_works_after_the_daemon_is_killed(window, provider, daemon):
    provider.script(HALF)
    begin(window, MODEL, [{"role": "user", "content": "A story."}])
    window.wait("state.running.parts.length === 1")
    os.kill(daemon.pid, signal.SIGKILL)
    ended = window.js("return state.running.ended")
    assert ended["parts"] == ["Half an answer "]
    assert "jumpseat ended unexpectedly" in ended["error"]["message"]
    provider.script(hello())
    ask(window, MODEL, [{"role": "user", "content": "Hi"}])


@pytest.mark.scenario("daemon-killed")
def test_a_daemon_that_ends_too_often_is_reported_once_and_can_be_restarted(chat, provider, daemon):
    # The restart resets the limit: the extension starts a daemon again after each of the next five ends.
    chat.command("jumpseat.restart")
    for _ in range(5):
        provider.forget()
        provider.script(HALF)
        begin(chat, MODEL, [{"role": "user", "content": "A story."}])
        provider.wait_for_chat()
        os.kill(daemon.pid, signal.SIGKILL)
        chat.js("return state.running.ended")
    provider.script(HALF)
    chat.ask("@jumpseat A story.")
    chat.wait_for_answer_text("Half an")
    os.kill(daemon.pid, signal.SIGKILL)
    chat.wait_for_answer_text('"jumpseat: Restart Server" tries again.')
    chat.wait_until_hidden(chat.notifications.first)

    chat.answers.last.get_by_text("Restart Server", exact=True).click()
    chat.wait_for_notification("jumpseat was restarted.")
    assert chat.notifications.count() == 1
    chat.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)


@pytest.mark.scenario("two-chats", "two-editors")
def test_two_windows_share_one_daemon_and_stream_concurrently(window, provider, daemon, open_window):
    gates = [Gate(), Gate()]
    provider.script(
        *(
            Reply.events([chunk({"content": f"{name} "}), gate, *completion_stream(["end."])])
            for name, gate in zip(("First", "Second"), gates, strict=True)
        )
    )
    other = open_window()
    for number, each in enumerate((window, other), 1):
        begin(each, MODEL, [{"role": "user", "content": "Hi"}])
        provider.wait_for_chat(number)
        each.wait("state.running.parts.length === 1")
    assert len(daemon.pointers()) == 1
    for gate in reversed(gates):
        provider.open(gate)
    for each, name in ((window, "First"), (other, "Second")):
        parts = each.js("return state.running.ended")["parts"]
        assert "".join(part for part in parts if isinstance(part, str)) == f"{name} end."
    other.close()


@pytest.mark.scenario("missing-binary")
def test_a_missing_program_is_an_error_in_the_chat_that_says_what_to_do(chat, code_server):
    code_server.configure(path="/nowhere/jumpseat")
    chat.wait("vscode.workspace.getConfiguration('jumpseat').get('path') !== ''")
    try:
        chat.ask("@jumpseat Hello?")
        chat.wait_for_answer_text(
            'The program "/nowhere/jumpseat" of the setting jumpseat.path was not found.'
        )
        chat.wait_for_answer_text("Correct the setting, or empty it")
    finally:
        code_server.configure(path=None)
    chat.wait("vscode.workspace.getConfiguration('jumpseat').get('path') === ''")
    chat.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)


def test_the_server_is_restarted(window, provider):
    window.command("jumpseat.restart")
    window.wait_for_notification("jumpseat was restarted.")
    provider.script(hello())
    ask(window, MODEL, [{"role": "user", "content": "Hi"}])


def test_the_proxy_of_vs_code_is_used_and_its_password_is_not_in_environments(window, code_server):
    file = code_server.home / "config.toml"
    before = file.read_text()
    table = '\n[providers.far]\nkind = "openai"\nbase_url = "http://far.invalid/v1"\nmax_retries = 0\n'
    file.write_text(before + table)
    change = """
        const [proxy] = values;
        await vscode.workspace.getConfiguration('http').update('proxy', proxy ?? undefined, true);
    """
    try:
        with socket.socket() as refusing:
            refusing.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{refusing.getsockname()[1]}"
            window.js(change, f"http://me:canary@{address}")
            window.open_file("far.md", "---\nmodel: far:m\n---\n\n## Me\n\nHello?\n")
            window.start("jumpseat.sendTranscript")
            assert "proxy" in window.wait_for_notification(address).inner_text()
            environments = [
                found for each in Path("/proc").glob("[0-9]*/environ") if (found := read_environment(each))
            ]
            assert any(f"HTTPS_PROXY=http://{address}".encode() in each for each in environments)
            assert not any(b"canary@" in each for each in environments)
    finally:
        window.js(change, None)
        file.write_text(before)


def read_environment(file: Path) -> bytes:
    """Return a process's environment; nothing if it has ended or belongs to another user."""
    try:
        return file.read_bytes()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return b""


def test_the_status_shows_the_state_of_the_providers(window):
    window.start("jumpseat.status")
    window.wait_for_text("configured", within=window.quick_input)
    window.wait_for_text("signed out", within=window.quick_input)


def test_a_mistake_in_the_configuration_is_shown(window, code_server):
    window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
    file = code_server.home / "config.toml"
    before = file.read_text()
    file.write_text(before.replace("[providers.fake]", "[providers.fake"))
    try:
        window.wait_for_notification("is not valid TOML")
    finally:
        file.write_text(before)


def test_the_doctor_checks_the_configuration_file_of_the_setting(window, code_server):
    file = code_server.home / "other.toml"
    file.write_text("")
    code_server.configure(config=str(file))
    window.wait("vscode.workspace.getConfiguration('jumpseat').get('config') !== ''")
    try:
        window.js("vscode.tasks.onDidStartTask(({ execution }) => { state.task = execution.task; })")
        window.start("jumpseat.doctor")
        window.wait("state.task")
        assert window.js("return state.task.execution.args") == ["doctor", "--config", str(file)]
    finally:
        code_server.configure(config=None)
        window.command("workbench.action.tasks.terminate", "terminateAll")
        window.command("workbench.action.closePanel")
    window.wait("vscode.workspace.getConfiguration('jumpseat').get('config') === ''")
    window.wait("(await lm.models({ id: values[0] })).length === 1", MODEL)
