"""`jumpseat chat`: one question, one streamed answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from jumpseat_cli.chat.stop_reasons import warning_about
from jumpseat_cli.daemon.conversations import FindContinued
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import (
    FAILED,
    OK,
    USAGE,
    cancelled_error,
    client_error,
    exit_code_of,
    print_client_error,
    print_failure,
    print_json,
    say,
)
from jumpseat_cli.terminal.output import AnswerOutput, AnswerText, Spinner, make_spinner
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client
from jumpseat_client.errors import ChatFailed, ClientError
from jumpseat_client.results import ChatResult, Delta
from jumpseat_client.stream import ChatStream

if TYPE_CHECKING:
    from jumpseat_cli.chat.question import AskedQuestion

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


async def ask(
    question: AskedQuestion,
    options: Mapping[str, Any],
    *,
    settings: Mapping[str, str],
    prompt: str | None,
    keep: bool,
    find_continued: FindContinued | None,
    daemon_command: Sequence[str],
    form: AnswerForm,
) -> int:
    """Ask, print the answer as it arrives, and return the exit code.

    Args:
        question: the question, or the input for the prompt.
        options: options for `Client.chat`. Those that are None are filled in from the prompt, then from the
            continued conversation.
        settings: the values of settings as they were typed, by key.
        prompt: the name of a configured prompt.
        keep: whether to keep the turn.
        find_continued: returns the kept conversation to continue; None to start a new one.
        daemon_command: the daemon's command line.
        form: how to print the answer.

    Raises:
        ClientError: the daemon cannot be used; with JSON, every other failure raises this too.
    """
    spinner = make_spinner("Starting")
    try:
        async with daemon(daemon_command) as client:
            kept = {} if find_continued is None else await find_continued(client)
            if prompt is not None and question.lacks_input and await needs_input(client, prompt):
                hint = f"Add it as words, or pipe it: git diff | jumpseat chat -p {prompt}"
                print_failure(f"The prompt {prompt} needs an input.", hint)
                return USAGE
            filled = {} if prompt is None else await client.get_prompt(prompt, question.as_input)
            if question.addresses:
                spinner.show("Reading the pages")
                question = await question.with_pages(client)
            of_kept = options_from_conversation(kept) if kept else {}
            of_prompt: dict[str, Any] = {
                key: filled[key] for key in ("model", "system", "settings") if key in filled
            }
            merged = await merge_options(client, [of_kept, of_prompt, options], settings)
            messages = [*kept.get("messages", ()), question.message(filled.get("text"))]
            spinner.show("Waiting for the model")
            stream = client.chat(
                messages, keep=keep, stream=form.streams, on_progress=spinner.progress, **merged
            )
            return await _print_answer(stream, spinner, form, options.get("output_mode"))
    finally:
        spinner.stop()


async def needs_input(client: Client, prompt: str) -> bool:
    """Return whether a configured prompt has a place for an input."""
    rows = await client.list_prompts()
    return any(row["name"] == prompt and row.get("usesInput") for row in rows)


async def merge_options(
    client: Client, layers: Sequence[Mapping[str, Any]], settings: Mapping[str, str]
) -> dict[str, Any]:
    """Merge options for `Client.chat`, and drop those that are None.

    Args:
        client: used to look up the types of settings.
        layers: options; later layers take precedence, and `settings` are merged key by key.
        settings: further settings as they were typed, by key; they take precedence over the layers.

    Raises:
        ClientError: there are settings, but no provider for the model.
    """
    merged: dict[str, Any] = {}
    values: dict[str, Any] = {}
    for layer in layers:
        merged |= {key: value for key, value in layer.items() if value is not None}
        values |= layer.get("settings") or {}
    if settings:
        from jumpseat_cli.daemon.settings import convert_settings

        values |= convert_settings(settings, await client.settings_schema(merged.get("model")))
    return {**merged, "settings": values} if values else merged


def options_from_conversation(kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that continue a kept conversation."""
    options = {key: kept.get(key) for key in ("model", "system", "settings")}
    return {**options, "conversation_id": kept["id"]}


async def wait_for_result(stream: ChatStream, spinner: Spinner) -> tuple[ChatResult, list[str]]:
    """Wait for a turn to end, and return its result and the warnings to print.

    Raises:
        ClientError: the turn failed.
    """
    # Stream although only the result is used: the daemon can then detect a provider that stops sending.
    notes = [note async for delta in stream if (note := handle_delta(delta, spinner))]
    spinner.stop()
    return await stream.response(), notes


async def _print_answer(
    stream: ChatStream, spinner: Spinner, form: AnswerForm, output_mode: Any = None
) -> int:
    began = time.monotonic()
    if form.as_json:
        try:
            result, _ = await wait_for_result(stream, spinner)
        except asyncio.CancelledError as error:
            spinner.stop()
            return await _print_cancellation(stream, exit_code_of(error))
        fault = _find_fault(result, output_mode)
        print_json(result if fault is None else {**result, "error": client_error(fault)})
        if form.shows_usage:
            _print_usage(result, began)
        return OK if fault is None else FAILED
    deltas = aiter(stream)  # This sends the chat, so that rich is imported while the model answers.
    output = AnswerText(is_raw=form.is_raw)
    notes: list[str] = []
    failure: ChatFailed | None = None
    try:
        async for delta in deltas:
            if delta.text:
                spinner.stop()
                output.write(delta.text)
            elif delta.type == "thinking_delta" and form.shows_thinking:
                spinner.pause()
                output.think(str(delta.get("text", "")))
            elif note := handle_delta(delta, spinner):
                notes.append(note)
        if not form.streams:
            result = await stream.response()
            spinner.stop()
            if form.shows_thinking and (text := thinking_in(result)):
                output.think(text)
            output.write(result.text)
            notes = notes_of(result)
    except ChatFailed as error:
        failure = error
    finally:
        # Ctrl-C ends up here too, and must leave the text so far on the screen.
        spinner.stop()
        _finish_output(output, notes)
    if form.shows_usage:
        _print_usage((stream.result if failure is None else failure.partial) or {}, began)
    if failure is not None:
        print_client_error(failure, as_json=False)
        return FAILED
    if (fault := _find_fault(await stream.response(), output_mode)) is not None:
        return print_failure(fault)
    return OK


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


def handle_delta(delta: Delta, spinner: Spinner) -> str | None:
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
            return _format_warning(delta)
        case "block_done":
            return _describe_image(delta.get("content") or {})
        case "done":
            return warning_about(delta.get("stopReason"))
    return None


def _describe_rules(start: Delta) -> str | None:
    """Return a note about the workspace's rules, which others may have written; None without `--rules`."""
    if "rules" not in start:
        return None
    files = clean_line(", ".join(start["rules"]))
    return f"note: sent the rules in {files}." if files else "note: this directory has no rules."


def thinking_in(result: ChatResult) -> str:
    """Return the thinking of an answer that was not streamed."""
    return "\n\n".join(block["thinking"] for block in result.content if block.get("thinking"))


def notes_of(result: ChatResult) -> list[str]:
    """Return the warnings for an answer that was not streamed."""
    notes = [*map(_describe_image, result.content), warning_about(result.stop_reason)]
    return [*map(_format_warning, result.warnings), *filter(None, notes)]


def _describe_image(block: Mapping[str, Any]) -> str | None:
    return (
        "note: the answer contains an image, which --json prints." if block.get("type") == "image" else None
    )


def _format_warning(warning: Mapping[str, Any]) -> str:
    return f"warning: {clean_line(str(warning.get('message', '')))}"
