"""`jumpseat models` and `jumpseat status`: tables on a terminal, tabs in a pipe, or JSON."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat_client.cli.chat import daemon
from jumpseat_client.cli.failures import FAILED, OK, print_failure, print_json, say
from jumpseat_client.cli.terminal import clean_line

USABLE = ("signed_in", "configured", "not_required")
"""The authentication states in which a chat can be tried."""

SKILLS = (("supportsVision", "images"), ("supportsToolUse", "tools"), ("supportsThinking", "thinking"))
NOTE_KEYS = {"default": "isDefault"}


async def show_models(
    *, provider: str | None, refresh: bool, daemon_command: Sequence[str], as_json: bool
) -> int:
    """Print the models; providers that failed are reported on stderr.

    Raises:
        ClientError: the models cannot be listed at all.
    """
    async with daemon(daemon_command) as client:
        answer = await client.list_models(provider=provider, refresh=refresh)
    models, errors = answer.get("models") or [], answer.get("errors") or []
    code = FAILED if errors and not models else OK
    if as_json:
        print_json(answer)
        return code
    if models:
        print_rows(("Model", "Name", "Context", "Can", "Notes"), [_model_row(model) for model in models])
    elif not errors:
        say("There are no models. 'jumpseat status' shows what to do next.")
    for failure in errors:
        error = failure.get("error") or {}
        hint = (error.get("data") or {}).get("hint")
        print_failure(f"{failure.get('provider')}: {error.get('message')}", hint)
    return code


def _model_row(model: Mapping[str, Any]) -> tuple[str, ...]:
    skills = [word for key, word in SKILLS if model.get(key)]
    notes = [word for word in ("default", "preview", "deprecated") if model.get(NOTE_KEYS.get(word, word))]
    if model.get("policy") in ("disabled", "unconfigured"):
        notes.append("terms not accepted")
    multiplier = (model.get("billing") or {}).get("multiplier")
    if multiplier is not None:
        notes.append(f"costs {multiplier:g}x")
    return (
        str(model.get("id", "")),
        str(model.get("name", "")),
        _short_count(model.get("maxContextTokens")),
        ", ".join(skills),
        ", ".join(notes),
    )


def _short_count(tokens: Any) -> str:
    if not isinstance(tokens, int):
        return ""
    return f"{tokens // 1000}k" if tokens >= 10_000 else str(tokens)


async def show_status(*, daemon_command: Sequence[str], as_json: bool) -> int:
    """Print every provider with its authentication state.

    Raises:
        ClientError: the daemon cannot be used.
    """
    async with daemon(daemon_command) as client:
        providers = await client.list_providers()
    if as_json:
        default = next((row.get("id") for row in providers if row.get("isDefault")), None)
        print_json({"providers": providers, "default": default})
        return OK
    print_rows(("Provider", "Kind", "State", "Notes"), [_status_row(row) for row in providers])
    print()
    print(clean_line(_next_step(providers)))
    return OK


def _status_row(row: Mapping[str, Any]) -> tuple[str, ...]:
    auth = row.get("auth") or {}
    notes = ["default"] if row.get("isDefault") else []
    notes += [str(auth[key]) for key in ("login", "plan", "message") if auth.get(key)]
    return (
        str(row.get("id", "")),
        str(row.get("kind", "")),
        str(auth.get("state", "unknown")).replace("_", " "),
        "; ".join(notes),
    )


def _next_step(providers: Sequence[Mapping[str, Any]]) -> str:
    usable = [
        row for row in providers if (row.get("auth") or {}).get("state") in USABLE and row.get("configured")
    ]
    default = next((row for row in providers if row.get("isDefault")), None)
    if default is not None and default in usable:
        return f'Next: jumpseat chat "Hello"   (asks {default.get("name") or default.get("id")})'
    if default is not None:
        message = (default.get("auth") or {}).get("message")
        return f"Next: the default provider {default.get('id')} is not ready. {message or ''}"
    if usable:
        first = usable[0].get("id")
        return f"Next: jumpseat settings set default_provider {first}   (there is no default yet)"
    return "Next: jumpseat login   (GitHub Copilot), or: jumpseat local install   (a model on this machine)"


def print_rows(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table on a terminal, lines with tabs in a pipe."""
    cleaned = [[clean_line(cell) for cell in row] for row in rows]
    if not sys.stdout.isatty():
        for row in cleaned:
            print("\t".join(row))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        table.add_column(title, overflow="fold", no_wrap=title in ("Model", "Context", "Id", "Changed"))
    for row in cleaned:
        # A Text, because brackets in a string would be read as markup.
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stdout).print(table)
