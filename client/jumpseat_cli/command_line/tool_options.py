"""The options of a chat for tools that the daemon runs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from jumpseat_cli.chat.tool_selection import ToolSelection, parse_selectors
from jumpseat_cli.command_line.completion import make_completion, match_prefix
from jumpseat_cli.command_line.options import overlay_option
from jumpseat_client.client import Client


async def _find_selectors(client: Client, incomplete: str) -> list[CompletionItem]:
    # Earlier selectors, up to the last comma, are part of the word that the shell replaces.
    before, comma, _ = incomplete.rpartition(",")
    listed = await client.list_tools()
    pairs = [(f"{row['name']}/*", f"All tools of {row['name']}") for row in listed["servers"]]
    pairs += [(f"{row['server']}/{row['tool']}", row.get("description", "")) for row in listed["tools"]]
    return match_prefix(incomplete, ((f"{before}{comma}{selector}", about) for selector, about in pairs))


complete_selector = make_completion(_find_selectors)


def read_selectors(context: click.Context, parameter: click.Parameter, texts: tuple[str, ...]) -> list[str]:
    """Parse the selectors of an option."""
    try:
        return parse_selectors(texts)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def _make_selector_option(name: str, attribute: str, help_text: str) -> Callable[[Any], Any]:
    return click.option(
        name,
        attribute,
        multiple=True,
        metavar="SELECTORS",
        callback=read_selectors,
        shell_complete=complete_selector,
        help=help_text,
    )


def tool_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the options that select tools, and pass them as `selection`."""

    @_make_selector_option(
        "--tools",
        "selectors",
        "Let the model use these tools, such as 'github/search_*', or all tools of a server, such as files.",
    )
    @_make_selector_option("--allow", "allowed", "Run these tools without asking. Repeatable, like --tools.")
    @_make_selector_option("--deny", "denied", "Do not offer these tools to the model.")
    @click.option(
        "--workspace",
        "folders",
        multiple=True,
        type=click.Path(exists=True, file_okay=False, resolve_path=True, path_type=Path),
        metavar="DIR",
        help="A directory that the tools may use; by default, the current one. Repeatable.",
    )
    @click.option(
        "--max-rounds",
        type=click.IntRange(min=1),
        metavar="N",
        help="The limit for requests to the model in one answer.",
    )
    @overlay_option
    @functools.wraps(function)
    def with_selection(
        selectors: list[str],
        allowed: list[str],
        denied: list[str],
        folders: tuple[Path, ...],
        max_rounds: int | None,
        overlay: Mapping[str, Any] | None,
        **options: Any,
    ) -> int:
        selection = ToolSelection(selectors, allowed, denied, [*map(str, folders)], max_rounds, overlay)
        return function(selection=selection, **options)

    return with_selection  # type: ignore[no-any-return]  # the selector options have no types
