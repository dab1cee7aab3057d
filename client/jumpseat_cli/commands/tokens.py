"""`jumpseat tokens`: the length of a text in a model's tokens."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Any

from jumpseat_cli.chat.answering import daemon
from jumpseat_cli.commands.models import short_count
from jumpseat_cli.terminal.failures import FAILED, OK, print_failure, print_json
from jumpseat_client import Client, ClientError

HOW = {"provider": "counted by the provider", "estimate": "estimated"}


async def show_tokens(
    messages: Sequence[Mapping[str, Any]],
    options: Mapping[str, Any],
    *,
    exact: bool,
    daemon_command: Sequence[str],
    as_json: bool,
) -> int:
    """Print how many tokens a chat has.

    Args:
        messages: the chat.
        options: model and system prompt.
        exact: whether an estimate is a failure.
        daemon_command: the daemon's command line.
        as_json: print the result as JSON.

    Raises:
        ClientError: the daemon cannot be used, or rejects the model.
    """
    async with daemon(daemon_command) as client:
        counted = await client.count_tokens(messages, allow_estimate=not exact, **options)
        shows_limit = sys.stdout.isatty() and not as_json
        limit = await _limit(client, options.get("model")) if shows_limit else None
    tokens = counted.get("tokens", -1)
    if as_json:
        print_json(counted)
    elif tokens < 0:
        print_failure("The provider does not count tokens.", "Leave out --exact for an estimate.")
    elif shows_limit:
        how = HOW.get(str(counted.get("method")), "")
        share = f", {tokens / limit:.1%} of {short_count(limit)}" if limit else ""
        print(f"{tokens} tokens, {how}{share}")
    else:
        print(tokens)
    return OK if tokens >= 0 else FAILED


async def _limit(client: Client, name: str | None) -> int | None:
    """The longest prompt of the model, if its provider's list says so."""
    try:
        models = (await client.list_models(provider=_provider_of(name)))["models"]
    except ClientError:
        return None
    for model in models:
        if name in (model["id"], model.get("model")) or (name is None and model.get("isDefault")):
            limit = model.get("maxPromptTokens") or model.get("maxContextTokens")
            return limit if isinstance(limit, int) else None
    return None


def _provider_of(name: str | None) -> str | None:
    provider, colon, _ = (name or "").partition(":")
    return provider if colon else None
