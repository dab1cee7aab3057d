"""`jumpseat status`: the providers, their quotas and the next step."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import click

from jumpseat_cli.command_line.options import daemon_options, json_option, run_async
from jumpseat_cli.daemon.rows import USABLE
from jumpseat_cli.daemon.session import daemon
from jumpseat_cli.terminal.failures import FAILED, OK, error_document, print_client_error, print_json
from jumpseat_cli.terminal.output import make_spinner
from jumpseat_cli.terminal.tables import print_rows
from jumpseat_cli.terminal.text import can_print, clean_line
from jumpseat_cli.terminal.wrapping import columns, wrap
from jumpseat_client.client import Client
from jumpseat_client.errors import ClientError, RequestFailed

ACCOUNT_SECONDS = 5.0
"""How long to wait for an account's plan and quotas."""

BAR_CELLS = 20


@click.command()
@click.option("--probe", is_flag=True, help="Send a request to each provider to check its key and abilities.")
@daemon_options
@json_option
@run_async
async def status(probe: bool, daemon_command: list[str], as_json: bool) -> int:
    """Show the providers, whether they are ready, the accounts' quotas, and what to do next.

    \b
    Examples:
      jumpseat status
      jumpseat status --probe
      jumpseat status --json | jq '.providers[] | {id, state: .auth.state}'

    Exit codes: 0 success; 1 the daemon cannot be used, or the configured default provider does not exist;
    2 wrong usage.
    """
    spinner = make_spinner("Checking the providers")
    try:
        async with daemon(daemon_command) as client:
            rows = await client.list_providers(probe=probe)
            # After a probe, the rows already contain the plans and quotas of the accounts.
            providers = rows if probe else await asyncio.gather(*(_add_account(client, row) for row in rows))
            fault = None if _default_of(rows) else await _find_fault_of_default(client)
    finally:
        spinner.stop()
    if as_json:
        document = {"providers": providers, "default": (_default_of(providers) or {}).get("id")}
        print_json(document if fault is None else {**document, "error": error_document(fault)})
        return OK if fault is None else FAILED
    print_rows(("Provider", "Kind", "State", "Notes"), [_cells(row) for row in providers], stacks=True)
    for row in providers:
        for quota in (row.get("auth") or {}).get("quotas") or ():
            _print_quota(clean_line(f"{row.get('id')} {quota.get('name')}:"), clean_line(format_quota(quota)))
    if fault is not None:
        print_client_error(fault, as_json=False)
        return FAILED
    print()
    print(clean_line(_describe_next_step(providers)))
    return OK


def _default_of(providers: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    return next((row for row in providers if row.get("isDefault")), None)


async def _find_fault_of_default(client: Client) -> RequestFailed | None:
    """Return the configuration error with which every chat without a provider name would fail, if any."""
    try:
        await client.auth_status()
    except RequestFailed as error:
        return error if error.kind == "config" else None
    return None


async def _add_account(client: Client, row: dict[str, Any]) -> dict[str, Any]:
    """Add the account's plan and quotas to a provider's row, if an account is signed in."""
    auth = row.get("auth") or {}
    if auth.get("state") != "signed_in" or "plan" in auth or "chatEnabled" in auth:
        return row
    try:
        params = {"provider": row["id"]}
        return {**row, "auth": await client.request("auth/status", params, timeout=ACCOUNT_SECONDS)}
    except ClientError:
        return row  # The list is useful without the plan and the quotas.


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    auth = row.get("auth") or {}
    notes = ["default"] if row.get("isDefault") else []
    notes += [str(auth[key]) for key in ("login", "plan", "message") if auth.get(key)]
    return (
        str(row.get("id", "")),
        str(row.get("kind", "")),
        _state_of(auth),
        "; ".join(notes),
    )


def _state_of(auth: Mapping[str, Any]) -> str:
    state = str(auth.get("state", "unknown"))
    return "no sign-in needed" if state == "not_required" else state.replace("_", " ")


def _print_quota(name: str, line: str) -> None:
    """Print a quota; on a narrow terminal, print the name on a separate line."""
    if not sys.stdout.isatty() or len(name) + len(line) < columns():
        print(name, line)
        return
    print(name)
    print(wrap(f"  {line}"))


def format_quota(quota: Mapping[str, Any]) -> str:
    """Format one quota: a bar for the remaining share, numbers, and the date of the next reset."""
    if quota.get("unlimited"):
        return "unlimited"
    percent = float(quota.get("percentRemaining") or 0)
    parts = [f"{percent:.0f} % left"]
    if isinstance(quota.get("remaining"), int | float) and isinstance(quota.get("entitlement"), int | float):
        parts = [f"{quota['remaining']:g} of {quota['entitlement']:g} left"]
    if quota.get("resetAt"):
        reset = datetime.fromisoformat(str(quota["resetAt"])).astimezone()
        parts.append(f"resets on {reset:%Y-%m-%d}")
    if percent <= 0 and quota.get("overagePermitted"):
        parts.append("further use is billed")
    return f"{_draw_bar(percent)} {', '.join(parts)}"


def _draw_bar(percent: float) -> str:
    full = round(BAR_CELLS * min(max(percent, 0), 100) / 100)
    marks = "█░" if can_print("█░") else "#."
    return marks[0] * full + marks[1] * (BAR_CELLS - full)


def _is_signed_out(row: Mapping[str, Any]) -> bool:
    return (row.get("auth") or {}).get("state") == "signed_out"


def _describe_next_step(providers: Sequence[Mapping[str, Any]]) -> str:
    usable = [
        row for row in providers if (row.get("auth") or {}).get("state") in USABLE and row.get("configured")
    ]
    default = _default_of(providers)
    if default is not None and default in usable:
        return f'Next: jumpseat chat "Hello"   (asks {default.get("name") or default.get("id")})'
    if default is not None:
        if default.get("authMethod") == "api_key" and _is_signed_out(default):
            return f"Next: jumpseat keys set {default.get('id')}   (its API key)"
        message = (default.get("auth") or {}).get("message")
        return f"The default provider {default.get('id')} is not ready. {message or ''}"
    if usable:
        first = usable[0].get("id")
        return f"Next: jumpseat settings set default_provider {first}   (there is no default yet)"
    own = (row for row in providers if row.get("authMethod") == "api_key" and not row.get("builtIn", True))
    if (first_own := next(own, None)) is not None:
        return f"Next: jumpseat keys set {first_own.get('id')}   (its API key)"
    return (
        "Next: jumpseat login (GitHub Copilot), or: jumpseat local install (a model on this machine), "
        "or: jumpseat config init (others)"
    )
