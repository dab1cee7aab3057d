"""Completion of values that the daemon lists: models, providers, prompts, conversations, settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.command_line.options import daemon_command_of
from jumpseat_cli.daemon.conversations import MAX_PAGE_SIZE, list_rows
from jumpseat_cli.daemon.rows import has_sign_in
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError

COMPLETION_SECONDS = 5.0
"""The longest time that completion keeps a shell waiting."""

Row: TypeAlias = Mapping[str, Any]
Complete: TypeAlias = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def make_completion(
    find: Callable[[Client, str], Coroutine[Any, Any, list[CompletionItem]]],
) -> Complete:
    """Return a completion function that queries the daemon chosen on the command line.

    Args:
        find: returns the items for the text typed so far.
    """

    async def ask(command: list[str], incomplete: str) -> list[CompletionItem]:
        async with asyncio.timeout(COMPLETION_SECONDS), daemon(command) as client:
            return await find(client, incomplete)

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        command = daemon_command_of(context.params.get("config"), own=bool(context.params.get("own")))
        try:
            return asyncio.run(ask(command, incomplete))
        except (ClientError, OSError):
            return []  # A message would appear in the middle of the user's command line.

    return complete


def match_prefix(incomplete: str, pairs: Iterable[tuple[str, str | None]]) -> list[CompletionItem]:
    """Return the items for the values that start with the typed text, each with its help."""
    return [
        CompletionItem(value, help=None if about is None else clean_line(about))
        for value, about in pairs
        if value.startswith(incomplete)
    ]


def complete_file(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Leave the completion of files to the shell."""
    return [CompletionItem(incomplete, type="file")]


async def _find_providers(client: Client, incomplete: str) -> list[CompletionItem]:
    return _match_providers(await client.list_providers(), incomplete)


async def _find_providers_with_sign_in(client: Client, incomplete: str) -> list[CompletionItem]:
    return _match_providers(filter(has_sign_in, await client.list_providers()), incomplete)


def _match_providers(rows: Iterable[Row], incomplete: str) -> list[CompletionItem]:
    return match_prefix(incomplete, ((row["id"], f"{row['name']} ({row['kind']})") for row in rows))


async def _find_models(client: Client, incomplete: str) -> list[CompletionItem]:
    return _match_models((await client.list_models())["models"], incomplete)


async def _find_models_with_terms(client: Client, incomplete: str) -> list[CompletionItem]:
    rows = (await client.list_models())["models"]
    return _match_models(
        [row for row in rows if row.get("policy") in ("disabled", "unconfigured")], incomplete
    )


def _match_models(rows: Sequence[Row], incomplete: str) -> list[CompletionItem]:
    # If no id starts with the typed text, the text may be the start of a model's name without the provider.
    # The shell then replaces it with the id, `provider:model`.
    bare = ((row["id"], row["name"]) for row in rows if row["model"].startswith(incomplete))
    return match_prefix(incomplete, ((row["id"], row["name"]) for row in rows)) or match_prefix("", bare)


async def _find_prompts(client: Client, incomplete: str) -> list[CompletionItem]:
    rows = await client.list_prompts()
    return match_prefix(incomplete, ((row["name"], row.get("description", "")) for row in rows))


async def _find_conversations(client: Client, incomplete: str) -> list[CompletionItem]:
    rows = (await list_rows(client, limit=MAX_PAGE_SIZE)).rows
    return match_prefix(incomplete, ((row["id"], row["title"]) for row in rows))


async def _find_saved_keys(client: Client, incomplete: str) -> list[CompletionItem]:
    keys = [
        ("default_provider", "The provider of chats that do not name one"),
        ("default_model", "The model of chats that do not name one"),
        ("max_tokens", "The limit for each answer, in tokens"),
    ]
    keys += [(key, row["description"]) for key, row in await _list_setting_rows(client)]
    return match_prefix(incomplete, keys)


async def _list_setting_rows(client: Client) -> list[tuple[str, Row]]:
    return [
        (f"providers.{provider['id']}.{row['key']}", row)
        for provider in await client.list_providers()
        for row in provider.get("settingsSchema") or ()
    ]


def values_of(row: Row) -> Sequence[str]:
    """Return the possible values of a setting; empty unless it is boolean or has a list of choices."""
    return ("true", "false") if row["type"] == "boolean" else [str(each) for each in row.get("choices") or ()]


def complete_saved_value(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the value of a saved setting: a provider, a model, a boolean or a choice from a list."""
    key = str(context.params.get("key") or "")
    if key == "default_provider":
        return complete_provider(context, parameter, incomplete)
    if key == "default_model":
        return complete_model(context, parameter, incomplete)

    async def find(client: Client, incomplete: str) -> list[CompletionItem]:
        rows = [row for saved, row in await _list_setting_rows(client) if saved == key]
        return match_prefix(incomplete, ((value, None) for row in rows for value in values_of(row)))

    return make_completion(find)(context, parameter, incomplete)


complete_provider = make_completion(_find_providers)
complete_provider_with_sign_in = make_completion(_find_providers_with_sign_in)
complete_model = make_completion(_find_models)
complete_prompt = make_completion(_find_prompts)
complete_conversation = make_completion(_find_conversations)
complete_model_with_terms = make_completion(_find_models_with_terms)
complete_saved_key = make_completion(_find_saved_keys)
