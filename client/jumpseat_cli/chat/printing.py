"""Prints the answer of one question, as text or as JSON."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from jumpseat_cli.chat.stop_reasons import warning_about
from jumpseat_cli.terminal.failures import (
    DENIED,
    FAILED,
    OK,
    cancelled_error,
    client_error,
    exit_code_of,
    print_client_error,
    print_failure,
    print_json,
    say,
)
from jumpseat_cli.terminal.output import AnswerOutput, AnswerText, Spinner
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.errors import ChatFailed, ClientError
from jumpseat_client.results import ChatResult, Delta
from jumpseat_client.stream import ChatStream

if TYPE_CHECKING:
    from jumpseat_cli.chat.approving import Approver
    from jumpseat_cli.chat.tool_use import ToolUse

CANCEL_SECONDS = 2.0
"""How long to wait for a cancelled chat to end."""


class AnswerForm(NamedTuple):
    """How an answer is printed."""

    as_json: bool = False
    """Whether to print the whole result as JSON."""

    is_raw: bool = False
    """Whether to print plain text on a terminal too."""

    streams: bool = True
    shows_thinking: bool = False
    """Whether to print the thinking on stderr, before the answer."""

    shows_usage: bool = False
    """Whether to print tokens, time and cost on stderr."""


async def wait_for_result(
    stream: ChatStream, spinner: Spinner, tools: ToolUse | None = None
) -> tuple[ChatResult, list[str]]:
    """Wait for a turn to end, and return its result with the warnings and notes to print.

    Raises:
        ClientError: the turn failed.
    """
    notes: list[str] = []
    # Stream, although only the result is used, so that the daemon can detect a provider that stops sending.
    async for delta in stream:
        if tools is not None and await tools.handle(delta):
            continue
        if note := handle_delta(delta, spinner):
            notes.append(note)
    spinner.stop()
    return await stream.response(), notes


async def print_answer(
    stream: ChatStream,
    spinner: Spinner,
    form: AnswerForm,
    approver: Approver | None,
    output_mode: Any,
) -> int:
    """Print the answer as it arrives, and return the exit code.

    Args:
        stream: the chat, which has not started.
        spinner: shows what the command is waiting for.
        form: how to print the answer.
        approver: decides about calls of tools; None for a chat without tools.
        output_mode: the option of `Client.chat`.

    Raises:
        ClientError: with JSON, the chat failed; without JSON, the daemon died.
    """
    began = time.monotonic()
    if form.as_json:
        return await _print_result(stream, spinner, form, approver, output_mode)
    deltas = aiter(stream)  # Sends the request. The next line imports rich while the model answers.
    output = AnswerText(is_raw=form.is_raw)
    tools = None if approver is None else _use_tools(approver, stream, spinner, output)
    notes: list[str] = []
    failure: ChatFailed | None = None
    is_kept = False
    try:
        async for delta in deltas:
            is_kept = is_kept or "conversationId" in delta
            if tools is None or not await tools.handle(delta):
                _print_delta(delta, spinner, output, form, notes, ends_spinner=tools is None, is_kept=is_kept)
        if not form.streams:
            notes = await _print_whole_answer(stream, spinner, output, form)
    except ChatFailed as error:
        failure = error
    finally:
        # Ctrl-C ends up here too, and must leave the text so far on the screen.
        if tools is not None:
            await tools.close()
        spinner.stop()
        _finish_output(output, notes)
    if form.shows_usage:
        _print_usage((stream.result if failure is None else failure.partial) or {}, began)
    if failure is not None:
        print_client_error(failure, as_json=False)
        return FAILED
    if (fault := _find_fault(await stream.response(), output_mode)) is not None:
        return print_failure(fault)
    if (denial := _find_denial(approver)) is not None:
        print_failure(*denial)
        return DENIED
    return OK


def _print_delta(
    delta: Delta,
    spinner: Spinner,
    output: AnswerText,
    form: AnswerForm,
    notes: list[str],
    *,
    ends_spinner: bool,
    is_kept: bool,
) -> None:
    """Print a delta, or append a note to print later.

    Args:
        ends_spinner: whether text stops the spinner for good, because no tool calls can follow.
        is_kept: whether the turn is kept, so that another command can continue it.
    """
    if delta.text:
        spinner.stop() if ends_spinner else spinner.pause()
        output.write(delta.text)
    elif delta.type == "thinking_delta" and form.shows_thinking:
        spinner.pause()
        output.think(str(delta.get("text", "")))
    elif note := handle_delta(delta, spinner, is_kept=is_kept):
        notes.append(note)


async def _print_whole_answer(
    stream: ChatStream, spinner: Spinner, output: AnswerText, form: AnswerForm
) -> list[str]:
    """Print an answer that was not streamed, and return the warnings and notes about it."""
    result = await stream.response()
    spinner.stop()
    if form.shows_thinking and (text := thinking_in(result)):
        output.think(text)
    output.write(result.text)
    return notes_of(result)


async def _print_result(
    stream: ChatStream,
    spinner: Spinner,
    form: AnswerForm,
    approver: Approver | None,
    output_mode: Any,
) -> int:
    """Print the result of a chat as JSON, and return the exit code."""
    began = time.monotonic()
    tools = None if approver is None else _use_tools(approver, stream, spinner, None)
    try:
        result, _ = await wait_for_result(stream, spinner, tools)
    except asyncio.CancelledError as error:
        spinner.stop()
        return await _print_cancellation(stream, exit_code_of(error))
    document: dict[str, Any] = dict(result)
    code = OK
    if tools is not None:
        document["calls"] = tools.calls.rows
    if (denial := _find_denial(approver)) is not None:
        document["error"], code = client_error(*denial), DENIED
    if (fault := _find_fault(result, output_mode)) is not None:
        document["error"], code = client_error(fault), FAILED
    print_json(document)
    if form.shows_usage:
        _print_usage(result, began)
    return code


def _use_tools(
    approver: Approver, stream: ChatStream, spinner: Spinner, output: AnswerText | None
) -> ToolUse:
    from jumpseat_cli.chat.tool_use import ToolUse  # Deferred: most questions use no tools.

    return ToolUse(approver, spinner, output, stop=stream.cancel)


def _find_denial(approver: Approver | None) -> tuple[str, str] | None:
    """Return the message and the hint for a call that was denied because nobody could be asked."""
    if approver is None or not approver.unanswered:
        return None
    from jumpseat_cli.chat.approving import explain_unanswered

    return explain_unanswered(approver.unanswered[0])


async def _print_cancellation(stream: ChatStream, code: int) -> int:
    """Print the error of a cancelled chat, with the text received so far, and return the exit code."""
    error = cancelled_error(code)
    try:
        async with asyncio.timeout(CANCEL_SECONDS):
            await stream.response()
    except ChatFailed as failure:
        if failure.partial:
            error["data"]["partial"] = failure.partial
    except (ClientError, TimeoutError):
        pass
    print_json({"error": error})
    return code


def _find_fault(result: Mapping[str, Any], output_mode: Any) -> str | None:
    if output_mode is None:
        return None
    from jumpseat_cli.chat.json_answers import fault_of_answer

    return fault_of_answer(output_mode, result)


def _print_usage(result: Mapping[str, Any], began: float) -> None:
    from jumpseat_cli.chat.usage import format_usage

    model = f"{result['provider']}:{result['model']}" if "model" in result else ""
    say(format_usage(result.get("usage") or {}, time.monotonic() - began, model))


def _finish_output(output: AnswerOutput, notes: Sequence[str]) -> None:
    with suppress(BrokenPipeError):
        output.finish()
    # Print the notes after the answer. On a terminal they would otherwise appear inside it.
    for note in notes:
        say(note)


def handle_delta(delta: Delta, spinner: Spinner, *, is_kept: bool = True) -> str | None:
    """Show progress in the spinner, and return a note or a warning to print after the answer, if any."""
    match delta.type:
        case "start":
            spinner.show(f"Waiting for {delta.get('model', 'the model')}")
            return _describe_rules(delta)
        case "retry":
            error = delta.get("error") or {}
            spinner.show(f"Trying again: {error.get('message', 'the provider failed')}")
        case "thinking_start":
            spinner.show("Thinking")
        case "warning":
            return format_warning(delta)
        case "block_done":
            return _describe_image(delta.get("content") or {})
        case "done":
            return warning_about(delta.get("stopReason"), is_kept=is_kept)
    return None


def _describe_rules(start: Delta) -> str | None:
    """Return a note about the workspace's rules that were sent; None without `--rules`.

    The note names the files, because others may have written them.
    """
    if "rules" not in start:
        return None
    files = clean_line(", ".join(start["rules"]))
    return f"note: sent the rules in {files}." if files else "note: this directory has no rules."


def thinking_in(result: ChatResult) -> str:
    """Return the thinking of an answer that was not streamed."""
    return "\n\n".join(block["thinking"] for block in result.content if block.get("thinking"))


def notes_of(result: ChatResult) -> list[str]:
    """Return the warnings and notes about an answer that was not streamed."""
    notes = [*map(_describe_image, result.content), warning_about(result.stop_reason)]
    return [*map(format_warning, result.warnings), *filter(None, notes)]


def _describe_image(block: Mapping[str, Any]) -> str | None:
    return (
        "note: the answer contains an image, which --json prints." if block.get("type") == "image" else None
    )


def format_warning(warning: Mapping[str, Any]) -> str:
    """Return the line to print for one of the daemon's warnings."""
    return f"warning: {clean_line(str(warning.get('message', '')))}"
