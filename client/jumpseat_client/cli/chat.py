"""`jumpseat chat`: one question, one streamed answer."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

from jumpseat_client import ChatFailed, ChatStream, Client
from jumpseat_client.cli.failures import (
    FAILED,
    OK,
    print_client_error,
    print_json,
    say,
)
from jumpseat_client.cli.output import AnswerOutput, Spinner, make_output, make_spinner
from jumpseat_client.cli.terminal import clean_line
from jumpseat_client.connection import OnNotification, OnRequest
from jumpseat_client.results import ChatResult, Delta

CLIENT_NAME = "jumpseat-cli"

Continued: TypeAlias = Callable[[Client], Awaitable[Mapping[str, Any]]]
"""Returns a kept conversation, or raises a ClientError."""


def daemon(
    command: Sequence[str],
    *,
    on_notification: OnNotification | None = None,
    on_request: OnRequest | None = None,
) -> Client:
    """A client with this daemon, for one command."""
    return Client.spawn(
        command, client_name=CLIENT_NAME, on_notification=on_notification, on_request=on_request
    )


def read_messages(question: Sequence[str]) -> list[dict[str, Any]] | None:
    """Build the conversation from the command line and stdin; None without a question."""
    typed, piped = " ".join(question).strip(), _read_stdin(bool(question))
    if not typed and not piped.strip():
        return None
    content: list[dict[str, Any]] = []
    if typed and piped.strip():
        content.append({"type": "context", "text": piped, "label": "stdin"})
    content.append({"type": "text", "text": typed or piped})
    return [{"role": "user", "content": content}]


def _read_stdin(optional: bool) -> str:
    """Read piped input; with `optional`, only from a pipe or a file."""
    # A script may have a socket or a device as stdin, which may never end.
    try:
        mode = os.fstat(0).st_mode
    except OSError:
        return ""
    if os.isatty(0) or (optional and not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode))):
        return ""
    return sys.stdin.buffer.read().decode("utf-8", "replace")


async def ask(
    messages: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    *,
    keep: bool,
    continued: Continued | None,
    daemon_command: Sequence[str],
    as_json: bool,
) -> int:
    """Ask, print the answer as it arrives, and return the exit code.

    Args:
        messages: the new ones.
        options: those of `Client.chat`; the ones that are None come from the continued conversation.
        keep: keep the turn.
        continued: returns the kept conversation to continue; None to begin a new one.
        daemon_command: the daemon's command line.
        as_json: print the result as JSON.

    Raises:
        ClientError: the daemon cannot be used; with `as_json` also every other failure.
    """
    spinner = make_spinner("Starting")
    try:
        async with daemon(daemon_command) as client:
            if continued is not None:
                kept = await continued(client)
                messages = [*kept["messages"], *messages]
                given = {key: value for key, value in options.items() if value is not None}
                options = {**options_of_kept(kept), **given}
            spinner.show("Waiting for the model")
            stream = client.chat(messages, keep=keep, on_progress=spinner.progress, **options)
            if as_json:
                print_json((await wait_for_result(stream, spinner))[0])
                return OK
            return await _print_answer(stream, spinner)
    finally:
        spinner.stop()


def options_of_kept(kept: Mapping[str, Any]) -> dict[str, Any]:
    """The options with which a kept conversation goes on."""
    options = {key: kept.get(key) for key in ("model", "system", "settings")}
    return {**options, "conversation_id": kept["id"]}


async def wait_for_result(stream: ChatStream, spinner: Spinner) -> tuple[ChatResult, list[str]]:
    """Wait for the end of a turn; return its result and the warnings to print.

    Raises:
        ClientError: the turn failed.
    """
    # Streamed although only the result is used, because the daemon then detects a provider that stops
    # sending.
    notes = [note async for delta in stream if (note := note_of(delta, spinner))]
    spinner.stop()
    return await stream.response(), notes


async def _print_answer(stream: ChatStream, spinner: Spinner) -> int:
    deltas = aiter(stream)  # Sends the chat: rich is imported while the model answers.
    output = make_output()
    notes: list[str] = []
    failure: ChatFailed | None = None
    try:
        async for delta in deltas:
            if delta.text:
                spinner.stop()
                output.write(delta.text)
            elif note := note_of(delta, spinner):
                notes.append(note)
    except ChatFailed as error:
        failure = error
    finally:
        # After Ctrl-C too: the text so far stays on the screen.
        spinner.stop()
        _finish(output, notes)
    if failure is not None:
        print_client_error(failure, as_json=False)
        return FAILED
    return OK


def _finish(output: AnswerOutput, notes: Sequence[str]) -> None:
    with suppress(BrokenPipeError):
        output.finish()
    # After the answer: on a terminal they would otherwise appear inside it.
    for note in notes:
        say(note)


def note_of(delta: Delta, spinner: Spinner) -> str | None:
    """Show progress in the spinner; return a warning to print after the answer."""
    match delta.type:
        case "start":
            spinner.show(f"Waiting for {delta.get('model', 'the model')}")
        case "retry":
            error = delta.get("error") or {}
            spinner.show(f"Trying again: {error.get('message', 'the provider failed')}")
        case "thinking_start":
            spinner.show("Thinking")
        case "warning":
            return f"warning: {clean_line(str(delta.get('message', '')))}"
        case "done" if delta.get("stopReason") == "max_tokens":
            return "warning: the answer reached the output limit; --max-tokens sets a higher one."
        case "done" if delta.get("stopReason") in ("content_filter", "refusal", "context_exceeded"):
            return f"warning: the answer was cut off ({delta.get('stopReason')})."
    return None
