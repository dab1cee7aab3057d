"""The loop of a conversation: read the input, then ask the model or run a command."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from jumpseat import __version__
from jumpseat.system.paths import places_of_process
from jumpseat.system.threads import run_blocking
from jumpseat_cli.chat.answering import merge_options, options_from_conversation
from jumpseat_cli.chat.approving import Approver
from jumpseat_cli.chat.question import AskedQuestion
from jumpseat_cli.chat.tool_selection import ToolSelection
from jumpseat_cli.daemon.conversations import FindContinued
from jumpseat_cli.daemon.rows import USABLE
from jumpseat_cli.repl.actions import Actions
from jumpseat_cli.repl.asking import Asker
from jumpseat_cli.repl.commands import CommandCall, Question, UnknownCommand, parse
from jumpseat_cli.repl.conversation import TerminalConversation
from jumpseat_cli.repl.history import FILE_NAME, InputHistory
from jumpseat_cli.repl.interrupts import Interrupts
from jumpseat_cli.repl.link import Link
from jumpseat_cli.repl.notes import note_kept
from jumpseat_cli.repl.reader import PlainReader, Reader
from jumpseat_cli.repl.terminal_modes import QuietTerminal
from jumpseat_cli.terminal.failures import OK, print_client_error, print_failure, say
from jumpseat_cli.terminal.output import make_spinner
from jumpseat_cli.terminal.styles import note
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError


async def converse(
    options: Mapping[str, Any],
    *,
    settings: Mapping[str, str],
    question: AskedQuestion,
    tools: ToolSelection,
    keep: bool,
    find_continued: FindContinued | None,
    daemon_command: Sequence[str],
    shows_thinking: bool,
    is_raw: bool,
) -> int:
    """Have a conversation on the terminal, and return the exit code.

    Args:
        options: options for `Client.chat`. Those that are None are filled in from the continued conversation.
        settings: the values of settings as they were typed, by key.
        question: the files, images and pages for the first question.
        tools: the tools that the daemon runs.
        keep: whether to keep the turns, and to store the input in the history.
        find_continued: returns the kept conversation to continue; None to start a new one.
        daemon_command: the daemon's command line.
        shows_thinking: whether to print the thinking instead of one line about it.
        is_raw: whether to print answers without rendering their Markdown.

    Raises:
        ClientError: the daemon cannot be used, or there is nothing to continue.
    """
    history = InputHistory(places_of_process().state_dir / FILE_NAME, keep=keep)
    is_plain = _is_plain(os.environ)
    spinner = make_spinner("Starting")
    approver = Approver(tools)
    link = Link(daemon_command, config=tools.overlay, on_approval=approver.decide)
    conversation = TerminalConversation(tools=tools, shows_thinking=shows_thinking, is_raw=is_raw)
    try:
        with QuietTerminal(is_plain=is_plain) as terminal:
            # Import prompt_toolkit while the daemon starts: both take about the same time.
            reader_work = run_blocking(lambda: _make_reader(link, conversation, history, is_plain=is_plain))
            client, reader = await asyncio.gather(link.connect(), reader_work)
            approver.ask_line = reader.ask_line
            if (mistake := await tools.find_mistake(client)) is not None:
                spinner.stop()
                return print_failure(*mistake)
            conversation.attachments = [*(await question.with_pages(client)).blocks]
            await _set_up(conversation, client, options, settings, find_continued)
            providers = await client.list_providers()
            spinner.stop()
            _greet(conversation, providers)
            with Interrupts(reader.interrupt) as interrupts:
                asker = Asker(conversation, link, interrupts, terminal, history, approver, keep=keep)
                actions = Actions(conversation, link, reader)
                if not _is_ready(providers):
                    await interrupts.run(_catch_error(_offer_to_sign_in(providers, reader, actions)))
                await _run_loop(reader, interrupts, asker, actions)
    finally:
        spinner.stop()
        await link.close()
    if conversation.id is not None:
        note_kept(conversation.id)
    return OK


async def _set_up(
    conversation: TerminalConversation,
    client: Client,
    options: Mapping[str, Any],
    settings: Mapping[str, str],
    find_continued: FindContinued | None,
) -> None:
    layers = [options]
    if find_continued is not None:
        kept = await find_continued(client)
        conversation.resume(kept)
        layers = [options_from_conversation(kept), options]
    conversation.options = await merge_options(client, layers, settings)
    # A fork changes the id, so each turn sends `conversation.id` instead of an option.
    conversation.options.pop("conversation_id", None)


def _is_plain(environ: Mapping[str, str]) -> bool:
    """Whether the terminal cannot move its cursor."""
    return sys.platform != "win32" and environ.get("TERM", "dumb") in ("dumb", "unknown")


def _make_reader(
    link: Link, conversation: TerminalConversation, history: InputHistory, *, is_plain: bool
) -> Reader:
    if is_plain:
        return PlainReader()
    from jumpseat_cli.repl.completion import CommandCompleter, make_lookups
    from jumpseat_cli.repl.prompt import PromptReader

    return PromptReader(history, CommandCompleter(make_lookups(link, conversation)))


def _greet(conversation: TerminalConversation, providers: Sequence[Mapping[str, Any]]) -> None:
    default = next((row["name"] for row in providers if row.get("isDefault")), None)
    model = conversation.options.get("model") or default
    tools = ", ".join(conversation.tools.selectors)
    parts = [f"jumpseat {__version__}", model, tools, "/help for help, Ctrl-D to leave"]
    note(clean_line(" · ".join(filter(None, parts))))
    if conversation.messages:
        turns = sum(message["role"] == "user" for message in conversation.messages)
        note(
            clean_line(
                f"Continuing “{conversation.title}” ({turns} question{'' if turns == 1 else 's'}). "
                "/history shows it."
            )
        )


def _is_ready(providers: Sequence[Mapping[str, Any]]) -> bool:
    return any(row.get("configured") and (row.get("auth") or {}).get("state") in USABLE for row in providers)


async def _offer_to_sign_in(providers: Sequence[Mapping[str, Any]], reader: Reader, actions: Actions) -> None:
    say("No provider is ready:")
    for row in providers:
        message = (row.get("auth") or {}).get("message") or "it is not configured."
        say(clean_line(f"  {row.get('name') or row['id']}: {message}"))
    if await reader.confirm("Sign in to GitHub Copilot now?"):
        await actions.run("login", "")


async def _run_loop(reader: Reader, interrupts: Interrupts, asker: Asker, actions: Actions) -> None:
    while True:
        unanswered, asker.unanswered = asker.unanswered, ""
        line = await reader.read(unanswered)
        if line is None:
            return
        match parse(line):
            case Question(text):
                await interrupts.run(_catch_error(asker.ask(text)))
            case UnknownCommand(name, argument):
                await interrupts.run(_catch_error(asker.ask_named_prompt(name, argument)))
            case CommandCall(command, _) if command.name == "quit":
                return
            case CommandCall(command, argument):
                await interrupts.run(_catch_error(_run_command(command.name, argument, asker, actions)))


async def _run_command(name: str, argument: str, asker: Asker, actions: Actions) -> None:
    match name:
        case "retry":
            await asker.retry(argument.strip())
        case "edit":
            await asker.edit()
        case "continue":
            await asker.go_on()
        case "prompt":
            await asker.run_prompt_command(argument)
        case _:
            await actions.run(name, argument)


async def _catch_error(work: Awaitable[None]) -> None:
    """Run the work and print its error, if any, so that the conversation continues."""
    try:
        await work
    except ClientError as error:
        print_client_error(error, as_json=False)
