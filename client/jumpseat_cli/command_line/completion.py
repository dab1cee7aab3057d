"""Completion of values that the daemon knows: models, providers, prompts, conversations, settings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.command_line.options import daemon_command_of
from jumpseat_client.errors import ClientError

if TYPE_CHECKING:
    from jumpseat_client.client import Client

COMPLETION_SECONDS = 5.0
"""A shell waits for no longer."""

Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completing(
    find: Callable[[Client, str], Coroutine[Any, Any, list[CompletionItem]]],
) -> Complete:
    """A completion that asks the daemon of the command line.

    Args:
        find: the items for the text so far.
    """

    async def ask(command: list[str], incomplete: str) -> list[CompletionItem]:
        from jumpseat_cli.daemon.session import daemon

        async with asyncio.timeout(COMPLETION_SECONDS), daemon(command) as client:
            return await find(client, incomplete)

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        command = daemon_command_of(context.params.get("config"), own=bool(context.params.get("own")))
        try:
            return asyncio.run(ask(command, incomplete))
        except (ClientError, OSError):
            return []  # The shell would show a message in the middle of the command line.

    return complete


def complete_file(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Leave the completion of files to the shell."""
    return [CompletionItem(incomplete, type="file")]


async def _providers(client: Client, incomplete: str) -> list[CompletionItem]:
    return _provider_items(await client.list_providers(), incomplete)


async def _providers_with_sign_in(client: Client, incomplete: str) -> list[CompletionItem]:
    from jumpseat_cli.daemon.rows import has_sign_in

    return _provider_items(filter(has_sign_in, await client.list_providers()), incomplete)


def _provider_items(rows: Iterable[Mapping[str, Any]], incomplete: str) -> list[CompletionItem]:
    from jumpseat_cli.terminal.text import clean_line

    return [
        CompletionItem(row["id"], help=clean_line(f"{row['name']} ({row['kind']})"))
        for row in rows
        if row["id"].startswith(incomplete)
    ]


async def _models(client: Client, incomplete: str) -> list[CompletionItem]:
    return _items((await client.list_models())["models"], incomplete)


async def _models_with_terms(client: Client, incomplete: str) -> list[CompletionItem]:
    rows = (await client.list_models())["models"]
    return _items([row for row in rows if row.get("policy") in ("disabled", "unconfigured")], incomplete)


def _items(rows: Sequence[Mapping[str, Any]], incomplete: str) -> list[CompletionItem]:
    from jumpseat_cli.terminal.text import clean_line

    named = [row for row in rows if row["id"].startswith(incomplete)]
    # A bare name, too: shells insert the whole of it.
    named = named or [row for row in rows if row["model"].startswith(incomplete)]
    return [CompletionItem(row["id"], help=clean_line(row["name"])) for row in named]


async def _prompts(client: Client, incomplete: str) -> list[CompletionItem]:
    from jumpseat_cli.terminal.text import clean_line

    rows = await client.list_prompts()
    return [
        CompletionItem(row["name"], help=clean_line(row.get("description", "")))
        for row in rows
        if row["name"].startswith(incomplete)
    ]


async def _conversations(client: Client, incomplete: str) -> list[CompletionItem]:
    from jumpseat_cli.daemon.conversations import LARGEST_PAGE, list_rows
    from jumpseat_cli.terminal.text import clean_line

    rows = (await list_rows(client, limit=LARGEST_PAGE)).rows
    return [
        CompletionItem(row["id"], help=clean_line(row["title"]))
        for row in rows
        if row["id"].startswith(incomplete)
    ]


async def _saved_keys(client: Client, incomplete: str) -> list[CompletionItem]:
    items = [
        CompletionItem("default_provider", help="The provider of chats that name none"),
        CompletionItem("default_model", help="The model of chats that name none"),
        CompletionItem("max_tokens", help="The limit for all answers"),
    ]
    items += [
        CompletionItem(f"providers.{provider['id']}.{row['key']}", help=row["description"])
        for provider in await client.list_providers()
        for row in provider.get("settingsSchema") or ()
    ]
    return [item for item in items if item.value.startswith(incomplete)]


def complete_saved_value(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the value of a saved setting, where there are few."""
    key = str(context.params.get("key") or "")
    if key == "default_provider":
        return complete_provider(context, parameter, incomplete)
    if key == "default_model":
        return complete_model(context, parameter, incomplete)

    async def find(client: Client, incomplete: str) -> list[CompletionItem]:
        values: list[str] = []
        for provider in await client.list_providers():
            for row in provider.get("settingsSchema") or ():
                if key == f"providers.{provider['id']}.{row['key']}":
                    boolean = ("true", "false") if row["type"] == "boolean" else ()
                    values += [str(each) for each in row.get("choices") or boolean]
        return [CompletionItem(value) for value in values if value.startswith(incomplete)]

    return completing(find)(context, parameter, incomplete)


complete_provider = completing(_providers)
complete_provider_with_sign_in = completing(_providers_with_sign_in)
complete_model = completing(_models)
complete_prompt = completing(_prompts)
complete_conversation = completing(_conversations)
complete_model_with_terms = completing(_models_with_terms)
complete_saved_key = completing(_saved_keys)
