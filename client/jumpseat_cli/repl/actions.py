"""The commands of a conversation, except those that ask the model."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from jumpseat.system.replacing import replace_file
from jumpseat.system.threads import run_blocking
from jumpseat_cli.daemon.pages import fetch_pages, is_address
from jumpseat_cli.daemon.settings import THINKING_LEVELS, convert_settings
from jumpseat_cli.files.attachments import Block, read_files, read_image
from jumpseat_cli.files.lines import CannotUse
from jumpseat_cli.repl.commands import COMMANDS
from jumpseat_cli.repl.conversation import TerminalConversation
from jumpseat_cli.repl.link import Link
from jumpseat_cli.repl.notes import format_totals, note_kept
from jumpseat_cli.repl.reader import Reader
from jumpseat_cli.repl.thinking import print_thinking
from jumpseat_cli.repl.transcript import choose_path, render_conversation, summarize_calls
from jumpseat_cli.terminal.failures import print_failure, say
from jumpseat_cli.terminal.output import make_output
from jumpseat_cli.terminal.styles import note
from jumpseat_cli.terminal.text import clean_line
from jumpseat_cli.terminal.wrapping import wrap
from jumpseat_client.client import Client
from jumpseat_client.errors import RequestFailed

KEYS = (
    "Enter: send. Alt-Enter, or a backslash at the end of the line: new line. Pasted lines stay together.",
    "Up and Down: earlier input. Ctrl-R: search it. Tab: complete. Ctrl-X Ctrl-E: write in your editor.",
    "Ctrl-C: stop the answer, or clear the line. Ctrl-D: leave.",
    "To begin a question with a slash, put a space before it.",
)
INDENT = "    "


class Actions:
    """Runs commands by name, with the text that follows the name."""

    def __init__(self, conversation: TerminalConversation, link: Link, reader: Reader) -> None:
        self._conversation = conversation
        self._link = link
        self._reader = reader
        self._saved: Path | None = None
        self._by_name: dict[str, Callable[[str], Awaitable[None]]] = {
            "help": self._show_help,
            "model": self._choose_model,
            "system": self._set_system,
            "file": self._add_files,
            "attach": self._add_image,
            "thinking": self._set_thinking,
            "option": self._set_option,
            "tools": self._select_tools,
            "history": self._show_history,
            "save": self._save,
            "usage": self._show_usage,
            "clear": self._clear,
            "login": self._log_in,
        }

    async def run(self, name: str, argument: str) -> None:
        """Run a command.

        Raises:
            ClientError: the daemon cannot be used, or a request failed.
        """
        await self._by_name[name](argument.strip())

    async def _show_help(self, _: str) -> None:
        for command in COMMANDS:
            print(wrap(f"{f'/{command.name} {command.argument}':28} {command.help}", INDENT))
        prompts = await self._link.try_request(lambda client: client.list_prompts())
        for row in prompts or ():
            about = row.get("description") or "no description"
            print(wrap(clean_line(f"/{row['name']}: {about}"), INDENT))
        print()
        for line in KEYS:
            print(wrap(line, INDENT))

    async def _choose_model(self, name: str) -> None:
        options = self._conversation.options
        if not name:
            say(f"The model is {options.get('model') or await self._find_default_model()}.")
            return
        for found in await self._link.request(lambda client: _check_model(client, name)):
            if found["severity"] == 1 and found["code"] in ("request", "config", "invalid_params"):
                print_failure(found["message"])
                return
            note(f"warning: {found['message']}")
        options["model"] = name
        note(f"The next answers come from {name}.")

    async def _find_default_model(self) -> str:
        answer = await self._link.try_request(lambda client: client.list_models()) or {}
        name = next((row["id"] for row in answer.get("models") or () if row.get("isDefault")), None)
        return f"{clean_line(name)}, the default" if name else "the default"

    async def _set_system(self, text: str) -> None:
        options = self._conversation.options
        if not text:
            say(options.get("system") or "There is no system prompt.")
            return
        options["system"] = None if text == "-" else text
        note("The system prompt is removed." if text == "-" else "The system prompt is set.")

    async def _add_files(self, argument: str) -> None:
        if is_address(argument):
            pages = await self._link.request(lambda client: fetch_pages(client, [argument]))
            await self._add(argument, lambda _: pages)
        else:
            await self._add(argument, read_files)

    async def _add_image(self, argument: str) -> None:
        await self._add(argument, lambda path: [read_image(path)])

    async def _add(self, argument: str, read: Callable[[str], list[Block]]) -> None:
        attachments = self._conversation.attachments
        if argument == "-":
            attachments.clear()
        elif argument:
            try:
                attachments += await run_blocking(read, _strip_quotes(argument))
            except CannotUse as error:
                print_failure(str(error))
                return
        if not attachments:
            note("Nothing is attached to the next question.")
            return
        note(f"Attached to the next question: {', '.join(map(_name_of, attachments))}.")

    async def _set_thinking(self, argument: str) -> None:
        if argument in ("show", "hide"):
            self._conversation.shows_thinking = argument == "show"
            note(
                "Thinking is shown from now on." if argument == "show" else "Thinking is hidden from now on."
            )
        elif argument in THINKING_LEVELS:
            self._conversation.options["thinking"] = argument
            note(f"The next answers use the thinking level {argument}.")
        elif argument:
            levels = ", ".join(THINKING_LEVELS)
            print_failure(f"{argument} is not show, hide or a level ({levels}).")
        elif self._conversation.thinking:
            print_thinking(self._conversation.thinking)
        else:
            note("The last answer has no thinking.")

    async def _set_option(self, argument: str) -> None:
        options = self._conversation.options
        rows = await self._link.request(lambda client: client.settings_schema(options.get("model")))
        values = dict(options.get("settings") or {})
        key, equals, text = (part.strip() for part in argument.partition("="))
        if not key:
            for row in rows:
                value = f"={json.dumps(values[row['key']])}" if row["key"] in values else ""
                about = clean_line(str(row["description"]))
                print(wrap(f"{clean_line(row['key'] + value):28} {about}", INDENT))
            return
        if not equals or key not in {row["key"] for row in rows} | values.keys():
            known = ", ".join(str(row["key"]) for row in rows)
            print_failure(
                f"{argument} does not set a setting of this model.",
                f"Type KEY=VALUE with one of these keys: {known}",
            )
            return
        values.pop(key, None)
        changed = convert_settings({key: text}, rows) if text else {}
        model = options.get("model")
        for found in await self._link.request(lambda client: _check(client, model, changed)):
            if str(found["message"]).startswith(f"settings.{key}"):
                print_failure(found["message"])
                return
        options["settings"] = {**values, **changed}
        note(f"The next answers use {key}={text}." if text else f"{key} is no longer set.")

    async def _select_tools(self, argument: str) -> None:
        from jumpseat_cli.repl.tools import run_tools_command

        await run_tools_command(self._conversation, self._link, argument)

    async def _show_history(self, _: str) -> None:
        if not self._conversation.messages:
            note("The conversation is empty.")
            return
        messages = summarize_calls(self._conversation.messages)
        text = await self._link.request(lambda client: client.render_transcript(messages))
        output = make_output()
        output.write(text)
        output.finish()

    async def _save(self, argument: str) -> None:
        if not self._conversation.messages:
            note("The conversation is empty; there is nothing to save.")
            return
        path = self._choose_path(argument)
        overwrites = path.exists() and path != self._saved
        if overwrites and not await self._reader.confirm(f"{path} exists. Replace it?"):
            note("Nothing was written.")
            return
        text = await self._link.request(lambda client: render_conversation(client, self._conversation))
        try:
            await run_blocking(replace_file, path, text.encode("utf-8", "replace"))
        except OSError as error:
            print_failure(f"{path} cannot be written: {error.strerror or error}.")
            return
        self._saved = path
        note(f"Saved to {path}.")

    def _choose_path(self, argument: str) -> Path:
        if not argument:
            return self._saved or choose_path(self._conversation, Path.cwd())
        path = Path(_strip_quotes(argument)).expanduser()
        return choose_path(self._conversation, path) if path.is_dir() else path

    async def _show_usage(self, _: str) -> None:
        print(format_totals(self._conversation.totals))

    async def _clear(self, _: str) -> None:
        conversation = self._conversation
        if conversation.id is not None:
            note_kept(conversation.id)
        note("This is a new conversation.")
        self._saved = None
        conversation.clear()

    async def _log_in(self, provider: str) -> None:
        from jumpseat_cli.daemon.sign_in import log_in

        # `log_in` opens its own connection, to which the daemon sends the code to show. If that connection
        # starts a second daemon, the daemon of this conversation still notices the new account.
        await log_in(
            provider=provider or None, browser=True, daemon_command=self._link.command, as_json=False
        )


async def _check_model(client: Client, name: str) -> list[dict[str, Any]]:
    # The daemon has to fetch the lists of models before it can report that a model is not on them.
    with suppress(RequestFailed):
        await client.list_models()
    return await _check(client, name, {})


async def _check(client: Client, model: str | None, settings: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the problems of a chat with this model and these settings, as transcript diagnostics."""
    messages = [{"role": "user", "content": "Hi"}]
    text = await client.render_transcript(messages, model=model, settings=dict(settings) or None)
    return await client.check_transcript(text)


def _strip_quotes(path: str) -> str:
    """Remove quotation marks, which the user or a file manager may have put around a path."""
    return path[1:-1] if len(path) > 1 and path[0] == path[-1] and path[0] in "\"'" else path


def _name_of(block: Block) -> str:
    if block["type"] == "document":
        return f"a document ({block['name']})"
    if block["type"] == "image":
        return f"an image ({block.get('mediaType', block['source'][:40])})"
    if is_address(block.get("uri", "")):
        return clean_line(block.get("label") or block["uri"])
    name = unquote(Path(block["uri"]).name) if "uri" in block else block.get("label", "a text")
    if place := block.get("range"):
        return f"{name}:{place['start']['line'] + 1}-{place['end']['line']}"
    return str(name)
