"""`jumpseat models`: lists the models with limits, abilities and cost, and manages the default model."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import click

from jumpseat_cli.command_line.completion import complete_model, complete_provider
from jumpseat_cli.command_line.groups import ListByDefault
from jumpseat_cli.command_line.options import HELP, daemon_options, json_option, run_async
from jumpseat_cli.daemon.rows import is_included, prices_of, short_count
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.daemon.settings import save_settings
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import clean_line
from jumpseat_client.client import Client

COLUMNS = ("Model", "Name", "Context", "Output", "Can", "Cost", "Notes")
SKILLS = (
    ("supportsVision", "images"),
    ("supportsToolUse", "tools"),
    ("supportsThinking", "thinking"),
    ("supportsJson", "JSON"),
    ("supportsInfill", "infill"),
)
NOTES = (("isDefault", "default"), ("preview", "preview"), ("deprecated", "deprecated"))
_SEARCHED = ("id", "name", "family", "vendor")
LISTING_SECONDS = 15.0
"""How long to wait, after the daemon's first answer, for providers that are still listing their models."""
POLL_SECONDS = 0.5
_CONNECTION = 1008
"""The error code for a provider that cannot be reached or, with `retryAfter`, is still listing its models."""

_STATUS_HINT = "Run `jumpseat status` to see what to do next."


@click.group("models", cls=ListByDefault, context_settings=HELP)
def models() -> None:
    """List the available models, or show and set the default model.

    Without a command, this is 'jumpseat models list', which can be followed by WORDS to search for.

    \b
    Examples:
      jumpseat models
      jumpseat models claude
      jumpseat models --provider copilot
      jumpseat models default
      jumpseat models default groq:llama-3.3-70b-versatile
    """


@models.command("list")
@click.argument("words", nargs=-1)
@click.option(
    "--provider", metavar="ID", shell_complete=complete_provider, help="List only this provider's models."
)
@click.option("--refresh", is_flag=True, help="Request the lists again instead of using cached ones.")
@daemon_options
@json_option
@run_async
async def list_models(
    words: tuple[str, ...], provider: str | None, refresh: bool, daemon_command: list[str], as_json: bool
) -> int:
    """List the models, or only those that match all WORDS.

    A word matches if the id, name, family or vendor of the model contains it, in upper or lower case.

    The cost is a number of premium requests, or the prices of input and output in the provider's own unit. In
    a pipe, each line is a model: id, name, context length, output limit, abilities, cost and notes, separated
    by tabs.

    \b
    Examples:
      jumpseat models list
      jumpseat models list claude opus
      jumpseat models list --provider copilot --refresh
      jumpseat models list --json | jq -r '.models[].id'

    Exit codes: 0 success; 1 no such model, or none can be listed; 2 wrong usage.
    """
    async with daemon(daemon_command) as client:
        answer = await _list_models(client, provider, refresh=refresh)
        errors = answer.get("errors") or []
        if errors and provider is None and not as_json:
            errors = await _drop_unused_providers(client, errors)
    every = answer.get("models") or []
    models = [model for model in every if _has_words(model, words)]
    code = OK if models else FAILED
    if as_json:
        print_json({**answer, "models": models})
        return code
    if models:
        print_rows(COLUMNS, [_cells(model) for model in models], stacks=True)
    elif every:
        print_failure(f"No model has {' '.join(words)!r} in its name.", _suggest(words, every))
    elif not errors:
        say(f"There are no models. {_STATUS_HINT}")
    for failure in errors:
        error = failure.get("error") or {}
        hint = (error.get("data") or {}).get("hint")
        print_failure(f"{failure.get('provider')}: {error.get('message')}", hint)
    return code


@models.command("default")
@click.argument("model", required=False, shell_complete=complete_model)
@click.option("--unset", is_flag=True, help="Delete the saved default model.")
@daemon_options
@json_option
@run_async
async def default(model: str | None, unset: bool, daemon_command: list[str], as_json: bool) -> int:
    """Show or set the default model; running editors use it immediately.

    \b
    Examples:
      jumpseat models default
      jumpseat models default groq:llama-3.3-70b-versatile
      jumpseat models default --unset

    Exit codes: 0 success; 1 there is no default model, or the name is rejected; 2 wrong usage.
    """
    if unset and model is not None:
        raise click.UsageError("--unset does not take a model.")
    async with daemon(daemon_command) as client:
        if unset or model is not None:
            saved = await _save_default(client, model)
            if as_json:
                print_json(saved)
            return OK
        shown = await _find_default(client)
    if shown is None:
        return print_failure("There is no default model.", _STATUS_HINT)
    if as_json:
        print_json(shown)
    else:
        print(clean_line(str(shown["id"])))
    return OK


async def _save_default(client: Client, name: str | None) -> dict[str, Any]:
    if name is not None:
        # The daemon can reject an unlisted model only after it has requested the list.
        await client.list_models()
    return await save_settings(client, {"default_model": name})


async def _find_default(client: Client) -> Mapping[str, Any] | None:
    answer = await client.list_models()
    for model in answer.get("models") or []:
        if model.get("isDefault"):
            return dict(model)
    saved = (await client.settings()).get("default_model")
    return None if saved is None else {"id": saved}  # No provider lists it.


async def _list_models(client: Client, provider: str | None, *, refresh: bool) -> Mapping[str, Any]:
    """List the models, and wait for slow providers: their models cannot be added to the output later."""
    answer = await client.list_models(provider=provider, refresh=refresh)
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LISTING_SECONDS):
            while any(map(_is_still_listing, answer.get("errors") or [])):
                await asyncio.sleep(POLL_SECONDS)
                answer = await client.list_models(provider=provider)
    return answer


def _is_still_listing(failure: Mapping[str, Any]) -> bool:
    error = failure.get("error") or {}
    return error.get("code") == _CONNECTION and "retryAfter" in (error.get("data") or {})


async def _drop_unused_providers(client: Client, errors: Sequence[Any]) -> list[Any]:
    """Drop the errors of built-in providers that the user has not set up."""
    unused = {
        row["id"]
        for row in await client.list_providers()
        if row.get("builtIn") and not row["configured"] and not row.get("isDefault")
    }
    return [error for error in errors if error.get("provider") not in unused]


def _has_words(model: Mapping[str, Any], words: Sequence[str]) -> bool:
    text = " ".join(str(model.get(key) or "") for key in _SEARCHED).casefold()
    return all(word.casefold() in text for word in words)


def _suggest(words: Sequence[str], models: Sequence[Mapping[str, Any]]) -> str | None:
    from difflib import get_close_matches

    # A misspelled `default` is not a command, so it was searched for as a word.
    if get_close_matches(words[0], ["default"], 1, 0.8):
        return "Did you mean: jumpseat models default"
    names = {str(model.get("model") or model.get("id")): str(model["id"]) for model in models}
    near = get_close_matches("-".join(words).casefold(), names, 3)
    return f"Did you mean {' or '.join(names[name] for name in near)}?" if near else None


def _cells(model: Mapping[str, Any]) -> tuple[str, ...]:
    notes = [word for key, word in NOTES if model.get(key)]
    if model.get("policy") in ("disabled", "unconfigured"):
        notes.append("terms not accepted")
    return (
        str(model.get("id", "")),
        str(model.get("name", "")),
        short_count(model.get("maxContextTokens")),
        short_count(model.get("maxOutputTokens")),
        ", ".join(word for key, word in SKILLS if model.get(key)),
        format_cost(model),
        ", ".join(notes),
    )


def format_cost(model: Mapping[str, Any]) -> str:
    """Return what a request costs beyond the plan: premium requests, or prices of input and output tokens.

    The text is empty if the provider does not report the cost.
    """
    billing = model.get("billing") or {}
    if is_included(model):
        return "included"
    if billing.get("multiplier") is not None:
        return f"{billing['multiplier']:g}x"
    if prices := prices_of(model):
        batch = short_count((billing.get("tokenPrices") or {}).get("batch_size"))
        return "/".join(f"{price:g}" for price in prices) + (f" per {batch}" if batch else "")
    return "premium" if billing.get("isPremium") else ""
