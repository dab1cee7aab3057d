"""What the options of `jumpseat chat` take, and how a shell completes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.command_line.completion import completing

if TYPE_CHECKING:
    from jumpseat_client.client import Client


def complete_file(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Leave the completion of files to the shell."""
    return [CompletionItem(incomplete, type="file")]


def complete_setting(
    context: click.Context, parameter: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """Complete the keys of the model's settings, and values where there are few."""

    async def find(client: Client, incomplete: str) -> list[CompletionItem]:
        key, equals, text = incomplete.partition("=")
        rows = await client.settings_schema(context.params.get("model"))
        if not equals:
            return [
                CompletionItem(f"{row['key']}=", help=row["description"])
                for row in rows
                if row["key"].startswith(key)
            ]
        values = [value for row in rows if row["key"] == key for value in _values(row)]
        return [CompletionItem(f"{key}={value}") for value in values if value.startswith(text)]

    return completing(find)(context, parameter, incomplete)


def _values(row: Mapping[str, Any]) -> Sequence[str]:
    return ("true", "false") if row["type"] == "boolean" else [str(each) for each in row.get("choices") or ()]


def settings_of(context: click.Context, parameter: click.Parameter, pairs: tuple[str, ...]) -> dict[str, str]:
    """The texts by key of `KEY=VALUE` options."""
    settings = {}
    for pair in pairs:
        key, equals, text = pair.partition("=")
        if not key or not equals:
            raise click.BadParameter(f"{pair!r} is not KEY=VALUE, such as temperature=0.2.")
        settings[key] = text
    return settings


def schema_of(context: click.Context, parameter: click.Parameter, file: Path | None) -> dict[str, Any] | None:
    """The JSON schema in a file."""
    if file is None:
        return None
    schema = _json_of(file)
    if not isinstance(schema, dict):
        raise click.BadParameter(f"{file} must have a JSON object.")
    from jumpseat_cli.chat.json_answers import fault_of_schema

    if (fault := fault_of_schema(schema)) is not None:
        raise click.BadParameter(f"{file} is not a JSON schema: {fault}")
    return schema


def tools_of(
    context: click.Context, parameter: click.Parameter, files: tuple[Path, ...]
) -> list[dict[str, Any]]:
    """The definitions of tools in files, each with one definition or a list of them."""
    tools: list[dict[str, Any]] = []
    for file in files:
        content = _json_of(file)
        found = content if isinstance(content, list) else [content]
        if not all(isinstance(tool, dict) and isinstance(tool.get("name"), str) for tool in found):
            raise click.BadParameter(
                f"{file} must have a tool, with name, description and parameters, or a list of tools."
            )
        tools += found
    return tools


def _json_of(file: Path) -> Any:
    try:
        return json.loads(file.read_bytes())
    except OSError as error:
        raise click.BadParameter(f"{file} cannot be read: {error.strerror or error}.") from None
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(f"{file} is not JSON: {error}.") from None
