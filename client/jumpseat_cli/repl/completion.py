"""Completion of commands and their arguments."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from jumpseat_cli.daemon.rows import has_sign_in
from jumpseat_cli.daemon.settings import THINKING_LEVELS
from jumpseat_cli.repl.commands import COMMANDS, Completes, find_command
from jumpseat_cli.repl.conversation import TerminalConversation
from jumpseat_cli.repl.link import Link
from jumpseat_cli.terminal.text import clean_line

Words: TypeAlias = Sequence[tuple[str, str]]
"""Words to offer, each with its description in the menu."""

Lookup: TypeAlias = Callable[[], Awaitable[Words]]

LIST_SECONDS = 30.0
"""How long the list of models is cached."""

MAX_PATHS = 1000
"""Maximum number of directory entries to offer."""


class CommandCompleter(Completer):
    """Completes a line that begins with a slash; a question is never completed."""

    def __init__(self, lookups: Mapping[Completes, Lookup]) -> None:
        """
        Args:
            lookups: functions that return the words, for each kind of argument except paths.
        """
        self._lookups = lookups

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterator[Completion]:
        """Return nothing: the words come from the daemon, so completion is asynchronous."""
        return iter(())

    async def get_completions_async(
        self, document: Document, complete_event: CompleteEvent
    ) -> AsyncGenerator[Completion, None]:
        """Complete the command or its argument."""
        text = document.text_before_cursor
        name, blank, argument = text.partition(" ")
        if not text.startswith("/") or "\n" in text:
            return
        if not blank:
            prompts = await self._look_up("prompt")
            for completion in match_words(
                name, [*_list_commands(), *((f"/{word}", about) for word, about in prompts)]
            ):
                yield completion
            return
        command = find_command(name[1:])
        if command is None:
            return
        argument = argument.lstrip()
        if command.completes == "path":
            for completion in list_paths(argument):
                yield completion
        else:
            for completion in match_words(argument, await self._look_up(command.completes)):
                yield completion

    async def _look_up(self, kind: Completes) -> Words:
        lookup = self._lookups.get(kind)
        return await lookup() if lookup is not None else ()


def _list_commands() -> Words:
    return [(f"/{command.name}", command.help) for command in COMMANDS]


def match_words(typed: str, words: Iterable[tuple[str, str]]) -> Iterator[Completion]:
    """Yield the words that start with the text, then those that contain it elsewhere, ignoring case."""
    lower = typed.lower()
    begins = [each for each in words if each[0].lower().startswith(lower)]
    inside = [each for each in words if lower in each[0].lower() and each not in begins]
    for word, about in [*begins, *inside]:
        yield Completion(word, -len(typed), display_meta=clean_line(about))


def list_paths(typed: str) -> Iterator[Completion]:
    """Yield the directory entries that complete a path; hidden entries only if their dot was typed."""
    directory, slash, start = typed.rpartition("/")
    try:
        found = Path(directory + slash or ".").expanduser().iterdir()
        entries = sorted(entry for entry in found if entry.name.startswith(start))[:MAX_PATHS]
    except (OSError, RuntimeError):
        return
    for entry in entries:
        if entry.name.startswith(".") and not start.startswith("."):
            continue
        name = entry.name + ("/" if entry.is_dir() else "")
        if name.isprintable():
            yield Completion(name, -len(start))


def make_lookups(link: Link, conversation: TerminalConversation) -> dict[Completes, Lookup]:
    """Return the lookup for each kind of words except paths.

    A lookup that queries the daemon finds nothing if the request fails.
    """

    models_at = -LIST_SECONDS
    models_found: Words = ()

    async def find_models() -> Words:
        nonlocal models_at, models_found
        # This runs at every key press. The cache avoids frequent requests to a provider that does not answer.
        if time.monotonic() < models_at + LIST_SECONDS:
            return models_found
        found = await link.try_request(lambda client: client.list_models())
        models_found = [(row["id"], str(row.get("name", ""))) for row in (found or {}).get("models") or ()]
        models_at = time.monotonic()
        return models_found

    async def find_prompts() -> Words:
        rows = await link.try_request(lambda client: client.list_prompts())
        return [(row["name"], str(row.get("description", ""))) for row in rows or ()]

    async def find_thinking_levels() -> Words:
        return [("show", ""), ("hide", ""), *((level, "") for level in THINKING_LEVELS)]

    async def find_settings() -> Words:
        model = conversation.options.get("model")
        rows = await link.try_request(lambda client: client.settings_schema(model))
        return [(f"{row['key']}=", str(row["description"])) for row in rows or ()]

    async def find_providers() -> Words:
        rows = await link.try_request(lambda client: client.list_providers())
        return [(row["id"], str(row["name"])) for row in filter(has_sign_in, rows or ())]

    async def find_tools() -> Words:
        found = await link.try_request(lambda client: client.list_tools()) or {}
        servers = [(f"{row['name']}/*", f"All tools of {row['name']}.") for row in found.get("servers", ())]
        tools = [(f"{row['server']}/{row['tool']}", row["description"]) for row in found.get("tools", ())]
        return [*servers, *tools]

    return {
        "model": find_models,
        "prompt": find_prompts,
        "thinking": find_thinking_levels,
        "option": find_settings,
        "sign_in": find_providers,
        "tools": find_tools,
    }
